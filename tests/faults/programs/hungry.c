// hungry MIB: allocates and writes so much, and says how much it got.
#include "load.h"

__attribute__((noinline)) static void *take(size_t bytes) {
    void *block = malloc(bytes);
    return block == NULL ? NULL : memset(block, 1, bytes);
}

int main(int count, char **words) {
    const size_t most = (size_t)(count > 1 ? atoi(words[1]) : 100) << 20;
    size_t got = 0;
    void *volatile last;
    while (got < most && (last = take(100000)) != NULL) got += 100000;
    const int error = got < most ? errno : 0;
    // What is refused is refused, and what is smaller may be had.
    printf("got %zu of %zu MiB, errno %d\n", got >> 20, most >> 20, error);
    CHECK(got >= most || error == ENOMEM);
    return 0;
}
