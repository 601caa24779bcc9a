// acre-test: seeds=1,2,3,4 conf=junk:true conf=zero:true,junk:free conf=hardened:true
// Random operations on acre against a model. PROGRAM [GROUP [SEQUENCE]]: a group is 16 sequences with
// fixed seeds, and without an argument all four groups run. ACRE_STRESS_SCALE shortens sequences.
#include <unistd.h>

#include <acre/acre.h>

#include <cstdlib>
#include <cstring>

#include "model.h"

namespace {

constexpr std::uint64_t kGroups = 4;
constexpr std::uint64_t kSequences = 16;
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

class Driver {
  public:
    explicit Driver(std::uint64_t seed) : random_(seed * 0x9e3779b97f4a7c15 + 7) {
        // Each sequence has a taste: how big blocks are, how many live.
        low_bit_ = static_cast<unsigned>(below(8));
        high_bit_ = 4 + low_bit_ + static_cast<unsigned>(below(20 - low_bit_));
        most_blocks_ = std::size_t{1} << (2 + below(12));
    }

    void run(std::size_t steps) {
        for (fuzz::position.step = 0; fuzz::position.step < steps; fuzz::position.step++) step();
        fuzz::position.operation = "the end";
        model_.check_all();
        while (!model_.empty()) release(below(model_.count()));
    }

  private:
    std::size_t below(std::size_t bound) { return random_below(&random_, bound); }

    std::size_t some_size() {
        if (below(20) == 0) return below(3);
        const std::size_t power = std::size_t{1} << (low_bit_ + below(high_bit_ - low_bit_ + 1));
        // Around powers of two and their fractions is where classes begin and end.
        if (below(3) == 0) return power + power / 8 * below(8) + below(3) - (power > 1 ? 1 : 0);
        return below(power) + 1;
    }

    void enter(void *memory, std::size_t size, std::size_t alignment) {
        memory = hide(memory);
        if (memory == nullptr && size == 0 && alignment != 0) return;
        FUZZ_CHECK(memory != nullptr);
        fuzz::Live block{static_cast<unsigned char *>(memory), size, acre_malloc_usable_size(memory),
                         alignment, next_random(&random_)};
        FUZZ_CHECK(block.usable >= size);
        FUZZ_CHECK(is_aligned(memory, 8) && (size < 16 || is_aligned(memory, 16)));
        FUZZ_CHECK(alignment == 0 || is_aligned(memory, alignment));
        if (alignment == 0 && size > 128) FUZZ_CHECK((block.usable - size) * 8 <= block.usable);
        const std::size_t divides = block.usable & (~block.usable + 1);
        // In the hardened mode a block of acre's lies around it.
        static const char *const conf = std::getenv("ACRE_CONF");
        static const bool hardened = conf != nullptr && std::strstr(conf, "hardened:true") != nullptr;
        if (block.usable <= 32768 && !hardened) FUZZ_CHECK(is_aligned(memory, divides < 4096 ? divides : 4096));
        FUZZ_CHECK(acre_owns(memory));
        model_.add(block);
    }

    void allocate() {
        const std::size_t size = some_size();
        const std::size_t alignment = std::size_t{8} << below(below(10) == 0 ? 20 : 8);
        void *out = nullptr;
        switch (below(10)) {
            case 0: {
                fuzz::position.operation = "calloc";
                const std::size_t count = 1 + below(20);
                auto *memory = static_cast<unsigned char *>(hide(acre_calloc(count, size / count)));
                FUZZ_CHECK(memory != nullptr);
                for (std::size_t i = 0; i < size / count * count; i++) FUZZ_CHECK(memory[i] == 0);
                return enter(memory, size / count * count, 0);
            }
            case 1:
                fuzz::position.operation = "aligned_alloc";
                return enter(acre_aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1)),
                             (size + alignment - 1) & ~(alignment - 1), alignment);
            case 2:
                fuzz::position.operation = "posix_memalign";
                FUZZ_CHECK(acre_posix_memalign(&out, alignment, size) == 0);
                return enter(out, size, alignment);
            case 3:
                fuzz::position.operation = "memalign";
                return enter(acre_memalign(alignment, size), size, alignment);
            case 4:
                fuzz::position.operation = "realloc of null";
                return enter(acre_realloc(nullptr, size), size, 0);
            case 5: {
                fuzz::position.operation = "pvalloc";
                const auto page = static_cast<size_t>(getpagesize());
                return enter(acre_pvalloc(size), (size + page - (size != 0)) / page * page, page);
            }
            default:
                fuzz::position.operation = "malloc";
                return enter(acre_malloc(size), size, 0);
        }
    }

    void release(std::size_t index) {
        const fuzz::Live block = model_.remove(index);
        FUZZ_CHECK(acre_malloc_usable_size(block.memory) == block.usable);
        switch (below(6)) {
            case 0:
                // An aligned block is freed by its aligned size; others by the size or the usable one.
                if (block.alignment == 0) acre_free_sized(block.memory, block.size);
                else acre_free_aligned_sized(block.memory, block.alignment, block.size);
                return;
            case 1:
                if (block.alignment == 0) acre_free_sized(block.memory, block.usable);
                else acre_free(block.memory);
                return;
            case 2:
                FUZZ_CHECK(hide(acre_realloc(block.memory, 0)) == nullptr);
                return;
            default:
                acre_free(block.memory);
        }
    }

    void resize() {
        fuzz::position.operation = "realloc";
        const std::size_t index = below(model_.count());
        const std::size_t new_size = 1 + (below(3) == 0 ? below(model_.at(index).usable + 64)
                                                        : some_size());
        const fuzz::Live old = model_.remove(index);
        auto *memory = static_cast<unsigned char *>(
            hide(below(2) ? acre_realloc(old.memory, new_size)
                          : acre_reallocarray(old.memory, new_size, 1)));
        FUZZ_CHECK(memory != nullptr);
        fuzz::Live moved = old;
        moved.memory = memory;
        model_.check(moved, old.size < new_size ? old.size : new_size);
        // To the size that it has anyway, a block stays, unless its class is one for an alignment.
        const bool fits = old.size > 128 && (old.usable - old.size) * 8 <= old.usable;
        if (new_size == old.size && fits) FUZZ_CHECK(memory == old.memory);
        enter_resized(memory, new_size);
    }

    void enter_resized(unsigned char *memory, std::size_t size) {
        fuzz::Live block{memory, size, acre_malloc_usable_size(memory), 0, next_random(&random_)};
        FUZZ_CHECK(block.usable >= size);
        FUZZ_CHECK(size < 16 || is_aligned(memory, 16));
        model_.add(block);
    }

    void refuse() {
        fuzz::position.operation = "impossible requests";
        void *out = this;
        const std::size_t size = SIZE_MAX - below(70000);
        FUZZ_CHECK(hide(acre_malloc(size)) == nullptr && errno == ENOMEM);
        FUZZ_CHECK(hide(acre_calloc(size, 1 + below(9))) == nullptr);
        FUZZ_CHECK(hide(acre_memalign(64, size)) == nullptr);
        FUZZ_CHECK(acre_posix_memalign(&out, 24, 10) == EINVAL && out == this);
        FUZZ_CHECK(acre_posix_memalign(&out, 64, size) == ENOMEM && out == this);
        if (model_.empty()) return;
        const fuzz::Live &block = model_.at(below(model_.count()));
        FUZZ_CHECK(hide(acre_realloc(block.memory, size)) == nullptr);
        FUZZ_CHECK(hide(acre_reallocarray(block.memory, SIZE_MAX / 2, 3)) == nullptr);
        model_.check(block, block.usable);
    }

    void step() {
        const std::size_t dice = below(1000);
        const bool full = model_.count() >= most_blocks_ || model_.bytes() > kMostBytes;
        if (dice == 0) {
            fuzz::position.operation = "malloc_trim";
            acre_malloc_trim(below(2) * 100000);
        } else if (dice == 1) {
            fuzz::position.operation = "freeing everything";
            while (!model_.empty()) release(model_.count() - 1);
        } else if (dice == 2) {
            fuzz::position.operation = "checking everything";
            model_.check_all();
        } else if (dice < 20) {
            refuse();
        } else if (!model_.empty() && dice < 200) {
            resize();
        } else if (full || (!model_.empty() && dice < 560)) {
            fuzz::position.operation = "free";
            release(below(model_.count()));
        } else {
            allocate();
        }
    }

    std::uint64_t random_;
    unsigned low_bit_;
    unsigned high_bit_;
    std::size_t most_blocks_;
    fuzz::Model model_;
};

std::size_t steps_by_scale() {
    const char *scale = std::getenv("ACRE_STRESS_SCALE");
    const double steps = 6000 * (scale != nullptr ? std::strtod(scale, nullptr) : 1.0);
    return steps < 100 ? 100 : static_cast<std::size_t>(steps);
}

void run_sequence(std::uint64_t sequence) {
    fuzz::position.sequence = sequence;
    Driver(sequence).run(steps_by_scale());
}

}  // namespace

int main(int argc, char **argv) {
    const std::uint64_t only_group = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
    if (argc > 2) {
        run_sequence(std::strtoull(argv[2], nullptr, 10));
        return 0;
    }
    for (std::uint64_t group = 1; group <= kGroups; group++) {
        if (only_group != 0) group = only_group;
        for (std::uint64_t i = 0; i < kSequences; i++) run_sequence(group * 100 + i);
        if (only_group != 0) break;
    }
    return 0;
}
