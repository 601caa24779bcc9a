// Allocation from atexit handlers, on_exit handlers and destructor functions.
#include "check.h"

static void *from_main[100];
static void *from_handler[100];
static int ran;

static void fill(void **blocks) {
    for (size_t i = 0; i < 100; i++) {
        blocks[i] = must_malloc(i * 300 + 1);
        memset(blocks[i], (int)i, i * 300 + 1);
    }
}

static void check_and_free(void **blocks) {
    for (size_t i = 0; i < 100; i++) {
        CHECK(all_bytes_are(blocks[i], i * 300 + 1, (unsigned char)i));
        free(blocks[i]);
    }
}

static void second_handler(void) {
    CHECK_EQ(ran++, 1);
    check_and_free(from_handler);
}

static void first_handler(void) {
    CHECK_EQ(ran++, 0);
    check_and_free(from_main);
    fill(from_handler);
    // Registered while exiting, it is the next to run.
    CHECK_EQ(atexit(second_handler), 0);
    void *huge = must_malloc(100 * MIB);
    memset(huge, 1, MIB);
    free(huge);
}

static void with_status(int status, void *argument) {
    CHECK_EQ(ran, 0);
    CHECK_EQ(status, 5);
    CHECK(argument == &ran);
    free(must_malloc(100));
}

static void nothing(void) { ran++; }

__attribute__((destructor(101))) static void very_late(void) {
    CHECK_EQ(ran, 3);
    fill(from_main);
    check_and_free(from_main);
    free(must_malloc(10 * MIB));
}

int main(void) {
    pid_t child = fork();
    if (child == 0) {
        fill(from_main);
        CHECK_EQ(atexit(nothing), 0);
        CHECK_EQ(atexit(first_handler), 0);
        CHECK_EQ(on_exit(with_status, &ran), 0);
        // So many that libc has to allocate room for its list of handlers.
        for (int i = 0; i < 100; i++) CHECK_EQ(on_exit(with_status, &ran), 0);
        exit(5);
    }
    check_child(child, 5);
    _exit(0);
}
