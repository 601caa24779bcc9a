// A script's blocks: what each of them has to hold, and what a refused request may look like.
//
// A request is refused with null and ENOMEM, and changes nothing; a request that succeeds leaves errno alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace acre::fake_os {

// Ends the child with a message.
[[noreturn]] void fail(const char* file, int line, const char* what);
#define FAKE_OS_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::acre::fake_os::fail(__FILE__, __LINE__, #condition))

class Blocks {
 public:
  void* allocate(size_t size);
  void* allocate_zeroed(size_t size);
  void* allocate_aligned(size_t alignment, size_t size);
  void* allocate_with(size_t size, int flags);  // of mallocx

  // Of the block at this place. False when refused: it is as it was.
  bool resize(size_t index, size_t size);
  bool resize_with(size_t index, size_t size, int flags);
  void free(size_t index);

  void check_all() const;
  void free_all();

  size_t count() const { return live_.size(); }
  size_t bytes() const { return bytes_; }
  size_t size_of(size_t index) const { return live_[index].size; }
  size_t refused() const { return refused_; }

  // Takes the other's blocks over.
  void take(Blocks& other);

 private:
  struct Block {
    unsigned char* start;
    size_t size;
    uint64_t tag;
  };

  void* add(void* memory, size_t size);
  bool replace(size_t index, size_t size, void* moved);
  static void fill(const Block& block);
  static void check(const Block& block, size_t size);

  std::vector<Block> live_;
  size_t bytes_ = 0;
  size_t refused_ = 0;
  uint64_t next_tag_ = 1;
};

}  // namespace acre::fake_os
