// Which threads sleep for locks: a fork in a signal handler looks for holders that cannot go on.
#pragma once

#include "base/thread_token.h"

namespace acre {

class Mutex;

// The calling thread sleeps for the lock while this exists. There are so many places; who finds none sleeps without, and
// such a fork may wait for it until a place is free.
class Asleep {
 public:
  Asleep(const Mutex* lock, bool forks);
  ~Asleep();
  Asleep(const Asleep&) = delete;
  Asleep& operator=(const Asleep&) = delete;

 private:
  struct Sleeper* sleeper_ = nullptr;
};

// What a thread sleeps for: for two locks, where a signal has interrupted its sleep and the handler forks.
struct Awaited {
  const Mutex* by_fork = nullptr;
  const Mutex* otherwise = nullptr;
  const Mutex* now() const { return by_fork != nullptr ? by_fork : otherwise; }
};
Awaited awaited_by(ThreadToken thread);

// In the child of a fork, which has none of the others.
void forget_other_sleepers();

}  // namespace acre
