// mallinfo, mallinfo2 and mallopt: plausible figures that follow what the program does.
#include "check.h"

#include <malloc.h>

static size_t in_use(void) {
    const struct mallinfo2 info = mallinfo2();
    // Blocks in use, plus what some allocators count apart as mapped directly.
    return info.uordblks + info.hblkhd;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
static size_t in_use_old(void) {
    const struct mallinfo info = mallinfo();
    return (unsigned)info.uordblks + (size_t)(unsigned)info.hblkhd;
}
#pragma GCC diagnostic pop

int main(void) {
    enum { kBlocks = 20000 };
    static void *blocks[kBlocks];
    free(must_malloc(1));
    const size_t before = in_use();
    for (int i = 0; i < kBlocks; i++) blocks[i] = must_malloc(1000);
    const size_t filled = in_use();
    CHECK_GE(filled, before + (size_t)kBlocks * 1000);
    CHECK_LE(filled, before + (size_t)kBlocks * 1200 + MIB);
    CHECK_GE(in_use_old(), (size_t)kBlocks * 1000);
    CHECK_LE(in_use_old(), filled + MIB);
    const struct mallinfo2 info = mallinfo2();
    CHECK_GE(info.arena + info.hblkhd, (size_t)kBlocks * 1000);
    for (int i = 0; i < kBlocks; i++) free(blocks[i]);
    CHECK_LE(in_use(), before + 4 * MIB);

    void *huge = must_malloc(300 * MIB);
    CHECK_GE(in_use(), before + 300 * MIB);
    free(huge);
    CHECK_LE(in_use(), before + 4 * MIB);

    const int parameters[] = {M_MXFAST,   M_TRIM_THRESHOLD, M_TOP_PAD,    M_MMAP_THRESHOLD, M_MMAP_MAX,
                              M_CHECK_ACTION, M_ARENA_TEST, M_ARENA_MAX, 0x7fffffff,       -12345};
    for (size_t i = 0; i < sizeof parameters / sizeof parameters[0]; i++) {
        const int result = mallopt(parameters[i], 1);
        CHECK_AT(result == 0 || result == 1, parameters[i]);
    }
    // Filling blocks with M_PERTURB is allowed to do nothing, but a call must not break anything.
    const int perturb = mallopt(M_PERTURB, 0);
    CHECK(perturb == 0 || perturb == 1);
    for (int i = 0; i < kBlocks; i++) blocks[i] = must_malloc((size_t)i % 5000);
    for (int i = 0; i < kBlocks; i++) free(blocks[i]);
    return 0;
}
