// A working set of so many MiB, in blocks of 100 bytes to 1 MiB, written, changed here and there, and read again.
//
//     working_set MIB
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 1;

static uint64_t next_random(void) {
    uint64_t z = (state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

struct Block {
    unsigned char *start;
    size_t size;
    unsigned char value;
};

static void make(struct Block *block) {
    static const size_t sizes[] = {100, 3000, 20000, 200000, 1 << 20};
    block->size = sizes[next_random() % 5] + next_random() % 100;
    block->start = malloc(block->size);
    if (block->start == NULL) {
        puts("out of memory");
        exit(2);
    }
    block->value = (unsigned char)(next_random() % 255 + 1);
    memset(block->start, block->value, block->size);
}

static void check(const struct Block *block) {
    for (size_t i = 0; i < block->size; i++) {
        if (block->start[i] != block->value) {
            puts("a block has changed");
            exit(3);
        }
    }
}

int main(int argc, char **argv) {
    enum { kMost = 1 << 16 };
    static struct Block blocks[kMost];
    const size_t bytes = (argc == 2 ? strtoul(argv[1], NULL, 10) : 1) << 20;
    size_t count = 0;
    for (size_t live = 0; live < bytes && count < kMost; live += blocks[count++].size) make(&blocks[count]);
    for (size_t i = 0; i < count / 4; i++) {
        struct Block *block = &blocks[next_random() % count];
        check(block);
        free(block->start);
        make(block);
    }
    for (size_t i = 0; i < count; i++) check(&blocks[i]);
    printf("%zu blocks are as they were\n", count);
    return 0;
}
