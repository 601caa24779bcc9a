// Blocks whose only pointers were left by earlier users of memory that other blocks have now: small, large, of an
// arena, and what realloc adds.
// leaks normal: 3 lose, 3 lose_large, 3 lose_more
// linked
#include "support.h"

#include <acre/acre.h>
#include <stdbool.h>

enum { kRounds = 3 };

static void *volatile g_kept[4 * kRounds];
static unsigned g_count;

// A block of `bytes` that has a pointer in its last word goes back, and its memory is handed out again.
static NOINLINE void reuse(size_t bytes, void *lost) {
    char *first = malloc(bytes);
    memcpy(first + bytes - 16, &lost, sizeof lost);
    free(first);
    char *second = malloc(bytes);
    memset(second, 1, 8);
    g_kept[g_count++] = second;
}

static NOINLINE void lose(void) { reuse(336, malloc(100)); }
static NOINLINE void lose_large(void) { reuse(200000, malloc(1000)); }

// What the block gains has the pointer.
static NOINLINE void lose_more(void) {
    void *lost = malloc(2000);
    char *whole = malloc(300000);
    memcpy(whole + 250000 / 8 * 8, &lost, sizeof lost);
    whole = realloc(whole, 100000);
    g_kept[g_count++] = realloc(whole, 300000);
}

int main(void) {
    for (int i = 0; i < kRounds; i++) {
        LOSE(lose());
        LOSE(lose_large());
        LOSE(lose_more());
    }
    return 0;
}
