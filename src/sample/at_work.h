// Marks the threads that sample or report just now, so that their own allocations are neither sampled nor reported.
#pragma once

#include "base/thread_token.h"

namespace acre {

// Marks this thread as at work while the object lives. Does nothing in a thread that is at work already.
class AtWork {
 public:
  AtWork();
  ~AtWork();
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;
  bool is_inner() const { return place_ < 0; }

  // Removes the marks of the threads that do not exist in the child of a fork.
  static void after_fork_in_child();

 private:
  int place_ = -1;
};

}  // namespace acre
