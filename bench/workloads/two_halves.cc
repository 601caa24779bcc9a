// Buffers that shrink while half of them is always in use, after the program in the JeMalloc article: all
// empty places among 1024 get a buffer, then one half of the buffers is freed, in turns the left and the
// right one; so on with ever smaller buffers, from 100 KiB down. What was freed is always a little larger than
// what is wanted next: who cuts it up keeps the rest.
//
// The article's program goes down by a byte a round, and so for ten minutes, nearly all of them in memset.
// Here a round goes down by STEP bytes (step=1: the article's), and by more where there is less to do.
#include <algorithm>
#include <array>

#include "common.h"

namespace {

constexpr std::size_t kBuffers = 1024;
constexpr std::size_t kLargest = 100 * 1024;
constexpr unsigned long kStep = 256;

struct Buffer {
  unsigned char* data = nullptr;
  std::size_t size = 0;
};

class Halves {
 public:
  void fill(std::size_t size) {
    for (std::size_t at = 0; at < kBuffers; ++at) {
      Buffer& buffer = buffers_[at];
      if (buffer.data != nullptr) continue;
      buffer = {static_cast<unsigned char*>(bench::allocate(size)), size};
      std::memset(buffer.data, mark(at, size), size);
      ++allocations_;
    }
  }

  // Reads the buffers of one half back and frees them. -> their part of the checksum
  std::uint64_t empty(bool left) {
    const std::size_t first = left ? 0 : kBuffers / 2;
    std::uint64_t sum = 0;
    for (std::size_t at = first; at < first + kBuffers / 2; ++at) {
      Buffer& buffer = buffers_[at];
      if (buffer.data == nullptr) continue;
      sum += check(buffer, mark(at, buffer.size)) * (at + 1);
      bench::release(buffer.data);
      buffer = {};
    }
    return sum;
  }

  std::uint64_t allocations() const { return allocations_; }

 private:
  static unsigned char mark(std::size_t at, std::size_t size) {
    return static_cast<unsigned char>((at * 31 + size) | 1);
  }

  static std::uint64_t check(const Buffer& buffer, unsigned char mark) {
    bool intact = buffer.data[buffer.size - 1] == mark;
    for (std::size_t at = 0; at < buffer.size; at += bench::kPage) intact = intact && buffer.data[at] == mark;
    if (!intact) {
      std::fprintf(stderr, "a buffer of %zu bytes was overwritten\n", buffer.size);
      std::abort();
    }
    return buffer.size * mark;
  }

  std::array<Buffer, kBuffers> buffers_;
  std::uint64_t allocations_ = 0;
};

Halves halves;

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const unsigned long step = std::max(1ul, arguments.number("step", kStep) * 100 / arguments.percent);
  std::uint64_t sum = 0;
  bool left = false;
  for (std::size_t size = kLargest; size > 0; size -= std::min<std::size_t>(size, step)) {
    halves.fill(size);
    sum += halves.empty(left);
    left = !left;
  }
  sum += halves.empty(left);
  bench::count_operations(halves.allocations());
  return bench::report(sum);
}
