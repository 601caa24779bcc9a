// Code that is registered by __register_frame, as just-in-time compilers do it, while each block is a sample of the heap
// profile. libgcc then has a lock, and allocates with it held when an exception is thrown next: small blocks, a large one,
// by a thread with a tag, and, in a second run, by a thread without a heap.
// acre-test: env=ACRE_CONF=prof:true,prof_sample:0
#include <unistd.h>

#include "again.h"
#include "frame_tables.h"

extern "C" __attribute__((weak)) int acre_tag_push(const char *name);

namespace {

int value_of(int number) {
    if (number >= 0) throw number;
    return number;
}

bool is_caught(int number) {
    try {
        value_of(number);
    } catch (int caught) {
        return caught == number;
    }
    return false;
}

// Enough for the allocations with the lock held to be compared captures, too, half of them with a tag. Most stacks are known
// by then: else it is acre's own walk that makes libgcc allocate.
constexpr int kTables = 400;

}  // namespace

int main(int argc, char **argv) {
    for (int i = 0; i < kTables; i++) {
        if (i == kTables / 2 && acre_tag_push != nullptr) acre_tag_push("while throwing");  // refused in the second run
        register_table(i % 100 == 99 ? kMostEntries : 1);
        CHECK(is_caught(i));
        if (i % 3 != 0) free(must_malloc(100));
    }
    if (argc > 1) return 0;
    setenv("ACRE_CONF", "prof:true,prof_sample:0,junk:true", 1);
    start_again("/proc/self/exe", "again", nullptr);
    return 1;
}
