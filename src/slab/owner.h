// Owners of runs. An owner is a thread cache during one *life*: from when a thread gets the cache to the thread's end.
#pragma once

#include "base/atomics.h"
#include "base/thread_token.h"

namespace acre {

// Names a life: the address of the cache's OwnerLives, and the number of the life in the low bits. A later life has the
// same name again after 63 others, so a name is a hint.
using OwnerName = uint64_t;
inline constexpr OwnerName kNoOwner = 0;

struct Owner {
  ThreadToken token = kNoThread;
  OwnerName name = kNoOwner;
};

// The lives of a thread cache, one after the other. Lies in memory that stays readable for ever.
class alignas(kCacheLine) OwnerLives {
 public:
  // The first life. Does nothing when there was one.
  void begin() {
    if (current_ == kNoOwner) relaxed_store(current_, address_of(this));
  }
  // Ends the life. The next one begins at once.
  void end() { relaxed_store(current_, address_of(this) | ((current_ + 1) & kLifeMask)); }

  OwnerName current() const { return current_; }

  // For any thread.
  static bool has_ended(OwnerName name) {
    return relaxed_load(reinterpret_cast<const OwnerLives*>(name & ~kLifeMask)->current_) != name;
  }

 private:
  static constexpr OwnerName kLifeMask = kCacheLine - 1;
  OwnerName current_ = kNoOwner;
};

}  // namespace acre
