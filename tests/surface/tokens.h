// Calls with allocation tokens, as clang 22 makes them with -fsanitize=alloc-token. The functions are called by name
// here, since the compilers that the tests are built with cannot make such calls.
#ifndef ACRE_TESTS_SURFACE_TOKENS_H
#define ACRE_TESTS_SURFACE_TOKENS_H

#include <malloc.h>

#include <initializer_list>
#include <new>

#include "check.h"

// Tokens of types without pointers and of types with pointers, next to the border between them.
#ifndef TOKEN_PLAIN
#define TOKEN_PLAIN (SIZE_MAX / 2 - 1)
#define TOKEN_POINTERS (SIZE_MAX / 2)
#endif

#define DECLARE(type, name, parameters, ...)                \
    type __alloc_token_##name(__VA_ARGS__, size_t token);    \
    type __alloc_token_0_##name parameters;                  \
    type __alloc_token_1_##name parameters;
#define DECLARE_SAME(type, name, ...) DECLARE(type, name, (__VA_ARGS__), __VA_ARGS__)

extern "C" {
DECLARE_SAME(void *, malloc, size_t)
DECLARE_SAME(void *, calloc, size_t, size_t)
DECLARE_SAME(void *, realloc, void *, size_t)
DECLARE_SAME(void *, reallocarray, void *, size_t, size_t)
DECLARE_SAME(void *, memalign, size_t, size_t)
DECLARE_SAME(void *, aligned_alloc, size_t, size_t)
DECLARE_SAME(int, posix_memalign, void **, size_t, size_t)
DECLARE_SAME(void *, valloc, size_t)
DECLARE_SAME(void *, pvalloc, size_t)
DECLARE_SAME(void *, _Znwm, size_t)
DECLARE_SAME(void *, _Znam, size_t)
DECLARE_SAME(void *, _ZnwmRKSt9nothrow_t, size_t, const std::nothrow_t &)
DECLARE_SAME(void *, _ZnamRKSt9nothrow_t, size_t, const std::nothrow_t &)
DECLARE_SAME(void *, _ZnwmSt11align_val_t, size_t, std::align_val_t)
DECLARE_SAME(void *, _ZnamSt11align_val_t, size_t, std::align_val_t)
DECLARE_SAME(void *, _ZnwmSt11align_val_tRKSt9nothrow_t, size_t, std::align_val_t, const std::nothrow_t &)
DECLARE_SAME(void *, _ZnamSt11align_val_tRKSt9nothrow_t, size_t, std::align_val_t, const std::nothrow_t &)
}

// How a call says which token: as an argument, or in its name.
enum By { kByArgument, kByName };

// Calls NAME's form for types with or without pointers.
#define CALL(by, pointers, name, ...)                                                                           \
    ((by) == kByArgument ? __alloc_token_##name(__VA_ARGS__, (pointers) ? TOKEN_POINTERS : TOKEN_PLAIN)         \
     : (pointers)        ? __alloc_token_1_##name(__VA_ARGS__)                                                  \
                         : __alloc_token_0_##name(__VA_ARGS__))

// A block of 8 bytes is aligned to 8.
static inline void *check_block(void *block, size_t size, size_t alignment) {
    if (size <= 8 && alignment == 16) alignment = 8;
    CHECK_AT(block != nullptr && is_aligned(block, alignment), size);
    CHECK_AT(malloc_usable_size(block) >= size, size);
    memset(block, 0x61, size);
    return block;
}

// seen(block, size, pointers) is called for each block while it lives.
template <class Seen>
void check_calls(By by, bool pointers, size_t size, Seen seen) {
    const std::nothrow_t &nothrow = std::nothrow;
    const auto check_freed = [&](void *block, size_t alignment, auto release) {
        seen(check_block(block, size, alignment), size, pointers);
        release(block);
    };
    const auto by_free = [](void *block) { free(block); };
    check_freed(CALL(by, pointers, malloc, size), 16, by_free);
    void *zeroed = CALL(by, pointers, calloc, 2, (size + 1) / 2);
    for (size_t i = 0; i < size; i++) CHECK_AT(static_cast<char *>(zeroed)[i] == 0, i);
    check_freed(zeroed, 16, by_free);
    check_freed(CALL(by, pointers, realloc, nullptr, size), 16, by_free);
    check_freed(CALL(by, pointers, reallocarray, nullptr, 1, size), 16, by_free);
    for (size_t alignment : {size_t{16}, size_t{256}, 16 * KIB}) {
        check_freed(CALL(by, pointers, memalign, alignment, size), alignment, by_free);
        check_freed(CALL(by, pointers, aligned_alloc, alignment, size), alignment, by_free);
        void *block = nullptr;
        CHECK_EQ(CALL(by, pointers, posix_memalign, &block, alignment, size), 0);
        check_freed(block, alignment, by_free);
        const auto a = static_cast<std::align_val_t>(alignment);
        const auto by_delete = [a](void *p) { operator delete(p, a); };
        const auto by_delete_array = [a](void *p) { operator delete[](p, a); };
        check_freed(CALL(by, pointers, _ZnwmSt11align_val_t, size, a), alignment, by_delete);
        check_freed(CALL(by, pointers, _ZnamSt11align_val_t, size, a), alignment, by_delete_array);
        check_freed(CALL(by, pointers, _ZnwmSt11align_val_tRKSt9nothrow_t, size, a, nothrow), alignment, by_delete);
        check_freed(CALL(by, pointers, _ZnamSt11align_val_tRKSt9nothrow_t, size, a, nothrow), alignment,
                    by_delete_array);
    }
    const auto by_delete = [size](void *p) { operator delete(p, size); };
    const auto by_delete_array = [size](void *p) { operator delete[](p, size); };
    check_freed(CALL(by, pointers, valloc, size), 4 * KIB, by_free);
    check_freed(CALL(by, pointers, pvalloc, size), 4 * KIB, by_free);
    check_freed(CALL(by, pointers, _Znwm, size), 16, by_delete);
    check_freed(CALL(by, pointers, _Znam, size), 16, by_delete_array);
    check_freed(CALL(by, pointers, _ZnwmRKSt9nothrow_t, size, nothrow), 16, by_delete);
    check_freed(CALL(by, pointers, _ZnamRKSt9nothrow_t, size, nothrow), 16, by_delete_array);
}

static inline void check_bad_calls(bool pointers) {
    const size_t huge = hide_size(SIZE_MAX / 2 + 1);
    for (By by : {kByArgument, kByName}) {
        CHECK(CALL(by, pointers, malloc, huge) == nullptr);
        CHECK(CALL(by, pointers, calloc, huge, 4) == nullptr);
        CHECK(CALL(by, pointers, reallocarray, nullptr, huge, 4) == nullptr);
        CHECK(CALL(by, pointers, aligned_alloc, 48, 16) == nullptr);
        void *block = nullptr;
        CHECK_EQ(CALL(by, pointers, posix_memalign, &block, 4, 16), EINVAL);
        CHECK(CALL(by, pointers, _ZnwmRKSt9nothrow_t, huge, std::nothrow) == nullptr);
        bool was_thrown = false;
        try {
            free(CALL(by, pointers, _Znwm, huge));
        } catch (const std::bad_alloc &) {
            was_thrown = true;
        }
        CHECK(was_thrown);
        void *const nothing = CALL(by, pointers, malloc, 0);
        CHECK(nothing != nullptr);
        CHECK(CALL(by, pointers, realloc, nothing, 0) == nullptr);  // frees it
        void *const grown = CALL(by, pointers, realloc, CALL(by, !pointers, malloc, 0), 100);
        free(check_block(grown, 100, 16));
    }
}

#endif
