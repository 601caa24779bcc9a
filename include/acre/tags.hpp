// Accounting by tag (acre/tags.h) for C++17 and later: a tag, and a scope in which the tag is in force.
//
//     static const acre::tag parser("parser");
//     {
//         acre::tag_scope scope(parser);
//         …                                  // counts for "parser"
//     }
//     std::printf("%llu bytes\n", (unsigned long long)parser.live());
#ifndef ACRE_TAGS_HPP
#define ACRE_TAGS_HPP

#include <acre/tags.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace acre {

// A handle of a tag, as cheap to copy as a pointer. The tag stays when the handle goes.
class tag {
 public:
  // The tag of this name, which is made if there is none. Throws std::bad_alloc if that fails.
  explicit tag(const char* name) : handle_(acre_tag(name)) {
    if (handle_ == nullptr) throw std::bad_alloc();
  }
  explicit tag(acre_tag_t* handle) noexcept : handle_(handle) {}

  // The figures, in bytes but for `refused`; all 0 if the tag is gone.
  acre_tag_info info() const noexcept {
    acre_tag_info info = {};
    acre_tag_get(handle_, &info);
    return info;
  }
  std::uint64_t live() const noexcept { return info().live; }
  std::uint64_t allocated() const noexcept { return info().allocated; }
  std::uint64_t peak() const noexcept { return info().peak; }
  void limit(std::size_t bytes) const noexcept { acre_tag_limit(handle_, bytes); }
  // As acre_tag_drop: no handle of the tag may be used any more.
  void drop() const noexcept { acre_tag_drop(handle_); }
  acre_tag_t* handle() const noexcept { return handle_; }

 private:
  acre_tag_t* handle_;
};

// The tag is in force in the thread during the scope's life. The same thread has to end the scope. If the tag cannot be
// put in force, the tag that was in force before stays.
class tag_scope {
 public:
  explicit tag_scope(const tag& in_force) noexcept : tag_scope(in_force.handle()) {}
  explicit tag_scope(acre_tag_t* in_force) noexcept { acre_tag_enter(in_force); }
  explicit tag_scope(const char* name) noexcept { acre_tag_push(name); }
  // No tag is in force during the scope.
  explicit tag_scope(std::nullptr_t) noexcept : tag_scope(static_cast<acre_tag_t*>(nullptr)) {}
  ~tag_scope() { acre_tag_pop(); }
  tag_scope(const tag_scope&) = delete;
  tag_scope& operator=(const tag_scope&) = delete;
};

}  // namespace acre

#endif
