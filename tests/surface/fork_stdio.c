// acre-test: libs=pthread timeout=300
// fork while other threads read lines, for which stdio allocates with the file's lock held, and one flushes all files,
// for which stdio waits for that lock with the lock on its list of files held. fork takes the list's lock, too: after
// the handlers of pthread_atfork.
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { kReaders = 3, kForks = 400, kLines = 40, kLongest = 400000 };

static char path[] = "/tmp/acre-fork-stdio-XXXXXX";
static _Atomic int stop;

static void write_lines(void) {
    const int fd = mkstemp(path);
    CHECK(fd >= 0);
    FILE *file = fdopen(fd, "w");
    CHECK(file != NULL);
    uint64_t random = 1;
    for (int i = 0; i < kLines; i++) {
        for (size_t n = random_below(&random, kLongest); n != 0; n--) putc('x', file);
        putc('\n', file);
    }
    CHECK_EQ(fclose(file), 0);
}

// Each line of a new length: getline reallocates its buffer.
static void *read_lines(void *unused) {
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        FILE *file = fopen(path, "r");
        CHECK(file != NULL);
        char *line = NULL;
        size_t room = 0;
        ssize_t length;
        while ((length = getline(&line, &room, file)) > 0) {
            CHECK_EQ(line[length - 1], '\n');
            free(line);
            line = NULL;
            room = 0;
        }
        free(line);
        CHECK_EQ(fclose(file), 0);
    }
    return unused;
}

static void *flush_all(void *unused) {
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) CHECK_EQ(fflush(NULL), 0);
    return unused;
}

static void child_life(int number) {
    alarm(300);
    free(must_malloc((size_t)number * 100));
    if (number % 50 == 0) {
        FILE *file = fopen(path, "r");
        CHECK(file != NULL);
        CHECK(getc(file) != EOF);
        CHECK_EQ(fflush(NULL), 0);
        CHECK_EQ(fclose(file), 0);
    }
    _exit(9);
}

// These fork inside the C library.
static void start_commands(void) {
    char text[8] = "";
    CHECK_EQ(system("exit 3"), 3 << 8);
    FILE *pipe = popen("echo hello", "r");
    CHECK(pipe != NULL);
    CHECK(fgets(text, sizeof text, pipe) != NULL);
    CHECK_EQ(strcmp(text, "hello\n"), 0);
    CHECK_EQ(pclose(pipe), 0);
}

int main(void) {
    pthread_t threads[kReaders + 1];
    write_lines();
    for (int i = 0; i <= kReaders; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, i < kReaders ? read_lines : flush_all, NULL), 0);
    }
    for (int i = 1; i <= kForks; i++) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) child_life(i);
        check_child(child, 9);
        if (i % 50 == 0) start_commands();
    }
    atomic_store(&stop, 1);
    for (int i = 0; i <= kReaders; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(unlink(path), 0);
    return 0;
}
