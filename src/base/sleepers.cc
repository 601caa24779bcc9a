#include "base/sleepers.h"

#include <atomic>

namespace acre {

struct Sleeper {
  std::atomic<ThreadToken> thread{kNoThread};
  std::atomic<const Mutex*> lock{nullptr};
  std::atomic<bool> forks{false};
};

namespace {

constexpr unsigned kMostSleepers = 256;
constinit Sleeper g_sleepers[kMostSleepers];

}  // namespace

Asleep::Asleep(const Mutex* lock, bool forks) {
  for (Sleeper& sleeper : g_sleepers) {
    ThreadToken nobody = kNoThread;
    if (sleeper.thread.load(std::memory_order_relaxed) != kNoThread) continue;
    if (!sleeper.thread.compare_exchange_strong(nobody, this_thread())) continue;
    sleeper.forks.store(forks);
    sleeper.lock.store(lock);
    sleeper_ = &sleeper;
    return;
  }
}

Asleep::~Asleep() {
  if (sleeper_ == nullptr) return;
  sleeper_->lock.store(nullptr);
  sleeper_->thread.store(kNoThread);
}

Awaited awaited_by(ThreadToken thread) {
  Awaited awaited;
  for (const Sleeper& sleeper : g_sleepers) {
    if (sleeper.thread.load() != thread) continue;
    const bool forks = sleeper.forks.load();
    if (const Mutex* lock = sleeper.lock.load()) (forks ? awaited.by_fork : awaited.otherwise) = lock;
  }
  return awaited;
}

void forget_other_sleepers() {
  for (Sleeper& sleeper : g_sleepers) {
    if (sleeper.thread.load(std::memory_order_relaxed) != this_thread()) sleeper.thread.store(kNoThread);
  }
}

}  // namespace acre
