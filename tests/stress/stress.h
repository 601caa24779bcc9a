// What the stress programs share: arguments, scaling, and blocks that know what must be in them.
// They call acre's prefixed names only, so that a sanitizer keeps malloc for itself.
#ifndef ACRE_TESTS_STRESS_STRESS_H
#define ACRE_TESTS_STRESS_STRESS_H

#include <acre/acre.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "../surface/check.h"

namespace stress {

// PROGRAM [SEED [OPERATIONS]]; ACRE_STRESS_SCALE multiplies the operations.
struct Arguments {
    std::uint64_t seed = 1;
    std::size_t operations;

    Arguments(int argc, char **argv, std::size_t default_operations) : operations(default_operations) {
        if (argc > 1) seed = std::strtoull(argv[1], nullptr, 10);
        if (argc > 2) operations = std::strtoull(argv[2], nullptr, 10);
        if (const char *scale = std::getenv("ACRE_STRESS_SCALE")) {
            const double scaled = static_cast<double>(operations) * std::strtod(scale, nullptr);
            operations = std::max<std::size_t>(1, static_cast<std::size_t>(scaled));
        }
    }
};

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed * 0x2545f4914f6cdd1d + 1) {}
    std::uint64_t next() { return next_random(&state_); }
    std::size_t below(std::size_t bound) { return random_below(&state_, bound); }
    bool one_in(std::size_t n) { return below(n) == 0; }
    // Small sizes are frequent, big ones rare: every power of two is as likely as the next.
    std::size_t size(unsigned low_bit, unsigned high_bit) {
        return below(std::size_t{1} << (low_bit + below(high_bit - low_bit + 1)));
    }

  private:
    std::uint64_t state_;
};

// One live block. The record is not in the block, so blocks of any size can be checked.
struct Block {
    unsigned char *memory = nullptr;
    std::size_t size = 0;
    std::uint64_t id = 0;
};

inline std::uint64_t word_of(std::uint64_t id, std::size_t index) {
    return (id + index) * 0x9e3779b97f4a7c15 + id;
}

// Fills all bytes, or of a large block the edges and a word in each page.
inline std::size_t stride_of(std::size_t size) { return size <= 16384 ? 8 : 4096; }

inline void fill(const Block &block) {
    const std::size_t stride = stride_of(block.size);
    for (std::size_t at = 0; at < block.size; at += stride) {
        const std::uint64_t word = word_of(block.id, at);
        memcpy(block.memory + at, &word, std::min<std::size_t>(8, block.size - at));
    }
}

inline void check(const Block &block, std::size_t length) {
    const std::size_t stride = stride_of(block.size);
    for (std::size_t at = 0; at < length; at += stride) {
        const std::uint64_t word = word_of(block.id, at);
        if (memcmp(block.memory + at, &word, std::min<std::size_t>(8, length - at)) != 0) {
            check_fail_values(__FILE__, __LINE__, "contents, at offset and of size",
                              static_cast<long long>(at), static_cast<long long>(block.size));
        }
    }
}

inline void check(const Block &block) { check(block, block.size); }

inline Block take(std::size_t size, std::uint64_t id) {
    Block block;
    block.memory = static_cast<unsigned char *>(hide(acre_malloc(size)));
    block.size = size;
    block.id = id;
    CHECK(block.memory != nullptr);
    CHECK(is_aligned(block.memory, size >= 16 ? 16 : 8));
    fill(block);
    return block;
}

// A block from whichever function the dice say.
inline Block take_any(Random &random, std::size_t size) {
    Block block;
    block.size = size;
    block.id = random.next();
    const std::size_t alignment = std::size_t{16} << random.below(9);
    switch (random.below(8)) {
        case 0: {
            auto *memory = static_cast<unsigned char *>(hide(acre_calloc(1, size)));
            CHECK(memory != nullptr);
            const std::size_t stride = stride_of(size);
            for (std::size_t i = 0; i < size; i += stride) CHECK_AT(memory[i] == 0, i);
            block.memory = memory;
            break;
        }
        case 1:
            block.memory = static_cast<unsigned char *>(hide(acre_memalign(alignment, size)));
            CHECK(is_aligned(block.memory, alignment));
            break;
        case 2: {
            void *out = nullptr;
            CHECK_EQ(acre_posix_memalign(&out, alignment, size), 0);
            CHECK(is_aligned(out, alignment));
            block.memory = static_cast<unsigned char *>(out);
            break;
        }
        case 3:
            block.memory = static_cast<unsigned char *>(hide(acre_realloc(nullptr, size)));
            break;
        default:
            block.memory = static_cast<unsigned char *>(hide(acre_malloc(size)));
            break;
    }
    // A zero-sized aligned block may be null.
    CHECK(block.memory != nullptr || size == 0);
    fill(block);
    return block;
}

inline void give_back(const Block &block) {
    check(block);
    if (block.memory != nullptr) CHECK(acre_malloc_usable_size(block.memory) >= block.size);
    acre_free(block.memory);
}

// Places through which threads hand blocks to each other.
class Slots {
  public:
    explicit Slots(std::size_t count) : slots_(count) {}

    ~Slots() {
        for (auto &slot : slots_) release(slot.exchange(nullptr));
    }

    // Puts a block somewhere, and frees the one that was there.
    void put(Random &random, const Block &block) {
        auto &slot = slots_[random.below(slots_.size())];
        release(slot.exchange(new Block(block), std::memory_order_acq_rel));
    }

    // Takes a block away; one without memory if the place is empty.
    Block take(Random &random) {
        auto &slot = slots_[random.below(slots_.size())];
        const std::unique_ptr<const Block> block(slot.exchange(nullptr, std::memory_order_acq_rel));
        return block ? *block : Block();
    }

  private:
    static void release(const Block *block) {
        if (block != nullptr) give_back(*block);
        delete block;
    }

    std::vector<std::atomic<const Block *>> slots_;
};

template <typename Function>
void run_threads(std::size_t count, Function function) {
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < count; i++) threads.emplace_back(function, i);
    for (auto &thread : threads) thread.join();
}

}  // namespace stress

#endif
