// acre-test: libs=pthread
// Large and huge blocks between threads, while another one trims and small blocks come and go.
#include <chrono>

#include "stress.h"

int main(int argc, char **argv) {
    const stress::Arguments arguments(argc, argv, 24000);
    constexpr std::size_t kThreads = 4;
    stress::Slots slots(40);
    std::atomic<bool> stop{false};
    std::thread trimmer([&] {
        while (!stop.load(std::memory_order_relaxed)) {
            acre_malloc_trim(0);
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
    });
    stress::run_threads(kThreads, [&](std::size_t thread) {
        stress::Random random(arguments.seed * 100 + thread);
        std::vector<stress::Block> small;
        for (std::size_t i = 0; i < arguments.operations / kThreads; i++) {
            const std::size_t size = 20000 + random.size(12, random.one_in(40) ? 24 : 20);
            slots.put(random, stress::take_any(random, size));
            for (int j = 0; j < 20; j++) small.push_back(stress::take(random.size(3, 14), random.next()));
            if (random.one_in(10)) {
                for (const auto &block : small) stress::give_back(block);
                small.clear();
            }
        }
        for (const auto &block : small) stress::give_back(block);
    });
    stop.store(true, std::memory_order_relaxed);
    trimmer.join();
    return 0;
}
