// Which threads sleep for which locks. A fork in a signal handler looks for lock holders that cannot go on.
#pragma once

#include "base/thread_token.h"

namespace acre {

class Mutex;

// While it exists, the calling thread is listed as asleep for the lock. The list is short: a thread that finds it full
// is not listed, and a fork in a signal handler may then wait until an entry is free.
class Asleep {
 public:
  Asleep(const Mutex* lock, bool forks);
  ~Asleep();
  Asleep(const Asleep&) = delete;
  Asleep& operator=(const Asleep&) = delete;

 private:
  struct Sleeper* sleeper_ = nullptr;
};

// The locks that a thread sleeps for: two if a signal interrupted its sleep and the handler forks.
struct Awaited {
  const Mutex* by_fork = nullptr;
  const Mutex* otherwise = nullptr;
  const Mutex* now() const { return by_fork != nullptr ? by_fork : otherwise; }
};
Awaited awaited_by(ThreadToken thread);

// In the child of a fork, which has no other threads.
void forget_other_sleepers();

}  // namespace acre
