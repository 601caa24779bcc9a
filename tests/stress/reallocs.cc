// acre-test: libs=pthread conf=junk:true
// Threads take each other's blocks, grow or shrink them, and put them back.
#include "stress.h"

namespace {

stress::Block resize(stress::Block block, std::size_t size, stress::Random &random) {
    stress::check(block);
    // Zero would free the block.
    size = std::max<std::size_t>(size, 1);
    void *moved = random.one_in(3) ? acre_reallocarray(block.memory, 1, size)
                                   : acre_realloc(block.memory, size);
    block.memory = static_cast<unsigned char *>(hide(moved));
    CHECK(block.memory != nullptr);
    CHECK(acre_malloc_usable_size(block.memory) >= size);
    // How the old size was filled decides what can be looked at.
    stress::check(block, std::min(block.size, size));
    block.size = size;
    block.id = random.next();
    stress::fill(block);
    return block;
}

std::size_t some_size(stress::Random &random) {
    if (random.one_in(300)) return random.size(17, 22);
    return random.size(3, random.one_in(10) ? 16 : 11);
}

}  // namespace

int main(int argc, char **argv) {
    const stress::Arguments arguments(argc, argv, 800000);
    constexpr std::size_t kThreads = 5;
    stress::Slots slots(800);
    stress::run_threads(kThreads, [&](std::size_t thread) {
        stress::Random random(arguments.seed * 100 + thread);
        for (std::size_t i = 0; i < arguments.operations / kThreads; i++) {
            stress::Block block = slots.take(random);
            const std::size_t size = some_size(random);
            if (block.memory == nullptr) {
                block = stress::take_any(random, std::max<std::size_t>(size, 1));
            } else {
                block = resize(block, size, random);
            }
            if (random.one_in(10)) {
                stress::give_back(block);
            } else {
                slots.put(random, block);
            }
        }
    });
    return 0;
}
