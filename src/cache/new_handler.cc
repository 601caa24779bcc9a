#include "cache/new_handler.h"

#include <atomic>

namespace acre::new_handler {

static constinit std::atomic<Handler> g_handler{nullptr};

void set_handler(Handler handler) { g_handler.store(handler, std::memory_order_release); }
bool has_handler() { return g_handler.load(std::memory_order_relaxed) != nullptr; }

ACRE_COLD bool ask() {
  const Handler handler = g_handler.load(std::memory_order_acquire);
  return handler != nullptr && handler() != 0;
}

}  // namespace acre::new_handler
