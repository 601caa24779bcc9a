// acre-test: libs=pthread conf=junk:true conf=prof:true,prof_sample:0 conf=prof:true,prof_sample:4K
// Threads are born and die all the time, and leave their blocks to those that come after.
#include "stress.h"

namespace {

// One thread's whole life: free what the one before left, allocate as much, leave it.
std::vector<stress::Block> live(std::vector<stress::Block> inherited, std::uint64_t seed,
                                std::size_t count) {
    stress::Random random(seed);
    std::vector<stress::Block> left;
    for (std::size_t i = 0; i < count; i++) {
        left.push_back(stress::take_any(random, random.size(3, 12)));
        if (!inherited.empty()) {
            std::swap(inherited[random.below(inherited.size())], inherited.back());
            stress::give_back(inherited.back());
            inherited.pop_back();
        }
        // Some die young.
        if (random.one_in(3)) {
            std::swap(left[random.below(left.size())], left.back());
            stress::give_back(left.back());
            left.pop_back();
        }
    }
    for (const auto &block : inherited) stress::give_back(block);
    return left;
}

}  // namespace

int main(int argc, char **argv) {
    const stress::Arguments arguments(argc, argv, 1000000);
    constexpr std::size_t kLines = 4;
    constexpr std::size_t kBlocks = 250;
    const std::size_t generations = arguments.operations / kLines / kBlocks + 1;
    std::vector<std::vector<stress::Block>> estates(kLines);
    for (std::size_t generation = 0; generation < generations; generation++) {
        std::vector<std::vector<stress::Block>> next(kLines);
        stress::run_threads(kLines, [&](std::size_t line) {
            // The heirs are of another line, so that blocks wander.
            auto &estate = estates[(line + generation) % kLines];
            next[line] = live(std::move(estate), arguments.seed * 1000003 + generation * kLines + line,
                              kBlocks);
        });
        estates = std::move(next);
    }
    for (const auto &estate : estates) {
        for (const auto &block : estate) stress::give_back(block);
    }
    return 0;
}
