// acre-test: libs=dl,pthread
// gperftools' leak checker: off unless acre's is on; sections; the whole program, and what is called before that is checked.
// Each case is a process of its own, with the option leaks as it needs it.
#include "tcmalloc.h"

#include "../leaks/programs/support.h"

#include <gperftools/heap-checker.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace {

constexpr size_t kBytes = 2000;
constexpr int kExitCodeOfLeaks = 23;

NOINLINE void lose() { hide(malloc(kBytes)); }
NOINLINE void lose_ignored() { HeapLeakChecker::IgnoreObject(new double); }
NOINLINE void lose_heeded() {
    double* object = HeapLeakChecker::IgnoreObject(new double);
    HeapLeakChecker::UnIgnoreObject(object);
}
NOINLINE void lose_disabled() {
    const HeapLeakChecker::Disabler disabler;
    lose();
}

HiddenPointer<char> g_hidden(nullptr);
int g_cleanups = 0;
NOINLINE void hide_one() { g_hidden = HiddenPointer<char>(new char[kBytes]); }
NOINLINE void clean() {
    ++g_cleanups;
    delete[] g_hidden.get();
    g_hidden = HiddenPointer<char>(nullptr);
}

void off() {
    CHECK(!HeapLeakChecker::IsActive() && HeapLeakChecker::GlobalChecker() == nullptr);
    {
        HeapLeakChecker never_asked("off");
    }
    HeapLeakChecker checker("off");
    LOSE(lose());
    lose_heeded();
    lose_disabled();
    CHECK(checker.NoLeaks() && checker.BytesLeaked() == 0 && checker.ObjectsLeaked() == 0);
    CHECK(HeapLeakChecker::NoGlobalLeaks() && g_cleanups == 0);
    HeapLeakChecker::CancelGlobalCheck();
}

void section() {
    CHECK(HeapLeakChecker::IsActive() && HeapLeakChecker::GlobalChecker() == nullptr);
    LOSE(lose());
    {
        HeapLeakChecker checker("none");
        lose_ignored();
        lose_disabled();
        wipe();
        CHECK_EQ(checker.BytesLeaked(), -1);
        CHECK(checker.NoLeaks());
        CHECK_EQ(checker.ObjectsLeaked(), 0);
    }
    HeapLeakChecker checker("two");
    lose();
    LOSE(lose_heeded());
    CHECK(!checker.QuickNoLeaks() && !checker.BriefNoLeaks() && !checker.SameHeap() && !checker.QuickSameHeap());
    CHECK(!checker.BriefSameHeap());
    CHECK_EQ(checker.ObjectsLeaked(), 2);
    CHECK(checker.BytesLeaked() >= (ssize_t)(kBytes + sizeof(double)));
}

void whole() {
    CHECK(HeapLeakChecker::IsActive() && HeapLeakChecker::GlobalChecker() != nullptr);
    LOSE(hide_one());
    CHECK(!HeapLeakChecker::NoGlobalLeaks());
    CHECK_EQ(g_cleanups, 0);
    clean();
    CHECK(HeapLeakChecker::NoGlobalLeaks());
    LOSE(lose());
    CHECK(!HeapLeakChecker::NoGlobalLeaks());
    HeapLeakChecker* checker = HeapLeakChecker::GlobalChecker();
    HeapLeakChecker::CancelGlobalCheck();
    CHECK(HeapLeakChecker::GlobalChecker() == checker);
    CHECK_EQ(checker->ObjectsLeaked(), 1);
}

void at_exit() {
    LOSE(lose());
}
void cleaned() {
    LOSE(hide_one());
}
// Another thread ends the program; the first one waits.
void* end_program(void*) { exit(0); }
void cleaned_by_another() {
    cleaned();
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, nullptr, end_program, nullptr), 0);
    for (;;) pause();
}
// A thread that has made a cleaner ends, and the program goes on.
void* make_cleaner(void*) {
    static HeapCleaner cleaner(clean);
    return nullptr;
}
void thread_with_cleaner() {
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, nullptr, make_cleaner, nullptr), 0);
    CHECK_EQ(pthread_join(thread, nullptr), 0);
    CHECK_EQ(g_cleanups, 0);
}
void two_at_once() {
    HeapLeakChecker checker("one");
    pthread_t thread;
    auto check = [](void*) -> void* {
        HeapLeakChecker other("another");
        for (int i = 0; i < 20; i++) CHECK(other.NoLeaks());
        return nullptr;
    };
    CHECK_EQ(pthread_create(&thread, nullptr, check, nullptr), 0);
    for (int i = 0; i < 20; i++) CHECK(checker.NoLeaks());
    CHECK_EQ(pthread_join(thread, nullptr), 0);
}
void unasked() { HeapLeakChecker checker("unasked"); }

struct Case {
    const char *name, *conf;
    void (*function)();
    int code;  // or a signal's number, negative
};
const Case kCases[] = {{"off", "", off, 0},
                       {"section", "leaks:local", section, 0},
                       {"whole", "leaks:normal", whole, 0},
                       {"at_exit", "leaks:normal", at_exit, kExitCodeOfLeaks},
                       {"cleaned", "leaks:normal", cleaned, 0},
                       {"cleaned", "leaks:strict", cleaned, 0},
                       {"cleaned", "leaks:draconian", cleaned, 0},
                       {"cleaned_by_another", "leaks:normal", cleaned_by_another, 0},
                       {"thread_with_cleaner", "leaks:normal", thread_with_cleaner, 0},
                       {"two_at_once", "leaks:local", two_at_once, 0},
                       {"unasked", "leaks:local", unasked, -SIGABRT}};

int run(const char* program, const Case& one, const char* folder) {
    const std::string conf = std::string(one.conf) + (*one.conf != 0 ? "," : "") + "leaks_folder:" + folder;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        setenv("ACRE_CONF", conf.c_str(), 1);
        execl(program, program, one.name, nullptr);
        _exit(127);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

REGISTER_HEAPCHECK_CLEANUP(hidden, clean())

int main(int argc, char** argv) {
    find_owns();
    if (argc == 2) {
        for (const Case& one : kCases) {
            if (strcmp(one.name, argv[1]) != 0) continue;
            one.function();
            return 0;
        }
        return 1;
    }
    char folder[] = "/tmp/acre-face-leaks-XXXXXX";
    CHECK(mkdtemp(folder) != nullptr);
    for (const Case& one : kCases) CHECK_EQ(run(argv[0], one, folder), one.code);
    CHECK_EQ(system((std::string("rm -r ") + folder).c_str()), 0);
    return 0;
}
