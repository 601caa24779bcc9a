// Allocates known amounts at known places. usage: sites [SIGNAL TO RAISE]
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kSmall = 20000, kMedium = 30000, kLarge = 50 };

static void *kept[kSmall + kLarge];

__attribute__((noinline)) void *site_small(void) {
    char *volatile p = malloc(100);
    p[0] = 1;
    return p;
}
__attribute__((noinline)) void site_medium(void) {
    char *volatile p = malloc(1000);
    p[0] = 1;
    free(p);
}
__attribute__((noinline)) void *site_large(void) {
    char *volatile p = malloc(100000);
    p[0] = 1;
    return p;
}
__attribute__((noinline)) void fill(void) {
    for (int i = 0; i < kSmall; i++) kept[i] = site_small();
    for (int i = 0; i < kMedium; i++) site_medium();
    for (int i = 0; i < kLarge; i++) kept[kSmall + i] = site_large();
}

int main(int argc, char **argv) {
    fill();
    if (argc > 1 && strcmp(argv[1], "fork") == 0) {
        pid_t child = fork();
        if (child == 0) {
            for (int i = 0; i < kSmall; i++) free(kept[i]);
            exit(0);
        }
        int status;
        return waitpid(child, &status, 0) == child ? status : 1;
    }
    if (argc > 1) {
        raise(atoi(argv[1]));
        pause();  // until the test has seen the profile and ends this
    }
    for (int i = 0; i < kLarge; i++) free(kept[kSmall + i]);
    return 0;
}
