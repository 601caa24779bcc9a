// Exits 0 if malloc is acre's.
#include <acre/acre.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_acres(const char *what, void *block) {
    if (block != NULL && acre_owns(block)) return 1;
    fprintf(stderr, "%s gave %p, which is no block of acre\n", what, block);
    return 0;
}

int main(void) {
    void *block = malloc(100);
    void *zeros = calloc(10, 100);
    char *copy = strdup("libc's own calls of malloc go to acre too");
    int ok = is_acres("malloc", block) & is_acres("calloc", zeros) & is_acres("strdup", copy);
    free(block);
    free(zeros);
    free(copy);
    if (!ok) return 1;
    puts("acre is in use");
    return 0;
}
