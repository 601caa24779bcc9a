// acre-test: libs=pthread
// Destructors of thread_local objects allocate and free, in short-lived threads and in main's.
#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "check.h"

namespace {

std::atomic<int> destroyed{0};

struct Inner {
    std::vector<std::string> texts;
    ~Inner() {
        for (const auto &text : texts) CHECK(text.size() == 100 && text[0] == 'i');
        std::map<int, std::string> work;
        for (int i = 0; i < 50; i++) work[i] = std::string(static_cast<std::size_t>(i) * 10, 'w');
        destroyed++;
    }
};

struct Outer {
    std::unique_ptr<char[]> block;
    ~Outer();
};

thread_local Outer outer;
thread_local Inner inner;

// Made by another thread-local's destructor, and destroyed after it: those of the file are all made at the first use of
// one, those of a function each at its own.
std::unique_ptr<std::string> &last() {
    thread_local std::unique_ptr<std::string> made;
    return made;
}

Outer::~Outer() {
    CHECK(all_bytes_are(block.get(), 5000, 0x11));
    last() = std::make_unique<std::string>(3000, 'z');
    block.reset(new char[100000]);
    memset(hide(block.get()), 1, 100000);
    void *large = must_malloc(3 << 20);
    memset(large, 1, 3 << 20);
    free(large);
    destroyed++;
}

void use() {
    outer.block.reset(new char[5000]);
    memset(outer.block.get(), 0x11, 5000);
    for (int i = 0; i < 30; i++) inner.texts.emplace_back(100, 'i');
}

}  // namespace

int main() {
    constexpr int kThreads = 6000;
    constexpr int kRound = 4;  // threads at a time: how many of their large blocks are there at once varies
    std::size_t most_at_first = 0, least_at_last = SIZE_MAX;
    for (int i = 0; i < kThreads; i += kRound) {
        std::thread threads[kRound];
        for (auto &thread : threads) thread = std::thread(use);
        for (auto &thread : threads) thread.join();
        if (i < kThreads / 4) most_at_first = std::max(most_at_first, resident_bytes());
        if (i >= kThreads - 50 * kRound) least_at_last = std::min(least_at_last, resident_bytes());
    }
    CHECK_EQ(destroyed.load(), 2 * kThreads);
    // Nothing of a dead thread stays behind: 4 KiB of each would be seen. Large blocks that were freed just now may.
    CHECK_LE(least_at_last, most_at_first + (16 << 20));
    use();
    return 0;
}
