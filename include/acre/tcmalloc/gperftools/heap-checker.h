/* gperftools' leak checker; what runs is acre's (docs/leaks.md). It is active where blocks are followed from the start: in
 * a program that runs under `acre run --leaks`, or with the option leaks. In others nothing is ever found. All functions
 * may be called from any thread, but from no signal handler.
 */
#ifndef BASE_HEAP_CHECKER_H_
#define BASE_HEAP_CHECKER_H_

#ifndef __cplusplus
#error "heap-checker.h is for C++; for C there is acre/leaks.h"
#endif

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL __attribute__((visibility("default")))
#endif

/* Checks the code between its making and the question: blocks that were allocated since, in whatever thread, and that
 * nothing leads to. One that is destroyed without having been asked ends the program, while the checker is active. */
class PERFTOOLS_DLL_DECL HeapLeakChecker {
 public:
  static bool IsActive();

  /* That of the whole program, which is asked at its end; always the same one, or NULL where sections alone are checked. */
  static HeapLeakChecker *GlobalChecker();
  /* Asks it now. At the end it is asked again. */
  static bool NoGlobalLeaks();
  /* It is not asked at the end any more. */
  static void CancelGlobalCheck();

  explicit HeapLeakChecker(const char *name);
  ~HeapLeakChecker();

  /* Are there no leaks? If there are, a report is written, and a line on stderr names it. One question under six names:
   * there is no report that is shorter, and acre compares no sums. A check that fails counts as leaks. */
  bool NoLeaks() { return DoNoLeaks(DO_NOT_SYMBOLIZE); }
  bool QuickNoLeaks() { return DoNoLeaks(DO_NOT_SYMBOLIZE); }
  bool BriefNoLeaks() { return DoNoLeaks(DO_NOT_SYMBOLIZE); }
  bool SameHeap() { return DoNoLeaks(DO_NOT_SYMBOLIZE); }
  bool QuickSameHeap() { return DoNoLeaks(DO_NOT_SYMBOLIZE); }
  bool BriefSameHeap() { return DoNoLeaks(DO_NOT_SYMBOLIZE); }

  /* Of the last question; -1 before it, and if it failed. */
  ssize_t BytesLeaked() const;
  ssize_t ObjectsLeaked() const;

  /* While one lives, what its thread allocates is no leak, nor is what it leads to. */
  class PERFTOOLS_DLL_DECL Disabler {
   public:
    Disabler();
    ~Disabler();

   private:
    Disabler(const Disabler &);
    void operator=(const Disabler &);
  };

  /* The block that this points at, or into, is no leak, nor is what it leads to. Returns its argument. */
  template <typename T>
  static T *IgnoreObject(T *object) {
    DoIgnoreObject(static_cast<const void *>(const_cast<const T *>(object)));
    return object;
  }
  static void UnIgnoreObject(const void *object);

 private:
  enum ShouldSymbolize { SYMBOLIZE, DO_NOT_SYMBOLIZE };
  HeapLeakChecker();
  HeapLeakChecker(const HeapLeakChecker &);
  void operator=(const HeapLeakChecker &);
  bool DoNoLeaks(ShouldSymbolize should_symbolize);
  static void DoIgnoreObject(const void *object);

  /* gperftools 2.10 has as many bytes. */
  char *name_;
  unsigned section_;
  bool was_asked_;
  ssize_t bytes_;
  ssize_t objects_;
  void *reserved_[3];
};

/* A pointer that the checker does not see. */
template <class T>
class HiddenPointer {
 public:
  explicit HiddenPointer(T *object) : hidden_(~reinterpret_cast<uintptr_t>(object)) {}
  T *get() const { return reinterpret_cast<T *>(~hidden_); }

 private:
  uintptr_t hidden_;
};

/* A function to be called, once, before the whole program is checked at its end. */
class PERFTOOLS_DLL_DECL HeapCleaner {
 public:
  typedef void (*void_function)(void);
  HeapCleaner(void_function cleanup);
  static void RunHeapCleanups();
};

#define REGISTER_HEAPCHECK_CLEANUP(name, body)                               \
  namespace {                                                                \
  void heapcheck_cleanup_##name() { body; }                                  \
  HeapCleaner heapcheck_cleaner_##name(&heapcheck_cleanup_##name);           \
  }

#endif
