// Grows at known places, and writes where. usage: grows PATH
#include <stdlib.h>
#include <string.h>

int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t size);

__attribute__((noinline)) void *site_huge(void) {
    void *volatile block = malloc(100 << 20);
    return block;
}
__attribute__((noinline)) void *site_many(void) {
    void *volatile block = malloc(20000);
    return block;
}

int main(int argc, char **argv) {
    site_huge();
    for (int i = 0; i < 12000; i++) site_many();
    const char *path = argc > 1 ? argv[1] : "";
    return mallctl("prof.dump", NULL, NULL, &path, sizeof path);
}
