// Code that is registered by __register_frame, as just-in-time compilers do it, while each block is a sample of the heap
// profile. libgcc then has a lock, and allocates with it held when an exception is thrown next: small blocks, a large one,
// by a thread with a tag, and, in a second run, by a thread without a heap.
// acre-test: env=ACRE_CONF=prof:true,prof_sample:0
#include <unistd.h>

#include <new>

#include "check.h"

extern "C" void __register_frame(void *table);
extern "C" __attribute__((weak)) int acre_tag_push(const char *name);

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
    execl("/proc/self/exe", argv[0], "again", nullptr);
    return 1;
}
