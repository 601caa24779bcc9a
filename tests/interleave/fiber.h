// A stack of its own for each thread of a scenario, and the switch between them.
#pragma once

#include <cstddef>

namespace interleave {

class Fiber {
 public:
  // Begins anew: `entry` runs at the next switch to it, and must not return.
  void begin(void (*entry)());
  // Leaves `from`, which goes on when somebody switches to it.
  static void change(Fiber& from, Fiber& to);

 private:
  static constexpr size_t kStackBytes = size_t{128} << 10;
  void* stack_pointer_ = nullptr;
  char* stack_ = nullptr;
};

}  // namespace interleave
