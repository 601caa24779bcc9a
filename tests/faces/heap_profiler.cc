// The heap profiler is not running and the leak checker not active, and both say so. Only libtcmalloc has them.
#include "tcmalloc.h"

#include <gperftools/heap-profiler.h>
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

int main() {
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
