// acre-test: not-static
// acre-test: libs=dl
// free_sized and free_aligned_sized, as a preloaded library offers them.
#include "free_sized.h"

#include <dlfcn.h>

int main(void) {
    FreeSized sized = NULL;
    FreeAlignedSized aligned_sized = NULL;
    *(void **)&sized = dlsym(RTLD_DEFAULT, "free_sized");
    *(void **)&aligned_sized = dlsym(RTLD_DEFAULT, "free_aligned_sized");
    CHECK(sized != NULL);
    CHECK(aligned_sized != NULL);
    check_free_sized(sized, aligned_sized);
    return 0;
}
