// What every workload shares: seeded randomness, blocks that carry proof of their content, arguments, and
// the report at the end. Workloads call malloc and free, so that the allocator is whichever is preloaded.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "report.h"

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

// malloc and free, timed one by one where a workload is built to show latencies (report.h).
inline void* allocate(std::size_t size) {
  const Stopwatch watch;
  void* block = std::malloc(size);
  watch.stop();
  if (block == nullptr) {
    std::fprintf(stderr, "no memory for %zu bytes\n", size);
    std::exit(1);
  }
  return block;
}

inline void release(void* block) {
  const Stopwatch watch;
  std::free(block);
  watch.stop();
}

// A block begins with its size and a tag, and has its last byte and one byte of every page in between
// derived from the tag. Smallest size: 16.
struct Block {
  std::uint64_t size;
  std::uint64_t tag;
};

inline Block* make_block(std::size_t size, std::uint64_t tag) {
  auto* block = static_cast<Block*>(allocate(size));
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
  release(block);
  return tag * (size | 1);
}

// PROGRAM THREADS PERCENT [NAME=NUMBER…]: PERCENT is how much of the work is done.
class Arguments {
 public:
  unsigned threads = 2;
  unsigned percent = 100;

  Arguments(int argc, char** argv) : count_(argc), words_(argv) {
    if (argc > 1) threads = static_cast<unsigned>(std::atoi(argv[1]));
    if (argc > 2) percent = static_cast<unsigned>(std::atoi(argv[2]));
    bool understood = threads > 0 && percent > 0;
    for (int at = 3; at < argc; ++at) understood = understood && std::strchr(argv[at], '=') != nullptr;
    if (!understood) {
      std::fprintf(stderr, "usage: %s [THREADS [PERCENT-OF-THE-WORK [NAME=VALUE...]]]\n", argv[0]);
      std::exit(2);
    }
  }

  // The text behind NAME=, or the default.
  const char* text(const char* name, const char* otherwise) const {
    const std::size_t length = std::strlen(name);
    for (int at = 3; at < count_; ++at) {
      if (std::strncmp(words_[at], name, length) == 0 && words_[at][length] == '=') {
        return words_[at] + length + 1;
      }
    }
    return otherwise;
  }

  unsigned long number(const char* name, unsigned long otherwise) const {
    const char* value = text(name, nullptr);
    return value != nullptr ? std::strtoul(value, nullptr, 0) : otherwise;
  }

  unsigned long scaled(unsigned long work) const {
    const unsigned long part = work * percent / 100;
    return part > 0 ? part : 1;
  }

 private:
  int count_;
  char** words_;
};

}  // namespace bench
