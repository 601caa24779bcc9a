// HeapLeakChecker: only what was allocated in the section counts, and only there. The program checks it itself.
// leaks local: 2 lose
// linked
// section
#include "support.h"

#include <acre/leaks.hpp>

namespace {

NOINLINE void lose(int blocks, size_t bytes) {
  for (int i = 0; i < blocks; ++i) static_cast<void>(malloc(bytes));
}
void* kept;
NOINLINE void keep() { kept = malloc(10); }
NOINLINE void forget() { kept = nullptr; }
NOINLINE void lose_disabled() {
  acre::HeapLeakChecker::Disabler disabler;
  lose(1, 10);
}
NOINLINE void lose_ignored() { acre::HeapLeakChecker::IgnoreObject(malloc(10)); }

}  // namespace

int main() {
  LOSE(lose(5, 1000));
  LOSE(keep());
  {
    acre::HeapLeakChecker checker("no leaks");
    LOSE(forget());  // older than the section
    LOSE(keep());
    LOSE(lose_disabled());
    LOSE(lose_ignored());
    if (!checker.NoLeaks() || checker.ObjectsLeaked() != 0 || checker.BytesLeaked() != 0) return 1;
  }
  acre::HeapLeakChecker checker("two leaks");
  LOSE(lose(2, 112));
  if (checker.NoLeaks() || checker.ObjectsLeaked() != 2 || checker.BytesLeaked() != 224) return 2;
  return 0;
}
