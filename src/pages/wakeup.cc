#include "pages/wakeup.h"

#include "os/os.h"

namespace acre::wakeup {

constinit std::atomic<uint32_t> g_state{kAwake};

ACRE_COLD void wake() {
  if (g_state.exchange(kAwake) != kAwake) os::wake(g_state);
}

void listen() { g_state.store(kAsleep); }

bool sleep(uint64_t ms) {
  os::wait_while(g_state, kAsleep, ms);
  return g_state.exchange(kAwake) == kAwake;
}

void nap(uint64_t ms) {
  g_state.store(kNapping);
  os::wait_while(g_state, kNapping, ms);
  g_state.store(kAwake);
}

void close() { g_state.store(kAwake); }

}  // namespace acre::wakeup
