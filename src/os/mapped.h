// An object in pages of its own: for what is too large for some threads' stacks.
#pragma once

#include <new>

#include "os/os.h"

namespace acre::os {

template <class T>
class Mapped {
 public:
  template <class... Arguments>
  explicit Mapped(Arguments&&... arguments) : memory_(map(bytes())) {
    if (memory_ == nullptr) return;
    if constexpr (sizeof...(Arguments) == 0) new (memory_) T;  // what has no initial value is not touched
    else new (memory_) T(arguments...);
  }
  ~Mapped() {
    if (memory_ == nullptr) return;
    get()->~T();
    unmap(memory_, bytes());
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  T* get() const { return static_cast<T*>(memory_); }  // null: memory was refused
  T* operator->() const { return get(); }

 private:
  static size_t bytes() { return align_up(sizeof(T), page_bytes()); }

  void* memory_;
};

}  // namespace acre::os
