// Code that is registered by __register_frame before the heap grows by a chunk, of which the heap profile has the stack:
// libgcc then sorts its tables during the walk, in blocks of the class that grows.
// acre-test: env=ACRE_CONF=prof:true,prof_sample:1T,chunk:2M
#include "check.h"
#include "frame_tables.h"

// A block of 2 KB takes what sorts so many entries.
enum { kBlock = 2000, kEntries = (kBlock - 24) / 8, kTables = 60, kPerTable = 2 * MIB / kBlock };

int main() {
    static void *blocks[kTables * kPerTable];
    void **next = blocks;
    for (int i = 0; i < kTables; i++) {
        register_table(kEntries);
        for (int n = 0; n < kPerTable; n++) memset(*next++ = must_malloc(kBlock), i, kBlock);
    }
    next = blocks;
    for (int i = 0; i < kTables; i++) {
        for (int n = 0; n < kPerTable; n++) {
            CHECK(all_bytes_are(*next, kBlock, (unsigned char)i));
            free(*next++);
        }
    }
    return 0;
}
