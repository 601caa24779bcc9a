// acre-test: libs=pthread conf=prof:true,prof_sample:4K conf=junk:true conf=hardened:true
// TCMalloc's hooks are added and removed while other threads allocate, hand blocks to each other and end: nothing is
// lost, and what a hook is told is a block.
#include "stress.h"

extern "C" {
int acre_add_new_hook(void (*hook)(const void *block, size_t bytes));
int acre_remove_new_hook(void (*hook)(const void *block, size_t bytes));
int acre_add_delete_hook(void (*hook)(const void *block));
int acre_remove_delete_hook(void (*hook)(const void *block));
}

namespace {

std::atomic<std::size_t> g_allocated{0}, g_freed{0};
thread_local bool t_inside = false;  // a hook that allocates is called for that, too

void on_new(const void *block, size_t bytes) {
    CHECK(block != nullptr && acre_malloc_usable_size(const_cast<void *>(block)) == bytes);
    g_allocated.fetch_add(1, std::memory_order_relaxed);
    if (t_inside) return;
    t_inside = true;
    acre_free(acre_malloc(bytes % 500 + 1));
    t_inside = false;
}

void on_delete(const void *block) {
    acre_malloc_usable_size(const_cast<void *>(block));  // ends the program if it is no block
    g_freed.fetch_add(1, std::memory_order_relaxed);
}

void add_and_remove(std::size_t times) {
    for (std::size_t i = 0; i < times; i++) {
        CHECK(acre_add_new_hook(on_new));
        CHECK(i % 2 == 0 || acre_add_delete_hook(on_delete));
        acre_free(acre_malloc(100));
        for (int turn = 0; turn < 20; turn++) std::this_thread::yield();
        CHECK(acre_remove_new_hook(on_new));
        CHECK(i % 2 == 0 || acre_remove_delete_hook(on_delete));
        for (int turn = 0; turn < 20; turn++) std::this_thread::yield();
    }
}

void allocate(stress::Slots &slots, std::uint64_t seed, std::size_t operations) {
    stress::Random random(seed);
    std::vector<stress::Block> mine(100);
    for (std::size_t i = 0; i < operations; i++) {
        stress::Block &block = mine[random.below(mine.size())];
        if (random.one_in(4)) {
            slots.put(random, block);
            block = slots.take(random);
        } else if (block.memory != nullptr && random.one_in(3)) {
            const std::size_t size = random.size(4, 18);
            auto *moved = static_cast<unsigned char *>(acre_realloc(block.memory, size + 1));
            CHECK(moved != nullptr);
            stress::check({moved, block.size, block.id}, std::min(size, block.size) & ~std::size_t{4095});
            block = {moved, size, random.next()};
            stress::fill(block);
        } else {
            stress::give_back(block);
            block = stress::take_any(random, random.size(3, 17));
        }
    }
    for (const stress::Block &block : mine) stress::give_back(block);
}

}  // namespace

int main(int argc, char **argv) {
    const stress::Arguments arguments(argc, argv, 20000);
    stress::Slots slots(50);
    std::atomic<bool> stop{false};
    std::vector<std::thread> switching;
    for (int i = 0; i < 2; i++) {
        switching.emplace_back([&stop] {
            while (!stop) add_and_remove(10);
        });
    }
    for (std::uint64_t round = 0; round < 5; round++) {  // threads end and others begin
        stress::run_threads(3, [&](std::size_t i) {
            allocate(slots, arguments.seed * 100 + round * 10 + i, arguments.operations / 5);
        });
    }
    stop = true;
    for (auto &thread : switching) thread.join();
    CHECK_GE(g_allocated.load(), 1);
    CHECK_GE(g_freed.load(), 1);
    const std::size_t allocated = g_allocated, freed = g_freed;
    for (int i = 0; i < 1000; i++) acre_free(acre_malloc(48));
    CHECK_EQ(g_allocated.load(), allocated);
    CHECK_EQ(g_freed.load(), freed);
    return 0;
}
