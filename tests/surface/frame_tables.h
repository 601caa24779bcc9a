// Tables of frames that __register_frame takes, as just-in-time compilers make them.
#pragma once

#include <new>

#include "check.h"

extern "C" void __register_frame(void *table);

namespace {

struct Common {  // what is common to a table's entries
    uint32_t length = 16;
    uint32_t id = 0;
    unsigned char version[4] = {1, 0, 1, 0x78};  // no augmentation, code in bytes, data in steps of -8 …
    unsigned char returns[8] = {16};             // … and the return address in register 16
};
struct Entry {
    uint32_t length = 24;
    uint32_t to_common = 0;
    uint64_t begin = 0;
    uint64_t bytes = 16;
    uint32_t no_instructions = 0;
};
constexpr int kMostEntries = 5000;  // which libgcc sorts in a block of 40 KB
struct Table {                      // for code at addresses where there is none
    Common common;
    char entries[kMostEntries][28];  // and then, or sooner, a zero
    uint32_t end = 0;
};

// In memory that is never freed.
void register_table(int entries) {
    static uint64_t place = 0x10000;
    Table *table = new (map_pages(sizeof(Table))) Table;
    for (int i = 0; i < entries; i++) {
        Entry entry;
        entry.to_common = static_cast<uint32_t>(table->entries[i] + 4 - reinterpret_cast<char *>(table));
        entry.begin = place;
        memcpy(table->entries[i], &entry, sizeof table->entries[i]);
        place += 16;
    }
    __register_frame(table);
}

}  // namespace
