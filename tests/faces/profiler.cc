// acre-test: libs=dl env=ACRE_CONF=prof_sample:0
// What only libtcmalloc has: stack traces, and a heap profiler that runs when it is started.
#include "tcmalloc.h"

#include <gperftools/heap-profiler.h>
#include <gperftools/malloc_extension.h>
#include <gperftools/stacktrace.h>
#include <malloc.h>
#include <unistd.h>

#include <string>
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

enum { kBlocks = 50, kBytes = 3000, kGrowth = 200 << 20 };

__attribute__((noinline)) static void* site() {
    void* block = malloc(kBytes);
    hide(block);
    return block;
}
__attribute__((noinline)) static void* growing_site() {
    void* block = malloc(kGrowth);
    hide(block);
    return block;
}

// The entries of an array such as ReadStackTraces gives: the most bytes that one has; how many blocks have this size.
struct Entries {
    size_t most = 0, blocks = 0;
};
static Entries read_entries(void** entries, size_t bytes) {
    Entries found;
    for (void** at = entries; at != nullptr && at[0] != nullptr; at += 3 + (uintptr_t)at[2]) {
        if ((uintptr_t)at[1] > found.most) found.most = (uintptr_t)at[1];
        if ((uintptr_t)at[1] == (uintptr_t)at[0] * bytes) found.blocks += (uintptr_t)at[0];
        CHECK((uintptr_t)at[2] < 200);
    }
    delete[] entries;
    return found;
}

// Does the profile have the stack whose blocks these are, and nothing but them, live and allocated?
static bool has_blocks(const std::string& profile, size_t bytes) {
    for (size_t at = 0; (at = profile.find('\n', at)) != std::string::npos;) {
        unsigned long live, live_bytes, all, all_bytes;
        const int read = sscanf(profile.c_str() + ++at, "%lu: %lu [%lu: %lu] @ 0x", &live, &live_bytes, &all, &all_bytes);
        if (read == 4 && live == kBlocks && live_bytes == kBlocks * bytes && all == live && all_bytes == live_bytes) return true;
    }
    return false;
}
static std::string contents(const std::string& path) {
    std::string text;
    FILE* file = fopen(path.c_str(), "r");
    CHECK(file != nullptr);
    for (int c; (c = fgetc(file)) != EOF;) text += (char)c;
    fclose(file);
    return text;
}

static void check_off(const Owns owns) {
    CHECK_EQ(IsHeapProfilerRunning(), 0);
    HeapProfilerDump("a reason");
    HeapProfilerStop();
    char* profile = GetHeapProfile();
    CHECK(profile != nullptr && owns(profile) && *profile == '\0');
    free(profile);
}

static void check_profiler(const Owns owns) {
    char folder[] = "/tmp/acre-profiler-XXXXXX";
    CHECK(mkdtemp(folder) != nullptr);
    const std::string prefix = std::string(folder) + "/profile";
    HeapProfilerStart(prefix.c_str());
    CHECK_EQ(IsHeapProfilerRunning(), 1);
    void *blocks[kBlocks], *large = growing_site();
    for (void*& block : blocks) block = site();
    const size_t bytes = malloc_usable_size(blocks[0]);

    int period = 0;
    void** const samples = MallocExtension::instance()->ReadStackTraces(&period);
    CHECK_EQ(period, 1);
    CHECK_EQ(read_entries(samples, bytes).blocks, kBlocks);
    CHECK_EQ(read_entries(MallocExtension::instance()->ReadHeapGrowthStackTraces(), 1).most, kGrowth);
    std::string text;
    MallocExtension::instance()->GetHeapSample(&text);
    CHECK(text.find("heap profile: ") == 0 && text.find("@ heap_v2/1\n") != std::string::npos);
    CHECK(text.find("MAPPED_LIBRARIES:\n") != std::string::npos);
    CHECK(has_blocks(text, bytes));
    text.clear();
    MallocExtension::instance()->GetHeapGrowthStacks(&text);
    CHECK(text.find("@ growth\n") != std::string::npos && text.find(std::to_string(kGrowth)) != std::string::npos);

    char* profile = GetHeapProfile();
    CHECK(profile != nullptr && owns(profile) && strncmp(profile, "heap profile: ", 14) == 0);
    CHECK(has_blocks(profile, bytes));
    free(profile);
    HeapProfilerDump("a reason");
    HeapProfilerDump("another");
    for (const char* end : {".0001.heap", ".0002.heap"}) {
        CHECK(has_blocks(contents(prefix + end), bytes));
        CHECK_EQ(unlink((prefix + end).c_str()), 0);
    }
    CHECK_EQ(rmdir(folder), 0);
    HeapProfilerStop();
    CHECK_EQ(IsHeapProfilerRunning(), 0);
    for (void* block : blocks) free(block);
    free(large);
}

int main() {
    check_traces();
    const Owns owns = find_owns();
    check_off(owns);
    check_profiler(owns);
    check_off(owns);
    return 0;
}
