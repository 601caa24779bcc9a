// What tsan_runtime.cc tells the engine: each access to memory, before it happens. Values of up to eight bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace interleave {

uint64_t atomic_load(void* address, unsigned bytes, int order, uintptr_t pc);
void atomic_store(void* address, unsigned bytes, uint64_t value, int order, uintptr_t pc);
// Returns what was there before.
uint64_t atomic_change(void* address, unsigned bytes, int order, uintptr_t pc, uint64_t (*to)(uint64_t, uint64_t),
                       uint64_t argument);
bool atomic_compare_exchange(void* address, unsigned bytes, uint64_t& expected, uint64_t desired, int success,
                             int failure, uintptr_t pc);
void atomic_fence(int order, uintptr_t pc);
void plain_access(const void* address, size_t bytes, bool write);

}  // namespace interleave
