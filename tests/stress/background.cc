// acre-test: libs=pthread env=ACRE_CONF=background_thread:true,dirty_decay_ms:20,muzzy_decay_ms:10
// Threads that fill and empty all kinds of blocks, sleep and end, beside a background thread with much to do.
#include <chrono>

#include "stress.h"

int main(int argc, char **argv) {
    const stress::Arguments arguments(argc, argv, 400000);
    constexpr std::size_t kThreads = 3;
    constexpr std::size_t kGenerations = 8;
    const std::size_t count = arguments.operations / kThreads / kGenerations + 1;
    std::vector<std::atomic<unsigned char *>> shared(64);
    for (std::size_t generation = 0; generation < kGenerations; generation++) {
        stress::run_threads(kThreads, [&](std::size_t thread) {
            stress::Random random(arguments.seed * 1000 + generation * 10 + thread);
            std::vector<stress::Block> blocks;
            for (std::size_t i = 0; i < count; i++) {
                blocks.push_back(stress::take(random.size(3, random.one_in(200) ? 21 : 14), random.next()));
                if (blocks.size() > 400 || random.one_in(1000)) {
                    for (const auto &block : blocks) stress::give_back(block);
                    blocks.clear();
                }
                if (random.one_in(4)) {
                    auto *fresh = static_cast<unsigned char *>(acre_malloc(random.size(4, 15)));
                    acre_free(shared[random.below(shared.size())].exchange(fresh));
                }
                if (random.one_in(2000)) std::this_thread::sleep_for(std::chrono::milliseconds(30));
            }
            for (const auto &block : blocks) stress::give_back(block);
        });
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    for (auto &block : shared) acre_free(block.exchange(nullptr));
    return 0;
}
