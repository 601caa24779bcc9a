// Runs outside of the window need headers of their own. Where there is no address space left for a header, the free
// runs of the window, whose headers exist, are used: malloc refuses nothing that they hold.
#include "check.h"

#include <sys/mman.h>

enum { kOutside = 192 };  // blocks of 1 MiB
static const size_t kInWindow = 256 * MIB;
static const size_t kSmall = 16000;

// The end of the mapping that contains the address.
static size_t end_of_mapping(const void *address) {
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    char line[512];
    size_t start = 0, end = 0;
    while (fgets(line, sizeof line, maps) != NULL) {
        CHECK_EQ(sscanf(line, "%zx-%zx", &start, &end), 2);
        if (start <= (size_t)address && (size_t)address < end) break;
    }
    fclose(maps);
    CHECK(start <= (size_t)address && (size_t)address < end);
    return end;
}

int main(void) {
    void *list = NULL;
    size_t first = allocate_list(kSmall, kInWindow / kSmall, &list);
    void *behind = (void *)end_of_mapping(list);
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    CHECK(mmap(behind, (size_t)8 << 30, PROT_NONE, flags, -1, 0) == behind);
    void *outside[kOutside];
    for (int i = 0; i < kOutside; i++) outside[i] = must_malloc(MIB);

    limit_address_space(mapped_bytes());
    for (int i = 0; i < kOutside; i++) free(outside[i]);
    first += allocate_list(kSmall, SIZE_MAX, &list);  // until there is no space for a header
    free_list(list);
    list = NULL;
    const size_t second = allocate_list(kSmall, SIZE_MAX, &list);
    unlimit_address_space();
    CHECK_GE(second + second / 16, first);
    free_list(list);
    return 0;
}
