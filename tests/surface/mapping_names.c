// acre-test: libs=pthread
// Where the kernel knows names of mappings, blocks lie in mappings named acre:heap, and others are named acre:internal.
// Neighbours are still one mapping.
#include "check.h"

#include <sys/mman.h>
#include <sys/prctl.h>

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#define PR_SET_VMA_ANON_NAME 0
#endif

static char maps[1 << 20];

// The line of the mapping that has this address.
static const char *line_of(const void *p) {
    static char line[512];
    CHECK(read_file("/proc/self/maps", maps, sizeof maps) > 0);
    for (char *at = maps; *at != '\0'; at = strchr(at, '\n') + 1) {
        unsigned long start, end;
        CHECK(sscanf(at, "%lx-%lx %511[^\n]", &start, &end, line) == 3);
        if (start <= (uintptr_t)p && (uintptr_t)p < end) return line;
    }
    check_fail(__FILE__, __LINE__, "no mapping has the block");
    return NULL;
}

static unsigned count(const char *name) {
    unsigned found = 0;
    CHECK(read_file("/proc/self/maps", maps, sizeof maps) > 0);
    for (const char *at = maps; (at = strstr(at, name)) != NULL; at++) found++;
    return found;
}

int main(void) {
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(page != MAP_FAILED);
    if (prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, page, 4096, "a name") != 0) {
        printf("this kernel knows no names of mappings\n");
        CHECK_EQ(count("acre:"), 0);
        return 77;
    }
    char *small = (char *)must_malloc(100), *huge = (char *)must_malloc(100 * MIB);
    CHECK(strstr(line_of(small), "[anon:acre:heap]") != NULL);
    CHECK(strstr(line_of(huge), "[anon:acre:heap]") != NULL);
    huge = (char *)realloc(huge, 300 * MIB);
    CHECK(strstr(line_of(huge), "[anon:acre:heap]") != NULL);
    CHECK(count("[anon:acre:internal]") != 0);
    for (int i = 0; i < 300; i++) must_malloc(10 * MIB);
    CHECK(count("[anon:acre:") < 30);
    return 0;
}
