// acre-test: libs=pthread conf=junk:true conf=hardened:true conf=guard:auto,guard_sample:0
// Threads allocate and free at random; most blocks are freed by another thread than their own.
#include "stress.h"

int main(int argc, char **argv) {
    const stress::Arguments arguments(argc, argv, 1200000);
    constexpr std::size_t kThreads = 6;
    // Few slots: hot, fast exchange. Many: long lives, full runs.
    for (const std::size_t slot_count : {std::size_t{64}, std::size_t{4096}, std::size_t{60000}}) {
        stress::Slots slots(slot_count);
        stress::run_threads(kThreads, [&](std::size_t thread) {
            stress::Random random(arguments.seed * 100 + thread);
            std::vector<stress::Block> own;
            for (std::size_t i = 0; i < arguments.operations / kThreads / 3; i++) {
                const std::size_t size = random.size(3, random.one_in(50) ? 15 : 9);
                const stress::Block block = stress::take_any(random, size);
                if (random.one_in(4)) {
                    own.push_back(block);
                } else {
                    slots.put(random, block);
                }
                if (own.size() > 300) {
                    std::swap(own[random.below(own.size())], own.back());
                    stress::give_back(own.back());
                    own.pop_back();
                }
            }
            for (const auto &block : own) stress::give_back(block);
        });
    }
    return 0;
}
