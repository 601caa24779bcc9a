// Starts this program again.
#ifndef ACRE_TESTS_SURFACE_AGAIN_H
#define ACRE_TESTS_SURFACE_AGAIN_H

#include "check.h"

// As execl(path, "program", first, second, NULL): second may be NULL. Where an emulator runs this program, the emulator
// starts the other one, which the host cannot.
static inline void start_again(const char *path, const char *first, const char *second) {
    enum { kWords = 32 };
    static char words[1000], library[1000], program[1000];
    const char *emulator = getenv("ACRE_EMULATOR"), *preload = getenv("LD_PRELOAD");
    if (emulator == NULL) {
        execl(path, "program", first, second, (char *)NULL);
        return;
    }
    char *arguments[kWords + 8];
    int count = 0;
    snprintf(words, sizeof words, "%s", emulator);
    for (char *word = strtok(words, " "); word != NULL && count < kWords; word = strtok(NULL, " ")) {
        arguments[count++] = word;
    }
    if (preload != NULL) {  // of the emulated program, and not of the emulator
        snprintf(library, sizeof library, "LD_PRELOAD=%s", preload);
        unsetenv("LD_PRELOAD");
        arguments[count++] = (char *)"-E";
        arguments[count++] = library;
    }
    if (readlink(path, program, sizeof program - 1) <= 0) snprintf(program, sizeof program, "%s", path);
    arguments[count++] = program;
    arguments[count++] = (char *)first;
    arguments[count++] = (char *)second;
    arguments[count] = NULL;
    execvp(arguments[0], arguments);
}

#endif
