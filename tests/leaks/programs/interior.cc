// Pointers into blocks: array cookies, second bases, offsets, and tags in low bits.
// leaks normal: none
#include "support.h"

namespace {

struct Counted {
  ~Counted() { ++destroyed; }
  static int destroyed;
  int value = 0;
};
int Counted::destroyed = 0;

struct First {
  virtual ~First() = default;
  int more[10] = {};
};
struct Second {
  virtual ~Second() = default;
};
struct Both : First, Second {};

Counted* array;
Second* second;
char* middle;
char* end_of_large;
uintptr_t tagged;

NOINLINE void keep() {
  array = new Counted[5];
  second = new Both;
  middle = static_cast<char*>(malloc(1000)) + 500;
  end_of_large = static_cast<char*>(malloc(1 << 20)) + (1 << 20) - 1;
  tagged = reinterpret_cast<uintptr_t>(malloc(64)) | 3;
}

}  // namespace

int main() {
  LOSE(keep());
  return 0;
}
