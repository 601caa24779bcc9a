// Heaps (acre/heap.h) for C++17 and later: an owner, an allocator for containers, and a std::pmr::memory_resource.
// Threads may use them as acre/heap.h says.
//
//     acre::heap heap;
//     std::vector<int, acre::heap_allocator<int>> numbers(heap);
//     acre::heap_resource resource(heap);
//     std::pmr::string text("…", &resource);
//
// When a heap is reset or destroyed, its blocks are freed, but no destructor of objects in them runs.
#ifndef ACRE_HEAP_HPP
#define ACRE_HEAP_HPP

#include <acre/acre.h>
#include <acre/heap.h>

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <new>

namespace acre {

// Owns a heap. The constructors throw std::bad_alloc if the heap cannot be created. A heap that another was
// constructed from by a move may only be destroyed or assigned to; a move assignment swaps the two.
class heap {
 public:
  heap() : heap(nullptr, 0) {}
  explicit heap(const acre_heap_settings& settings) : heap(&settings, 0) {}
  ~heap() { if (handle_ != nullptr) acre_heap_destroy(handle_); }
  heap(heap&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  heap& operator=(heap&& other) noexcept {
    acre_heap_t* handle = handle_;
    handle_ = other.handle_;
    other.handle_ = handle;
    return *this;
  }
  heap(const heap&) = delete;
  heap& operator=(const heap&) = delete;

  // Throws std::bad_alloc when memory is refused or the heap's limit is reached.
  void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    void* block = alignment <= alignof(std::max_align_t) ? acre_heap_malloc(handle_, bytes)
                                                         : acre_heap_aligned_alloc(handle_, alignment, bytes);
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  // Frees a block of any heap.
  static void deallocate(void* block) noexcept { acre_free(block); }

  // As acre_heap_reset and acre_heap_bytes.
  void reset() { acre_heap_reset(handle_); }
  std::size_t bytes() const { return acre_heap_bytes(handle_); }
  acre_heap_t* handle() const { return handle_; }

 private:
  heap(const acre_heap_settings* settings, int) : handle_(acre_heap_create(settings)) {
    if (handle_ == nullptr) throw std::bad_alloc();
  }

  acre_heap_t* handle_;
};

// An allocator for containers. The heap has to outlive the allocated blocks. Allocators of the same acre::heap are
// equal. Containers take their allocator along when they are moved or swapped.
template <class T>
class heap_allocator {
 public:
  using value_type = T;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;

  heap_allocator(heap& from) noexcept : heap_(&from) {}
  template <class U>
  heap_allocator(const heap_allocator<U>& other) noexcept : heap_(other.from()) {}

  T* allocate(std::size_t count) {
    if (count > PTRDIFF_MAX / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(heap_->allocate(count * sizeof(T), alignof(T)));
  }
  void deallocate(T* block, std::size_t) noexcept { heap::deallocate(block); }
  heap* from() const noexcept { return heap_; }

  template <class U>
  bool operator==(const heap_allocator<U>& other) const noexcept { return heap_ == other.from(); }
  template <class U>
  bool operator!=(const heap_allocator<U>& other) const noexcept { return heap_ != other.from(); }

 private:
  heap* heap_;
};

// A memory resource over a heap, which has to outlive the resource.
class heap_resource : public std::pmr::memory_resource {
 public:
  explicit heap_resource(heap& from) noexcept : heap_(&from) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override { return heap_->allocate(bytes, alignment); }
  void do_deallocate(void* block, std::size_t, std::size_t) override { heap::deallocate(block); }
  // Any heap's resource can free the blocks of another's.
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other || dynamic_cast<const heap_resource*>(&other) != nullptr;
  }

  heap* heap_;
};

}  // namespace acre

#endif
