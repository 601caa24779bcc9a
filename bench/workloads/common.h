// What every workload shares: seeded randomness, blocks that carry proof of their content, and the
// report at the end. Workloads call malloc and free, so that the allocator is whichever is preloaded.
#pragma once

#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace bench {

inline constexpr std::size_t kPage = 4096;

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 0x7f4a7c15u) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  std::uint32_t below(std::uint32_t bound) {
    return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
  }

  std::uint32_t between(std::uint32_t first, std::uint32_t last) { return first + below(last - first + 1); }

  // Sizes as programs ask for them: each doubling is as likely as any other.
  std::size_t log_size(unsigned first_bit, unsigned last_bit) {
    const std::size_t base = std::size_t{1} << between(first_bit, last_bit - 1);
    return base + below(static_cast<std::uint32_t>(base));
  }

 private:
  std::uint64_t state_;
};

// A block begins with its size and a tag, and has its last byte and one byte of every page in between
// derived from the tag. Smallest size: 16.
struct Block {
  std::uint64_t size;
  std::uint64_t tag;
};

inline Block* make_block(std::size_t size, std::uint64_t tag) {
  auto* block = static_cast<Block*>(std::malloc(size));
  if (block == nullptr) {
    std::fprintf(stderr, "no memory for %zu bytes\n", size);
    std::exit(1);
  }
  block->size = size;
  block->tag = tag;
  auto* bytes = reinterpret_cast<unsigned char*>(block);
  for (std::size_t at = kPage; at < size; at += kPage) bytes[at] = static_cast<unsigned char>(tag);
  if (size > sizeof(Block)) bytes[size - 1] = static_cast<unsigned char>(tag);
  return block;
}

// Reads a block back, frees it, and returns its part of the checksum.
inline std::uint64_t drop_block(Block* block) {
  if (block == nullptr) return 0;
  const std::size_t size = block->size;
  const std::uint64_t tag = block->tag;
  const auto* bytes = reinterpret_cast<const unsigned char*>(block);
  const auto mark = static_cast<unsigned char>(tag);
  bool intact = size <= sizeof(Block) || bytes[size - 1] == mark;
  for (std::size_t at = kPage; at < size; at += kPage) intact = intact && bytes[at] == mark;
  if (!intact) {
    std::fprintf(stderr, "a block of %zu bytes was overwritten\n", size);
    std::abort();
  }
  std::free(block);
  return tag * (size | 1);
}

struct Arguments {
  unsigned threads = 2;
  unsigned percent = 100;  // of the work

  unsigned long scaled(unsigned long work) const {
    const unsigned long part = work * percent / 100;
    return part > 0 ? part : 1;
  }
};

inline Arguments parse_arguments(int argc, char** argv) {
  Arguments arguments;
  if (argc > 1) arguments.threads = static_cast<unsigned>(std::atoi(argv[1]));
  if (argc > 2) arguments.percent = static_cast<unsigned>(std::atoi(argv[2]));
  if (argc > 3 || arguments.threads == 0 || arguments.percent == 0) {
    std::fprintf(stderr, "usage: %s [threads [percent of the work]]\n", argv[0]);
    std::exit(2);
  }
  return arguments;
}

// The runner reads these two lines: what was computed, and which object's malloc computed it.
inline int report(std::uint64_t checksum) {
  Dl_info info{};
  void* found = dlsym(RTLD_DEFAULT, "malloc");
  const char* object = found != nullptr && dladdr(found, &info) != 0 ? info.dli_fname : "?";
  std::printf("checksum %016llx\nmalloc %s\n", static_cast<unsigned long long>(checksum), object);
  return 0;
}

}  // namespace bench
