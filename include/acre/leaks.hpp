// The leak checker (acre/leaks.h) for C++11 and later, with the names that gperftools gave them.
//
//     acre::HeapLeakChecker checker("parse");
//     parse(input);
//     assert(checker.NoLeaks());
#ifndef ACRE_LEAKS_HPP
#define ACRE_LEAKS_HPP

#include <acre/leaks.h>

#include <cassert>
#include <string>

namespace acre {

// Checks the code between its construction and NoLeaks(): blocks that any thread has allocated since, and that no
// pointer leads to (acre_leaks_end). Destroying a checker without a call of NoLeaks() is an error, as with gperftools.
class HeapLeakChecker {
 public:
  explicit HeapLeakChecker(const char* name) : name_(name), section_(acre_leaks_begin()) {}
  ~HeapLeakChecker() { assert(checked_); }
  HeapLeakChecker(const HeapLeakChecker&) = delete;
  HeapLeakChecker& operator=(const HeapLeakChecker&) = delete;

  // Returns true if there are no leaks. A check that fails counts as leaks: false, and ObjectsLeaked() is -1. The other
  // threads are stopped for a moment.
  bool NoLeaks() {
    checked_ = true;
    leaked_ = acre_leaks_end(section_, name_.c_str(), &bytes_);
    return leaked_ == 0;
  }
  long long ObjectsLeaked() const { return leaked_; }
  std::size_t BytesLeaked() const { return bytes_; }

  // While a Disabler lives, what its thread allocates is no leak, nor is what that leads to.
  class Disabler {
   public:
    Disabler() { acre_leaks_disable(); }
    ~Disabler() { acre_leaks_enable(); }
    Disabler(const Disabler&) = delete;
    Disabler& operator=(const Disabler&) = delete;
  };

  // As acre_leaks_ignore and acre_leaks_heed.
  template <class T>
  static T* IgnoreObject(T* p) {
    acre_leaks_ignore(p);
    return p;
  }
  static void UnIgnoreObject(const void* p) { acre_leaks_heed(p); }

 private:
  std::string name_;
  unsigned section_;
  bool checked_ = false;
  long long leaked_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace acre

#endif
