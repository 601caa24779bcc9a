// Memory from a function of the program that takes none back, as TCMalloc's SysAllocator. What it holds after a purge
// is not known: it may be a file's, shared, or made of huge pages. So it is never purged, unless the function got it
// from acre (map_system). A chunk that an arena gives up is kept for the next request.
#pragma once

#include <atomic>
#include <cstddef>

#include "pages/huge_pages.h"
#include "pages/window.h"

namespace acre {

class ProgramSource {
 public:
  // Returns memory at a multiple of alignment (a power of two), or null. *actual: its bytes, at least `bytes`.
  using Allocate = void* (*)(void* opaque, size_t bytes, size_t* actual, size_t alignment);

  struct Function {
    Allocate allocate;
    void* opaque;
  };
  // Null: memory is refused. The result is never freed, since a thread may be about to call it.
  static const Function* make(Allocate allocate, void* opaque);

  void use(const Function* function) { function_.store(function, std::memory_order_release); }
  bool is_in_use() const { return function_.load(std::memory_order_acquire) != nullptr; }
  const void* argument() const {
    const Function* function = function_.load(std::memory_order_acquire);
    return function == nullptr ? nullptr : function->opaque;
  }

  // As window::allocate.
  window::Chunk chunk(size_t bytes);

  // Returns false if the chunk is not from this source.
  bool take_back(const window::Chunk& chunk);

  // The first part of the range that may be purged, or an empty range. Takes no lock.
  huge_pages::Range first_to_purge(huge_pages::Range range) const;

  // For the program's function: anonymous memory, which acre may purge.
  static void* map_system(size_t bytes, size_t* actual, size_t alignment);

 private:
  // A piece of what the function gave. It stays on the list.
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
