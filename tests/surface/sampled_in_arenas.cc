// acre-test: not-static env=ACRE_CONF=prof:true,prof_sample:0
// Blocks of tags and of arenas that a program makes, each of them a sample: any function that allocated them may free
// them, and those that are asked to be zero are so to their ends, also when they grow.
#include <acre/jemalloc.h>
#include <acre/tags.h>

#include <new>

#include "check.h"

// Weak: a program that acre is preloaded into is not linked with it.
extern "C" {
extern decltype(mallctl) mallctl __attribute__((weak));
extern decltype(mallocx) mallocx __attribute__((weak));
extern decltype(rallocx) rallocx __attribute__((weak));
extern decltype(sallocx) sallocx __attribute__((weak));
extern decltype(dallocx) dallocx __attribute__((weak));
extern decltype(acre_tag_push) acre_tag_push __attribute__((weak));
extern decltype(acre_tag_pop) acre_tag_pop __attribute__((weak));
}

namespace {

void check_zeroed(int flags) {
    void *dirty[50];
    for (void *&block : dirty) {
        block = mallocx(3000, flags);
        memset(block, 0xee, sallocx(block, 0));
    }
    for (void *block : dirty) dallocx(block, 0);
    for (int i = 0; i < 20; i++) {
        void *block = mallocx(100, flags | MALLOCX_ZERO);
        CHECK(all_bytes_are(block, sallocx(block, 0), 0));
        memset(block, 1, 100);
        block = rallocx(block, 8000, flags | MALLOCX_ZERO);
        CHECK(all_bytes_are(static_cast<char *>(block) + 112, sallocx(block, 0) - 112, 0));
        memset(block, 0xee, sallocx(block, 0));
        dallocx(block, 0);
    }
}

void check_operators() {
    for (int i = 0; i < 20; i++) {
        delete static_cast<int *>(hide(new int));
        delete[] static_cast<char *>(hide(new char[100]));
        ::operator delete(hide(::operator new(2000, std::align_val_t{64})), std::align_val_t{64});
        free(hide(malloc(10)));
    }
}

}  // namespace

int main() {
    unsigned arena = 0;
    size_t size = sizeof arena;
    CHECK_EQ(mallctl("arenas.create", &arena, &size, nullptr, 0), 0);
    check_zeroed(MALLOCX_ARENA(arena));
    acre_tag_push("a tag");
    check_operators();
    check_zeroed(0);
    acre_tag_pop();
    unsigned before = 0;
    CHECK_EQ(mallctl("thread.arena", &before, &size, &arena, sizeof arena), 0);
    check_operators();
}
