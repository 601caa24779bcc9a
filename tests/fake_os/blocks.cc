#include "blocks.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "../unit/support.h"
#include "acre/acre.h"
#include "sample/profile.h"

namespace acre::fake_os {

namespace {

// Small blocks are sampled in every byte, larger ones at both ends and in up to so many pages.
constexpr size_t kCheckedWhole = 512;
constexpr size_t kEdge = 64;
constexpr size_t kCheckedPages = 64;

template <class Visit>
void each_checked_byte(size_t size, Visit visit) {
  if (size <= kCheckedWhole) {
    for (size_t i = 0; i < size; ++i) visit(i);
    return;
  }
  const size_t step = larger(kPageBytes, align_up(size / kCheckedPages, kPageBytes));
  for (size_t i = 0; i < kEdge; ++i) visit(i);
  for (size_t i = kEdge; i < size - kEdge; i += step) visit(i);
  for (size_t i = size - kEdge; i < size; ++i) visit(i);
}

unsigned char expected_byte(uint64_t tag, size_t i) {
  return static_cast<unsigned char>((tag * 0x9e3779b97f4a7c15 + i * 0x100000001b3) >> 32);
}

bool zeroed(const unsigned char* start, size_t size) {
  if (size <= size_t{1} << 20) return test::all_zero(start, size);
  bool zero = true;
  each_checked_byte(size, [&](size_t i) { zero &= start[i] == 0; });
  return zero;
}

// Calls acre with a known errno, and looks at it afterwards.
template <class Request>
void* request(Request make) {
  errno = 0;
  void* result = make();
  FAKE_OS_CHECK(errno == (result == nullptr ? ENOMEM : 0));
  return result;
}

}  // namespace

void fail(const char* file, int line, const char* what) {
  char text[512];
  const int size = snprintf(text, sizeof text, "%s:%d: %s does not hold, errno %d\n", file, line, what, errno);
  if (write(2, text, static_cast<size_t>(size)) < 0) _exit(2);
  _exit(1);
}

void Blocks::fill(const Block& block) {
  each_checked_byte(block.size, [&](size_t i) { block.start[i] = expected_byte(block.tag, i); });
}

// Up to `size` bytes of what fill left there.
void Blocks::check(const Block& block, size_t size) {
  each_checked_byte(block.size, [&](size_t i) {
    if (i < size) FAKE_OS_CHECK(block.start[i] == expected_byte(block.tag, i));
  });
}

void* Blocks::add(void* memory, size_t size) {
  if (memory == nullptr) {
    ++refused_;
    return nullptr;
  }
  FAKE_OS_CHECK(acre_malloc_usable_size(memory) >= size);
  live_.push_back({static_cast<unsigned char*>(memory), size, next_tag_++});
  fill(live_.back());
  bytes_ += size;
  return memory;
}

void* Blocks::allocate(size_t size) {
  return add(request([=] { return acre_malloc(size); }), size);
}

void* Blocks::allocate_zeroed(size_t size) {
  void* memory = request([=] { return acre_calloc(1, size); });
  FAKE_OS_CHECK(memory == nullptr || zeroed(static_cast<unsigned char*>(memory), size));
  return add(memory, size);
}

void* Blocks::allocate_with(size_t size, int flags) {
  void* block = request([=] { return acre_mallocx(size, flags); });
  if (block != nullptr) {
    // Of a manual arena a sampled block takes whole pages.
    const size_t bytes = acre_sallocx(block, 0), expected = acre_nallocx(size, flags);
    FAKE_OS_CHECK(bytes == expected || (profile::is_prepared() && bytes == align_up(expected, kPageBytes)));
    FAKE_OS_CHECK((flags & 0x40) == 0 || zeroed(static_cast<unsigned char*>(block), acre_sallocx(block, 0)));
  }
  return add(block, size);
}

void* Blocks::allocate_aligned(size_t alignment, size_t size) {
  void* memory = request([=] { return acre_memalign(alignment, size); });
  FAKE_OS_CHECK(is_aligned(address_of(memory), alignment));
  return add(memory, size);
}

bool Blocks::resize(size_t index, size_t size) {
  return replace(index, size, request([&] { return acre_realloc(live_[index].start, size); }));
}

bool Blocks::resize_with(size_t index, size_t size, int flags) {
  return replace(index, size, request([&] { return acre_rallocx(live_[index].start, size, flags); }));
}

bool Blocks::replace(size_t index, size_t size, void* moved) {
  Block& block = live_[index];
  if (moved == nullptr) {
    ++refused_;
    check(block, block.size);
    return false;
  }
  block.start = static_cast<unsigned char*>(moved);
  check(block, size);
  bytes_ += size - block.size;
  block.size = size;
  block.tag = next_tag_++;
  fill(block);
  return true;
}

void Blocks::free(size_t index) {
  Block block = live_[index];
  check(block, block.size);
  live_[index] = live_.back();
  live_.pop_back();
  bytes_ -= block.size;
  errno = 0;
  acre_free(block.start);
  FAKE_OS_CHECK(errno == 0);
}

void Blocks::check_all() const {
  for (const Block& block : live_) check(block, block.size);
}

void Blocks::free_all() {
  // The middle first, so that both neighbours of a run are freed after it and before it.
  while (!live_.empty()) free(live_.size() / 2);
}

void Blocks::take(Blocks& other) {
  live_.insert(live_.end(), other.live_.begin(), other.live_.end());
  bytes_ += other.bytes_;
  refused_ += other.refused_;
  other = Blocks{};
}

}  // namespace acre::fake_os
