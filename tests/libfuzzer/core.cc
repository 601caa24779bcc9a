// Runs of blocks with their holders and bins, and page heaps, against the models of ../unit, which get their decisions
// from the fuzzer here.
#include "../unit/page_heap_fuzz.cc"
#include "../unit/slab_fuzz.cc"
#include "input.h"

namespace acre {
namespace {

fuzz::Input* g_input = nullptr;

// When the input has ended the numbers go on, since a model may look for one that fits.
uint64_t next_of_input(uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return g_input->empty() ? state : uint64_t{g_input->ConsumeIntegral<uint16_t>()} << 11;
}

template <class Model>
void run(Model& model) {
  while (!g_input->empty()) model.step();
  model.finish();
}

void one(fuzz::Input& input) {
  // One of each for all inputs: their memory never goes back.
  static PageHeap& heap = test::new_page_heap();
  static uint64_t now = 1;
  static constexpr size_t kSizes[] = {128, 1000, 4096, 9000, 20000, 32768};
  static Arena* const arenas[std::size(kSizes)] = {&test::new_arena(), &test::new_arena(), &test::new_arena(),
                                                   &test::new_arena(), &test::new_arena(), &test::new_arena()};
  g_input = &input;
  const size_t which = input.below(std::size(kSizes) + 2);
  if (which < std::size(kSizes)) {
    FuzzedSlab model(which, class_of_size(kSizes[which]), *arenas[which]);
    run(model);
  } else {
    FuzzedPageHeap model(which, heap, now);
    run(model);
    now = model.now();
  }
}

}  // namespace
}  // namespace acre

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  testing::FLAGS_gtest_throw_on_failure = true;  // which nobody catches
  acre::test::Random::from = acre::next_of_input;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  acre::fuzz::Input input(data, size);
  acre::one(input);
  return 0;
}
