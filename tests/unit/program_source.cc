// pages/program_source: which free pages beside the program's memory may be purged.
#include "pages/program_source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

namespace acre {
namespace {

constexpr size_t kSourceBytes = size_t{16} << 20;

// As a program's function: memory of which nobody knows what a purge would do.
void* from_program(void*, size_t bytes, size_t* actual, size_t alignment) {
  const size_t all = bytes + alignment + kSourceBytes;
  void* memory = mmap(nullptr, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  const Address start = align_up(address_of(memory), alignment);
  *actual = address_of(memory) + all - start;
  return pointer_to(start);
}
void* from_system(void*, size_t bytes, size_t* actual, size_t alignment) {
  return ProgramSource::map_system(bytes, actual, alignment);
}

void expect_range(const huge_pages::Range& range, Address start, Address end) {
  EXPECT_EQ(range.start, start);
  EXPECT_EQ(range.end, end);
}

// A free run may reach from an arena's own memory into the program's, where these are neighbours.
TEST(ProgramSourceTest, AFreeRunIsPurgedUpToTheProgramsMemoryAndFromItsEndOn) {
  static constinit ProgramSource source;
  source.use(ProgramSource::make(from_program, nullptr));
  const window::Chunk chunk = source.chunk(kSourceBytes);
  ASSERT_NE(chunk.start, 0u);
  const Address start = chunk.start, end = chunk.start + chunk.bytes;
  const size_t beside = kHugePageBytes;
  // The function gave more, which is another part: so it ends later than this chunk.
  const huge_pages::Range above = source.first_to_purge({start, start + (size_t{1} << 40)});
  EXPECT_GE(above.start, end);
  const Address last = above.start;

  expect_range(source.first_to_purge({start - beside, start}), start - beside, start);
  expect_range(source.first_to_purge({start - beside, start + beside}), start - beside, start);
  expect_range(source.first_to_purge({start - beside, last + beside}), start - beside, start);
  expect_range(source.first_to_purge({last - beside, last + beside}), last, last + beside);
  expect_range(source.first_to_purge({last, last + beside}), last, last + beside);
  const huge_pages::Range inside = source.first_to_purge({start, end});
  EXPECT_EQ(inside.start, inside.end);
}

TEST(ProgramSourceTest, WhatItGotFromTheSystemInItsTurnMayBePurged) {
  static constinit ProgramSource source;
  source.use(ProgramSource::make(from_system, nullptr));
  const window::Chunk chunk = source.chunk(kSourceBytes);
  ASSERT_NE(chunk.start, 0u);
  expect_range(source.first_to_purge({chunk.start, chunk.start + chunk.bytes}), chunk.start, chunk.start + chunk.bytes);
}

}  // namespace
}  // namespace acre
