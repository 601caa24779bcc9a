// acre-test: libs=pthread
// acre-test: not-hardened
// A program that is started under `ulimit -v` runs: little address space from the first call on.
// The hardened mode needs more addresses: memory of one class serves no other.
#include "check.h"

#include <malloc.h>
#include <pthread.h>

static void *work(void *unused) {
    enum { kBlocks = 2000 };
    void *blocks[kBlocks];
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < kBlocks; i++) {
            const size_t size = i * 37 % 3000;
            blocks[i] = must_malloc(size);
            memset(blocks[i], (int)i, size);
        }
        for (size_t i = 0; i < kBlocks; i++) {
            CHECK(all_bytes_are(blocks[i], i * 37 % 3000, (unsigned char)i));
            free(blocks[i]);
        }
        char *large = (char *)must_malloc(2 * MIB);
        memset(large, 1, 2 * MIB);
        large = (char *)hide(realloc(large, 4 * MIB));
        CHECK(large != NULL && all_bytes_are(large, 2 * MIB, 1));
        free(large);
    }
    return unused;
}

static void until_it_fails(size_t size) {
    void *list = NULL;
    for (;;) {
        errno = 0;
        void **block = (void **)hide(malloc(hide_size(size)));
        if (block == NULL) break;
        *block = list;
        list = block;
    }
    CHECK_EQ(errno, ENOMEM);
    CHECK(list != NULL);
    while (list != NULL) {
        void *next = *(void **)list;
        free(list);
        list = next;
    }
}

static void threads_work(void) {
    pthread_attr_t attributes;
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, 256 * KIB), 0);
    for (int round = 0; round < 10; round++) {
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) CHECK_EQ(pthread_create(&threads[i], &attributes, work, NULL), 0);
        for (int i = 0; i < 3; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
}

static int limited(void) {
    work(NULL);
    // libc keeps the stacks, so that later threads need no more address space for theirs.
    threads_work();
    until_it_fails(1000);
    until_it_fails(5000);
    until_it_fails(300000);
    work(NULL);
    threads_work();
    until_it_fails(1000);
    CHECK(hide(malloc(hide_size(GIB))) == NULL);
    work(NULL);
    return 21;
}

int main(int argc, char **argv) {
    (void)argv;
    if (argc > 1) return limited();
    char limited_argument[] = "limited";
    char *const arguments[] = {argv[0], limited_argument, NULL};
    const size_t limits[] = {64 * MIB, 200 * MIB, 600 * MIB};
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const pid_t child = fork();
        if (child == 0) {
            limit_address_space(limits[i]);
            execv("/proc/self/exe", arguments);
            _exit(90);
        }
        check_child(child, 21);
    }
    return 0;
}
