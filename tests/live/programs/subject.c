// A program that is asked while it runs. Its first argument says what it does; a line on stdout says when it does.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t stop;

static void on_term(int number) { (void)number; stop = 1; }

static void tell(const char *what) {
    char line[64];
    const int size = snprintf(line, sizeof line, "%s %d\n", what, (int)getpid());
    if (write(1, line, (size_t)size) != size) _exit(4);
}

static void idle(void) {
    while (!stop) usleep(20000);
}

static void allocate_a_little(void) {
    for (size_t size = 1; size < 20000; size = size * 5 / 4 + 1) free(malloc(size));
}

// Blocks that keep what was written into them, whoever asks meanwhile.
static void *work(void *argument) {
    enum { kBlocks = 2000 };
    unsigned char *blocks[kBlocks] = {0};
    size_t sizes[kBlocks] = {0};
    unsigned long random = (unsigned long)argument + 1;
    while (!stop) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const size_t at = (random >> 33) % kBlocks, size = 1 + (random >> 43) % 5000;
        for (size_t i = 0; i < sizes[at]; i += 97) {
            if (blocks[at][i] != (unsigned char)(at + sizes[at])) abort();
        }
        free(blocks[at]);
        blocks[at] = malloc(size);
        sizes[at] = size;
        memset(blocks[at], (int)(unsigned char)(at + size), size);
    }
    return NULL;
}

static void start_work(int threads) {
    for (long i = 0; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)i) != 0) abort();
        pthread_detach(thread);
    }
}

// No descriptor that the program opens is another than it would be without acre, and none of them is lost.
static void open_files(void) {
    tell("ready");
    while (!stop) {
        const int first = open("/dev/null", O_RDONLY), second = open("/dev/null", O_RDONLY);
        if (second != first + 1) abort();
        if (close(first) != 0 || close(second) != 0) abort();
    }
}

// A daemon that acts for others, started by root: each signal changes who it is. What changes ids makes a process not
// dumpable; unless the signal is for that, the process makes itself dumpable again, as some daemons do.
enum { kOther = 65534 };
static volatile sig_atomic_t request;
static void on_wish(int number) { request = number; }

static void change(int number) {
    const char *what = "back";
    int failed = 0;
    switch (number) {
        case SIGUSR1: what = "acts_for_other"; failed = seteuid(kOther); break;
        case SIGUSR2: failed = seteuid(0) || setegid(0); break;
        case SIGHUP: what = "is_other"; failed = setresuid(kOther, kOther, kOther); break;
        case SIGALRM: what = "has_other_group"; failed = setegid(kOther); break;
        default: what = "not_dumpable"; break;
    }
    if (failed || prctl(PR_SET_DUMPABLE, number != SIGWINCH, 0, 0, 0) != 0) abort();
    tell(what);
}

static void change_when_told(void) {
    static const int kSignals[] = {SIGUSR1, SIGUSR2, SIGHUP, SIGALRM, SIGWINCH};
    for (size_t i = 0; i < sizeof kSignals / sizeof kSignals[0]; i++) signal(kSignals[i], on_wish);
    tell("ready");
    while (!stop) {
        const int number = request;
        request = 0;
        if (number != 0) change(number);
        usleep(2000);
    }
}

int acre_tag_push(const char *name) __attribute__((weak));

static void *volatile last;
__attribute__((noinline)) static void grow(void) { last = memset(malloc(3000), 1, 3000); }

static void *end_late(void *argument) {
    free(malloc(100));
    usleep(300000);
    return argument;
}

int main(int count, char **arguments) {
    const char *what = count > 1 ? arguments[1] : "idle";
    signal(SIGTERM, on_term);
    if (strcmp(what, "idle") == 0) {
        tell("ready");
        idle();
    } else if (strcmp(what, "work") == 0) {
        start_work(2);
        tell("ready");
        idle();
    } else if (strcmp(what, "crowd") == 0) {
        start_work(48);
        tell("ready");
        idle();
    } else if (strcmp(what, "work_when_told") == 0) {
        signal(SIGUSR1, on_wish);
        tell("ready");
        while (!stop && request == 0) usleep(2000);
        work(NULL);
    } else if (strcmp(what, "work_alone") == 0) {
        tell("ready");
        work(NULL);
    } else if (strcmp(what, "dirty") == 0) {
        char *block = malloc(30 << 20);
        memset(block, 1, 30 << 20);
        free(block);
        tell("ready");
        idle();
    } else if (strcmp(what, "nearly_empty") == 0) {
        static char *blocks[200000];
        for (int i = 0; i < 200000; i++) blocks[i] = memset(malloc(200), 1, 200);
        for (int i = 0; i < 200000; i++) {
            if (i % 100 != 0) free(blocks[i]);
        }
        tell("ready");
        idle();
    } else if (strcmp(what, "rounded") == 0) {
        static char *blocks[100000];
        for (int i = 0; i < 100000; i++) blocks[i] = memset(malloc(1300), 1, 1300);  // class of 1408
        tell("ready");
        idle();
    } else if (strcmp(what, "grows") == 0) {
        if (acre_tag_push != NULL) acre_tag_push("growing");
        tell("ready");
        while (!stop) {
            grow();
            usleep(1000);
        }
    } else if (strcmp(what, "fork") == 0) {
        const pid_t child = fork();
        allocate_a_little();
        tell(child == 0 ? "child" : "parent");
        idle();
        if (child != 0) {
            kill(child, SIGTERM);
            waitpid(child, NULL, 0);
        }
    } else if (strcmp(what, "changes") == 0) {
        change_when_told();
    } else if (strcmp(what, "worker") == 0) {
        const pid_t child = fork();
        if (child == 0) {
            change(SIGHUP);
            prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);  // which a change of ids would undo
            allocate_a_little();
            idle();
            return 0;
        }
        tell("ready");
        idle();
    } else if (strcmp(what, "fork_when_told") == 0) {
        signal(SIGUSR1, on_wish);
        start_work(1);
        tell("ready");
        while (!stop && request == 0) usleep(2000);
        const pid_t child = fork();
        if (child == 0) {
            tell("child");
            work(NULL);
            return 0;
        }
        idle();
        waitpid(child, NULL, 0);
    } else if (strcmp(what, "forks") == 0) {
        start_work(1);
        tell("ready");
        while (!stop) {
            const pid_t child = fork();
            if (child == 0) {
                allocate_a_little();
                _exit(0);
            }
            int status = 1;
            while (waitpid(child, &status, 0) < 0 && errno == EINTR) { }
            if (status != 0) abort();
        }
    } else if (strcmp(what, "exec") == 0) {
        tell("before");
        usleep(200000);
        execl(arguments[0], arguments[0], "idle", (char *)NULL);
        abort();
    } else if (strcmp(what, "exec_other") == 0) {
        tell("ready");
        idle();
        unsetenv("LD_PRELOAD");
        execlp("sleep", "sleep", "100", (char *)NULL);
    } else if (strcmp(what, "close") == 0) {
        tell("ready");
        for (int i = 0; i < 1024; i++) close(i);
        idle();
    } else if (strcmp(what, "open") == 0) {
        open_files();
    } else if (strcmp(what, "last") == 0) {
        // main ends before the other thread does: the process ends with that one, and what is in stdio's buffer gets out.
        pthread_t thread;
        printf("buffered\n");
        if (pthread_create(&thread, NULL, end_late, NULL) != 0) abort();
        pthread_detach(thread);
        pthread_exit(NULL);
    } else {
        return 2;
    }
    return 0;
}
