// acre-test: libs=pthread
// A pool of threads in phases: all fill, all idle while one frees for them, all free for a neighbour.
#include <barrier>

#include "stress.h"

int main(int argc, char **argv) {
    const stress::Arguments arguments(argc, argv, 1500000);
    constexpr std::size_t kThreads = 5;
    constexpr std::size_t kPhases = 12;
    const std::size_t count = arguments.operations / kThreads / kPhases + 1;
    std::vector<std::vector<stress::Block>> filled(kThreads);
    std::barrier phase(static_cast<std::ptrdiff_t>(kThreads));
    stress::run_threads(kThreads, [&](std::size_t thread) {
        stress::Random random(arguments.seed * 100 + thread);
        for (std::size_t i = 0; i < kPhases; i++) {
            // The phase's size, the same for all: runs fill up and are emptied by others.
            const std::size_t size = std::size_t{8} << (i % 11);
            for (std::size_t j = 0; j < count / (1 + size / 1024); j++) {
                filled[thread].push_back(stress::take(size - random.below(size / 4 + 1), random.next()));
            }
            phase.arrive_and_wait();
            if (i % 3 == 0) {
                if (thread == i % kThreads) {
                    for (auto &blocks : filled) {
                        for (const auto &block : blocks) stress::give_back(block);
                        blocks.clear();
                    }
                }
            } else if (i % 3 == 1) {
                auto &blocks = filled[(thread + 1) % kThreads];
                for (const auto &block : blocks) stress::give_back(block);
                blocks.clear();
            } else {
                // Every other block only; the rest lives through the next phases.
                auto &blocks = filled[(thread + 2) % kThreads];
                std::vector<stress::Block> kept;
                for (std::size_t j = 0; j < blocks.size(); j++) {
                    if (j % 2) kept.push_back(blocks[j]);
                    else stress::give_back(blocks[j]);
                }
                blocks = std::move(kept);
            }
            phase.arrive_and_wait();
        }
    });
    for (const auto &blocks : filled) {
        for (const auto &block : blocks) stress::give_back(block);
    }
    return 0;
}
