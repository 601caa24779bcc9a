// What the targets share: the fuzzer's bytes as decisions, and a check that ends the program so that libFuzzer keeps the
// input.
#ifndef ACRE_TESTS_LIBFUZZER_INPUT_H
#define ACRE_TESTS_LIBFUZZER_INPUT_H

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#define HOLDS(condition)                                                                       \
  do {                                                                                         \
    if (!(condition)) {                                                                        \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition);       \
      std::abort();                                                                            \
    }                                                                                          \
  } while (0)

namespace acre::fuzz {

class Input : public FuzzedDataProvider {
 public:
  using FuzzedDataProvider::FuzzedDataProvider;
  size_t below(size_t bound) { return ConsumeIntegralInRange<size_t>(0, bound - 1); }
  size_t between(size_t least, size_t most) { return ConsumeIntegralInRange<size_t>(least, most); }
  bool one_in(size_t n) { return below(n) == n - 1; }
  std::string text(size_t most) { return ConsumeRandomLengthString(most); }
  bool empty() { return remaining_bytes() == 0; }
};

// The first byte names a part, which gets the rest.
template <size_t N>
void run_one(void (*const (&parts)[N])(Input&), const uint8_t* data, size_t size) {
  if (size == 0) return;
  Input input(data + 1, size - 1);
  parts[data[0] % N](input);
}

}  // namespace acre::fuzz

#endif
