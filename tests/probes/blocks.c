// Waits for a tracer, then allocates and frees, and says what. usage: blocks [NUMBER OF BLOCKS THAT ARE NOT NAMED]
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void *named(void *block) {
    printf("%p %zu\n", block, malloc_usable_size(block));
    return block;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 4096);
    raise(SIGSTOP);
    if (argc > 1) {
        for (int i = atoi(argv[1]); i > 0; i--) {
            void *volatile block = malloc(1000);
            free(block);
        }
        return 0;
    }
    void *small = named(malloc(1000));
    void *large = named(malloc(400000));
    large = named(realloc(large, 100000));
    void *huge = named(malloc((size_t)100 << 20));
    huge = named(realloc(huge, (size_t)300 << 20));
    free(small);
    free(large);
    free(huge);
    return 0;
}
