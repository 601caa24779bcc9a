// acre-test: libs=pthread
// A process ends with the last of the program's threads, by pthread_exit in main or later in another thread, whichever
// of acre's own threads there are.
#include "background.h"
#include "again.h"

#include <pthread.h>
#include <signal.h>

enum { kBlocks = 3000, kSeconds = 30 };

struct own {
    const char *thread;
    const char *conf;  // %s: a folder for what is written
};

static const struct own owns[] = {
    {"acre-control", "control:true"},
    {"acre-last", "final_signals:true"},
    {"acre-profile", "prof:true,prof_interval:1M,prof_folder:%s"},
    {"acre-leaks", "leaks:local,leaks_exit_code:0,leaks_signal:10,leaks_folder:%s"},
    // While blocks are filled, no thread has a heap of its own.
    {"acre-control", "control:true,junk:true"},
    {"acre-control", "control:true,zero:true"},
    {"acre-last", "final_signals:true,zero:true"},
    {"acre-profile", "junk:true,prof:true,prof_interval:1M,prof_folder:%s"},
    {"acre-leaks", "zero:true,leaks:local,leaks_exit_code:0,leaks_signal:10,leaks_folder:%s"},
};
enum { kOwns = sizeof owns / sizeof owns[0] };

static sigset_t child_ends;

static void *ends_last(void *main_thread) {
    CHECK_EQ(pthread_join(*(pthread_t *)main_thread, NULL), 0);
    free(must_malloc(5000));
    return NULL;
}

// thread: the one that acre must have made; null: a child of fork may have none. What it waits for comes: so much is
// allocated, or a signal.
static int end_in(const char *thread, int in_another) {
    static pthread_t main_thread;
    char task[64];
    while (thread != NULL && threads_named(thread, task) == 0) usleep(1000);
    if (thread != NULL && strcmp(thread, "acre-leaks") == 0) CHECK_EQ(raise(SIGUSR1), 0);
    for (int i = 0; i < kBlocks; i++) free(must_malloc(1000));
    if (in_another) {
        pthread_t another;
        main_thread = pthread_self();
        CHECK_EQ(pthread_create(&another, NULL, ends_last, &main_thread), 0);
    }
    pthread_exit(NULL);
}

static void remove_folder(const char *path) {
    char file[1000];
    DIR *folder = opendir(path);
    CHECK(folder != NULL);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (entry->d_name[0] != '.') CHECK_EQ(unlink(file), 0);
    }
    closedir(folder);
    CHECK_EQ(rmdir(path), 0);
}

// acre's threads block all signals, so that an alarm would not end a child in which only they are left.
static void check_ends(pid_t child, const char *conf, const char *how) {
    int status = 0;
    CHECK(child > 0);
    const struct timespec patience = {.tv_sec = kSeconds};
    if (sigtimedwait(&child_ends, NULL, &patience) != SIGCHLD) kill(child, SIGKILL);
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (status != 0) fprintf(stderr, "%s, way %s: the process ends with status %#x\n", conf, how, status);
    CHECK_EQ(status, 0);
}

int main(int argc, char **argv) {
    if (argc == 3) {
        const int how = argv[2][0] - '0';
        if (how < 2) return end_in(argv[1], how);
        const pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            return end_in(NULL, 0);
        }
        check_child(child, 0);
        return 0;
    }
    sigemptyset(&child_ends);
    sigaddset(&child_ends, SIGCHLD);
    CHECK_EQ(sigprocmask(SIG_BLOCK, &child_ends, NULL), 0);
    char folder[] = "/tmp/acre-last-thread-XXXXXX", conf[300];
    CHECK(mkdtemp(folder) != NULL);
    for (int i = 0; i < kOwns; i++) {
        snprintf(conf, sizeof conf, owns[i].conf, folder);
        CHECK_EQ(setenv("ACRE_CONF", conf, 1), 0);
        for (const char *how = "012"; *how != '\0'; how++) {
            const char one[] = {*how, '\0'};
            const pid_t child = fork();
            if (child == 0) {
                CHECK_EQ(sigprocmask(SIG_UNBLOCK, &child_ends, NULL), 0);
                start_again("/proc/self/exe", owns[i].thread, one);
                _exit(126);
            }
            check_ends(child, conf, one);
        }
    }
    remove_folder(folder);
    return 0;
}
