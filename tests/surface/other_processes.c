// acre-test: libs=pthread
// vfork with exec, posix_spawn, system and popen from a process whose threads allocate.
#include "check.h"

#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>

extern char **environ;
static _Atomic int stop;

static void *work(void *argument) {
    uint64_t random = (uint64_t)(uintptr_t)argument;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        char *block = (char *)must_malloc(1 + random_below(&random, 30000));
        block[0] = 1;
        free(block);
    }
    return NULL;
}

static char shell[] = "/bin/sh", dash_c[] = "-c", code7[] = "exit 7";
static char *const arguments[] = {shell, dash_c, code7, NULL};

int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)), 0);
    }
    char *kept = (char *)must_malloc(1000);
    memset(kept, 0x42, 1000);
    for (int i = 0; i < 40; i++) {
        const pid_t vforked = vfork();
        if (vforked == 0) {
            execv(shell, arguments);
            _exit(99);
        }
        free(must_malloc(100));
        check_child(vforked, 7);

        // An exec that fails returns into a child that shares the parent's memory.
        const pid_t failed = vfork();
        if (failed == 0) {
            execl("/no/such/program", "program", (char *)NULL);
            _exit(98);
        }
        check_child(failed, 98);

        pid_t spawned;
        CHECK_EQ(posix_spawn(&spawned, shell, NULL, NULL, arguments, environ), 0);
        check_child(spawned, 7);

        const int status = system("exit 8");
        CHECK(WIFEXITED(status));
        CHECK_EQ(WEXITSTATUS(status), 8);

        char line[32] = "";
        FILE *pipe = popen("echo hello", "r");
        CHECK(pipe != NULL);
        CHECK(fgets(line, sizeof line, pipe) != NULL);
        CHECK(strcmp(line, "hello\n") == 0);
        CHECK_EQ(pclose(pipe), 0);
    }
    CHECK(all_bytes_are(kept, 1000, 0x42));
    free(kept);
    atomic_store(&stop, 1);
    for (int i = 0; i < 2; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    return 0;
}
