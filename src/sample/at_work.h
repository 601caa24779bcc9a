// Which threads are at work for a sampler just now, so that what such work allocates is not seen again.
#pragma once

#include "base/thread_token.h"

namespace acre {

// For the time of its life this thread is at work. Not if it was before: the inner one does nothing.
class AtWork {
 public:
  AtWork();
  ~AtWork();
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
  bool is_inner() const { return place_ < 0; }

  // In the child of a fork only the calling thread exists.
  static void after_fork_in_child();

 private:
  int place_ = -1;
};

}  // namespace acre
