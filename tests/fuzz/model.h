// The reference model of the fuzz driver: what an allocator's blocks have to be, kept apart from the
// allocator in ordinary containers.
#ifndef ACRE_TESTS_FUZZ_MODEL_H
#define ACRE_TESTS_FUZZ_MODEL_H

#include <cinttypes>
#include <cstdint>
#include <map>
#include <vector>

#include "../surface/check.h"

// How a failure ends the program. libFuzzer keeps the input of one that aborts.
#ifndef FUZZ_END
#define FUZZ_END _exit(1)
#endif

namespace fuzz {

// Where the driver is, for the message of a failure: enough to run just that again.
struct Position {
    std::uint64_t sequence = 0;
    std::size_t step = 0;
    const char *operation = "start";
};

inline Position position;

[[noreturn]] inline void fail(const char *file, int line, const char *what) {
    char text[512];
    check_write(text, snprintf(text, sizeof text,
                               "%s:%d: %s failed in sequence %" PRIu64 ", step %zu, %s, errno %d\n", file,
                               line, what, position.sequence, position.step, position.operation, errno));
    FUZZ_END;
}

#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) fuzz::fail(__FILE__, __LINE__, #condition);                              \
    } while (0)

struct Live {
    unsigned char *memory;
    std::size_t size;
    std::size_t usable;
    // What the block was asked to be aligned to; 0 where it was not.
    std::size_t alignment;
    std::uint64_t tag;
    // Where the block lies, if the driver tells places apart: a heap of the program, say.
    unsigned place = 0;
};

// Big blocks are written and read at their edges and once a page.
template <typename Visit>
void each_checked_byte(std::size_t length, Visit visit) {
    if (length <= 20000) {
        for (std::size_t i = 0; i < length; i++) visit(i);
        return;
    }
    for (std::size_t i = 0; i < 256; i++) visit(i);
    for (std::size_t i = 256; i < length - 256; i += 1021) visit(i);
    for (std::size_t i = length - 256; i < length; i++) visit(i);
}

class Model {
  public:
    bool empty() const { return live_.empty(); }
    std::size_t count() const { return live_.size(); }
    std::size_t bytes() const { return bytes_; }
    Live &at(std::size_t index) { return live_[index]; }

    // Takes a new block in: it overlaps no other, and is filled to its usable end.
    void add(Live block) {
        const auto start = reinterpret_cast<std::uintptr_t>(block.memory);
        const auto next = starts_.lower_bound(start);
        FUZZ_CHECK(next == starts_.end() || start + block.usable <= next->first);
        FUZZ_CHECK(next == starts_.begin() || std::prev(next)->second <= start);
        // A usable size of 0 still has an address of its own.
        starts_.emplace(start, start + (block.usable == 0 ? 1 : block.usable));
        each_checked_byte(block.usable, [&](std::size_t i) {
            block.memory[i] = pattern_byte(i, block.tag);
        });
        bytes_ += block.usable;
        live_.push_back(block);
    }

    void check(const Live &block, std::size_t length) const {
        each_checked_byte(block.usable, [&](std::size_t i) {
            if (i < length) FUZZ_CHECK(block.memory[i] == pattern_byte(i, block.tag));
        });
    }

    // Lets a block go, unchanged up to its usable end.
    Live remove(std::size_t index) {
        const Live block = live_[index];
        check(block, block.usable);
        live_[index] = live_.back();
        live_.pop_back();
        starts_.erase(reinterpret_cast<std::uintptr_t>(block.memory));
        bytes_ -= block.usable;
        return block;
    }

    void check_all() const {
        for (const Live &block : live_) check(block, block.usable);
    }

  private:
    std::vector<Live> live_;
    std::map<std::uintptr_t, std::uintptr_t> starts_;
    std::size_t bytes_ = 0;
};

}  // namespace fuzz

#endif
