// acre-test: libs=dl
// What only libtcmalloc has: stack traces; a heap profiler that is not running and a leak checker that is not active,
// and both say so.
#include "tcmalloc.h"

#include <gperftools/heap-profiler.h>
#include <gperftools/stacktrace.h>
#if __has_include(<gperftools/heap-checker.h>)
#include <gperftools/heap-checker.h>

REGISTER_HEAPCHECK_CLEANUP(test, CHECK(!"no check, no cleanup"));

static void check_leaks() {
    CHECK(!HeapLeakChecker::IsActive() && HeapLeakChecker::GlobalChecker() == nullptr);
    HeapLeakChecker checker("name");
    {
        HeapLeakChecker::Disabler disabler;
        int* ignored = HeapLeakChecker::IgnoreObject(new int);
        HeapLeakChecker::UnIgnoreObject(ignored);
    }
    CHECK(checker.NoLeaks() && checker.BytesLeaked() == 0 && checker.ObjectsLeaked() == 0);
    CHECK(HeapLeakChecker::NoGlobalLeaks());
    HeapLeakChecker::CancelGlobalCheck();
}
#else
static void check_leaks() {}
#endif

static void *in_outer, *in_caller;  // where the two functions return to

__attribute__((noinline)) static int innermost(void** addresses, int* sizes, int skip, const void* context) {
    in_outer = __builtin_return_address(0);
    memset(addresses, 0, 8 * sizeof addresses[0]);
    memset(sizes, -1, 8 * sizeof sizes[0]);
    switch (skip % 4) {
        case 0: return GetStackTrace(addresses, 8, 0) + 0 * skip;
        case 1: return GetStackFrames(addresses, sizes, 8, 1) + 0 * skip;
        case 2: return GetStackTraceWithContext(addresses, 8, 2, context) + 0 * skip;
        default: return GetStackFramesWithContext(addresses, sizes, 2, 0, context) + 0 * skip;
    }
}
__attribute__((noinline)) static int outer(void** addresses, int* sizes, int skip, const void* context) {
    in_caller = __builtin_return_address(0);
    char frame[1000];
    hide(frame);
    return innermost(addresses, sizes, skip, context) + 0 * frame[0];
}

static void check_traces() {
    void* addresses[8];
    int sizes[8];
    CHECK(outer(addresses, sizes, 0, nullptr) >= 3);
    CHECK(addresses[1] == in_outer && addresses[2] == in_caller);
    CHECK(outer(addresses, sizes, 1, nullptr) >= 2);
    CHECK(addresses[0] == in_outer && addresses[1] == in_caller);
    CHECK(sizes[0] >= 1000 && sizes[0] < 2000 && sizes[1] >= 0);
    CHECK(outer(addresses, sizes, 2, nullptr) >= 1 && addresses[0] == in_caller);
    CHECK_EQ(outer(addresses, sizes, 3, nullptr), 2);
    CHECK(addresses[1] == in_outer && addresses[2] == nullptr);
}

int main() {
    check_traces();
    const Owns owns = find_owns();
    check_leaks();
    HeapProfilerStart("/nowhere/profile");
    CHECK_EQ(IsHeapProfilerRunning(), 0);
    HeapProfilerDump("a reason");
    char* profile = GetHeapProfile();
    CHECK(profile != nullptr && owns(profile) && *profile == '\0');
    free(profile);
    HeapProfilerStop();
    return 0;
}
