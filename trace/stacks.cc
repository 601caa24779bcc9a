#include "stacks.h"

#include <algorithm>
#include <cmath>

namespace acre::trace {

double blocks_of_a_sample(uint64_t size, uint32_t every) {
  return every <= 1 ? 1 : -1 / std::expm1(-std::max(static_cast<double>(size), 1.0) / every);
}

Stacks::Stacks(Reader& reader, const Order& order) : order_(order) {
  std::vector<uint8_t> payload;
  for (const Chunk& chunk : reader.chunks()) {
    if (chunk.header.type != ChunkType::kStacks || !reader.read(chunk, payload)) continue;
    Decoder decoder;
    decoder.begin(payload, 0, 0);
    for (Event event; decoder.next(event);) {
      if (event.what == What::kStackIs) of_[chunk.header.process][event.numbers[0]] = event.list;
    }
  }
}

const Stacks::Frames& Stacks::frames(uint32_t process, uint64_t number) const {
  static const Frames kUnknown;
  for (;;) {
    if (const auto found = of_.find(process); found != of_.end()) {
      if (const auto stack = found->second.find(number); stack != found->second.end()) return stack->second;
    }
    const auto facts = order_.processes().find(process);
    if (facts == order_.processes().end() || facts->second.parent >= process) return kUnknown;  // parents come first
    process = facts->second.parent;
  }
}

}  // namespace acre::trace
