// A global object whose destructor forgets its block: reachable before it runs, a leak after it.
// leaks normal: none
// leaks strict: 1 keep
#include "support.h"

namespace {

struct Forgetful {
  void* own = nullptr;
  ~Forgetful() { own = nullptr; }
} g_forgetful;

NOINLINE void keep() { g_forgetful.own = malloc(10); }

}  // namespace

int main() {
  LOSE(keep());
  return 0;
}
