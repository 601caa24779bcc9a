// acre-test: libs=pthread
// A process that has closed every file descriptor allocates as before, and nobody opened new ones.
#include "check.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>

static void *work(void *unused) {
    for (size_t i = 0; i < 20000; i++) {
        char *block = (char *)must_malloc(i * 7 % 50000 + 1);
        block[0] = 1;
        free(block);
    }
    for (size_t size = MIB; size <= 200 * MIB; size *= 2) {
        char *block = (char *)must_malloc(size);
        block[size - 1] = 1;
        block = (char *)realloc(block, size * 2);
        if (block == NULL) _exit(2);
        free(block);
    }
    malloc_trim(0);
    return unused;
}

static int open_files(void) {
    int count = 0;
    for (int fd = 0; fd < 1024; fd++) count += fcntl(fd, F_GETFD) != -1;
    return count;
}

static void threads_work(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        if (pthread_create(&threads[i], NULL, work, NULL) != 0) _exit(3);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    work(NULL);
}

int main(void) {
    const int before = open_files();
    threads_work();
    CHECK_EQ(open_files(), before);

    const pid_t child = fork();
    if (child == 0) {
        for (int fd = 0; fd < 1024; fd++) close(fd);
        threads_work();
        if (open_files() != 0) _exit(4);
        // Descriptor 2 now belongs to the program: the allocator must not write there.
        const int file = open("/dev/null", O_RDWR);
        if (file != 0) _exit(5);
        threads_work();
        if (open_files() != 1) _exit(6);
        _exit(13);
    }
    check_child(child, 13);
    return 0;
}
