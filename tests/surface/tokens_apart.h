// In the hardened mode blocks for types with pointers and others never have the same page, whatever is freed between.
#ifndef ACRE_TESTS_SURFACE_TOKENS_APART_H
#define ACRE_TESTS_SURFACE_TOKENS_APART_H

#include <pthread.h>

#include <atomic>

#include "tokens.h"

namespace {

constexpr size_t kPages = size_t{1} << 20;
std::atomic<uintptr_t> *g_pages;  // a hash table of page << 1 | whether blocks with pointers were there

void note_page(uintptr_t page, bool pointers) {
    for (size_t at = page * 0x9e3779b97f4a7c15 >> 44;; at = (at + 1) % kPages) {
        uintptr_t there = 0;
        if (g_pages[at].compare_exchange_strong(there, page << 1 | pointers)) return;
        if (there >> 1 != page) continue;
        CHECK_AT((there & 1) == pointers, page);
        return;
    }
}

void note(const void *block, size_t size, bool pointers) {
    const auto from = reinterpret_cast<uintptr_t>(block);
    for (uintptr_t page = from / 4096; page <= (from + size - 1) / 4096; page++) note_page(page, pointers);
}

void *take(size_t size, bool pointers, unsigned way) {
    void *block = way % 3 == 0 ? CALL(kByArgument, pointers, malloc, size)
                  : way % 3 == 1 || pointers ? CALL(kByName, pointers, calloc, 1, size)
                                             : malloc(size);
    CHECK_AT(block != nullptr, size);
    note(block, size, pointers);
    return block;
}

constexpr size_t kSizes[] = {16, 24, 48, 100, 500, 1000, 3000, 9000, 20000, 40000, 200000};
constexpr size_t kSlots = 400, kThreads = 3;
struct Slot {
    std::atomic<void *> block;
} g_slots[2][kSlots];

// Blocks are freed by any thread, and realloc'd by any as what they are.
void *work(void *seed) {
    auto state = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(seed));
    const auto next = [&state] { return state = state * 1664525 + 1013904223, state >> 8; };
    for (unsigned i = 0; i < 20000; i++) {
        const bool pointers = next() % 2 != 0;
        const size_t few = next() % 16 == 0 ? sizeof kSizes / sizeof *kSizes : 8;
        const size_t size = kSizes[next() % few];
        std::atomic<void *> &slot = g_slots[pointers][next() % kSlots].block;
        void *old = slot.exchange(nullptr);
        void *made = nullptr;
        if (old != nullptr && next() % 4 == 0) {  // a realloc that says nothing leaves a block where it is
            made = next() % 2 != 0 ? realloc(old, size) : CALL(kByArgument, pointers, realloc, old, size);
            CHECK(made != nullptr);
            note(made, size, pointers);
        } else {
            free(old);
            made = take(size, pointers, next());
        }
        free(slot.exchange(made));
    }
    return nullptr;
}

// A token that says another type moves the block, with its contents.
void check_moves() {
    for (size_t size : kSizes) {
        for (bool pointers : {false, true}) {
            char *block = static_cast<char *>(take(size, pointers, 0));
            memset(block, 7, size);
            char *moved = static_cast<char *>(CALL(kByName, !pointers, realloc, block, size));
            CHECK_AT(moved != nullptr && moved != block, size);
            note(moved, size, !pointers);
            for (size_t i = 0; i < size; i++) CHECK_AT(moved[i] == 7, i);
            moved = static_cast<char *>(CALL(kByArgument, pointers, reallocarray, moved, 2, size));
            note(moved, 2 * size, pointers);
            for (size_t i = 0; i < size; i++) CHECK_AT(moved[i] == 7, i);
            free(moved);
        }
    }
}

// Blocks of no bytes are as aligned as asked for.
void check_empty(bool pointers) {
    for (By by : {kByArgument, kByName}) {
        for (size_t alignment : {size_t{16}, size_t{64}, 16 * KIB}) {
            const auto a = static_cast<std::align_val_t>(alignment);
            void *block = CALL(by, pointers, _ZnwmSt11align_val_t, 0, a);
            CHECK_AT(block != nullptr && is_aligned(block, alignment), alignment);
            operator delete(block, a);
        }
    }
}

int check_apart() {
    void *memory = mmap(nullptr, kPages * sizeof *g_pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    g_pages = static_cast<std::atomic<uintptr_t> *>(memory);
    for (size_t size : kSizes) {
        for (bool pointers : {false, true}) {
            for (By by : {kByArgument, kByName}) check_calls(by, pointers, size, note);
        }
    }
    for (bool pointers : {false, true}) {
        check_bad_calls(pointers);
        check_empty(pointers);
    }
    check_moves();
    pthread_t threads[kThreads];
    for (uintptr_t i = 0; i < kThreads; i++) {
        CHECK_EQ(pthread_create(&threads[i], nullptr, work, reinterpret_cast<void *>(i + 1)), 0);
    }
    for (pthread_t thread : threads) CHECK_EQ(pthread_join(thread, nullptr), 0);
    for (auto &half : g_slots) {  // their threads have ended
        for (Slot &slot : half) free(slot.block.exchange(nullptr));
    }
    malloc_trim(0);
    work(reinterpret_cast<void *>(99));
    return 0;
}

}  // namespace

#endif
