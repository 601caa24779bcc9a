// The start of every module, before the first thread has a heap.
#include <unistd.h>

#include <atomic>

#include "cache/direct.h"
#include "cache/registry.h"
#include "cache/upcalls.h"
#include "hardened/hardened.h"
#include "observe/fill.h"
#include "observe/hooks.h"
#include "observe/trace.h"
#include "os/os.h"
#include "pages/release_rate.h"
#include "pages/source.h"
#include "process/fork.h"
#include "reclaim/pressure.h"
#include "slab/unit_table.h"
#include "tables/options.h"

namespace acre {

namespace {

// kAwaited: other threads sleep until the start is over.
enum Stage : uint32_t { kNotStarted, kStarting, kAwaited, kStarted };
constinit std::atomic<uint32_t> g_stage{kNotStarted};

void start_modules() {
  os::find_clock();
  read_options(environ);
  if (options().name_mappings) os::name_mappings();
  if (!options().hardened) fill::start();  // whose free blocks are zero
  release_rate::set(options().release_rate);
  pressure::set_limits();
  const os::Secrets secrets = os::secrets();
  set_link_key(secrets.links);
  if (options().hardened) hardened::start(secrets);
  unit_table::initialise(secrets);
  direct::start();
  Source::start_automatic();
  registry::make_thread_key();
#if ACRE_GLIBC
  fork::start();
#endif
  if (options().utrace != 0) trace::start();
  if (options().record != 0) hooks::start_recording(path_of(options().record));
}

}  // namespace

void start_process() {
  if (g_stage.load(std::memory_order_acquire) == kStarted) return;
  uint32_t stage = kNotStarted;
  if (g_stage.compare_exchange_strong(stage, kStarting)) {
    start_modules();
    if (g_stage.exchange(kStarted) == kAwaited) os::wake(g_stage);
#if !ACRE_GLIBC
    fork::start();  // musl's pthread_atfork calls malloc, which would wait for the start
#endif
    return;
  }
  stage = kStarting;
  g_stage.compare_exchange_strong(stage, kAwaited);
  while (g_stage.load(std::memory_order_acquire) == kAwaited) os::wait_while(g_stage, kAwaited, UINT64_MAX);
}

}  // namespace acre
