// A hook for address space that comes from the system: the heap profiler records the stacks that asked for it.
#pragma once

#include <atomic>
#include <cstddef>

#include "base/compiler.h"

namespace acre::on_growth {

// Called by the thread that got it, with no lock held, in the middle of an allocation. It must not allocate.
using Hook = void (*)(size_t bytes);
inline constinit std::atomic<Hook> g_hook ACRE_HIDDEN{nullptr};

inline void tell(size_t bytes) {
  const Hook hook = g_hook.load(std::memory_order_acquire);
  if (ACRE_UNLIKELY(hook != nullptr)) hook(bytes);
}

}  // namespace acre::on_growth
