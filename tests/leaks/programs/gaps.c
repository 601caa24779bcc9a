// Mappings with pages that cannot be read, though the mapping can: a guard of the kernel's, and what is behind a file's
// end. What is behind the guard is a root.
// leaks normal: 1 keep
#include "support.h"

#include <sys/mman.h>
#include <unistd.h>

enum { kBytes = 65536, kInstallGuard = 102 };  // MADV_GUARD_INSTALL, since Linux 6.13

static NOINLINE void keep(char *place) { *(void **)place = malloc(10); }
static NOINLINE void lose(char *place) {
    keep(place);
    *(void **)place = NULL;
}

int main(void) {
    FILE *file = tmpfile();
    long page = sysconf(_SC_PAGESIZE);
    if (file == NULL || ftruncate(fileno(file), page) != 0) return 77;
    char *guarded = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *short_file = mmap(NULL, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    if (guarded == MAP_FAILED || short_file == MAP_FAILED) return 1;
    madvise(guarded, page, kInstallGuard);  // older kernels refuse, and there is nothing to be tried then
    LOSE(keep(guarded + kBytes / 2));
    LOSE(keep(short_file));
    LOSE(lose(short_file + 64));
    return 0;
}
