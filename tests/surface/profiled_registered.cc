// Code that is registered by __register_frame, as just-in-time compilers do it, while each block is a sample of the heap
// profile. libgcc then has a lock, and allocates with it held when an exception is thrown next.
// acre-test: env=ACRE_CONF=prof:true,prof_sample:0
#include "check.h"

extern "C" void __register_frame(void *table);

namespace {

constexpr int kTables = 400;  // so that the allocations with the lock held are compared captures, too

struct Table {  // of frames: what is common to them, one for code at an address where there is none, and the end
    uint32_t common_length = 16;
    uint32_t common = 0;
    unsigned char version[4] = {1, 0, 1, 0x78};  // no augmentation, code in bytes, data in steps of -8 …
    unsigned char returns[8] = {16};             // … and the return address in register 16
    uint32_t length = 24;
    uint32_t to_common = 24;
    uint64_t begin = 0;
    uint64_t bytes = 16;
    uint32_t no_instructions = 0;
    uint32_t end = 0;
};

Table tables[kTables];

int value_of(int number) {
    if (number >= 0) throw number;
    return number;
}

}  // namespace

int main() {
    int caught = 0;
    for (int i = 0; i < kTables; i++) {
        tables[i].begin = 0x10000 + static_cast<uint64_t>(i) * 16;
        __register_frame(&tables[i]);
        try {
            value_of(i);
        } catch (int number) {
            caught += number == i;
        }
        if (i % 3 != 0) free(must_malloc(100));
    }
    CHECK_EQ(caught, kTables);
    return 0;
}
