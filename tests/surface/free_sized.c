// acre-test: not-preload
// free_sized and free_aligned_sized, linked.
#include "free_sized.h"

extern void free_sized(void *, size_t);
extern void free_aligned_sized(void *, size_t, size_t);

int main(void) {
    check_free_sized(free_sized, free_aligned_sized);
    return 0;
}
