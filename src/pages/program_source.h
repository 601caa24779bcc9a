// Memory from a function of the program's that gives and takes nothing back, as TCMalloc's SysAllocator.
//
// What it holds after a purge nobody knows: it may be a file's, shared, or of huge pages. So its pages are never purged,
// unless it is memory that the function got from acre in its turn (map_system). A chunk that an arena gives up is kept for
// the next one that is wanted.
#pragma once

#include <atomic>
#include <cstddef>

#include "pages/huge_pages.h"
#include "pages/window.h"

namespace acre {

class ProgramSource {
 public:
  // bytes at a multiple of alignment (a power of two), or null. *actual: so many are there, at least bytes.
  using Allocate = void* (*)(void* opaque, size_t bytes, size_t* actual, size_t alignment);

  struct Function {
    Allocate allocate;
    void* opaque;
  };
  // Null: memory is refused. It stays: a thread may be about to call it when another one is used.
  static const Function* make(Allocate allocate, void* opaque);

  // From now on; null: none.
  void use(const Function* function) { function_.store(function, std::memory_order_release); }
  bool is_in_use() const { return function_.load(std::memory_order_acquire) != nullptr; }

  // As window::allocate.
  window::Chunk chunk(size_t bytes);

  // False: the chunk is none of this source's.
  bool take_back(const window::Chunk& chunk);

  // The first part of these addresses without pages that must not be purged; empty if there is none. Takes no lock.
  huge_pages::Range first_to_purge(huge_pages::Range range) const;

  // For the program's function: anonymous memory, which may be purged.
  static void* map_system(size_t bytes, size_t* actual, size_t alignment);

 private:
  // Of what the function gave; it stays on the list.
  struct Part {
    Address start;
    size_t bytes;
    bool may_be_purged;
    std::atomic<bool> taken;
    Part* next;
  };

  Part* take_spare(size_t bytes);
  bool get(size_t bytes, size_t alignment);
  void add_parts(Address start, Address end);

  std::atomic<const Function*> function_{nullptr};
  std::atomic<Part*> parts_{nullptr};
};

}  // namespace acre
