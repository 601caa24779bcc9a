// gperftools' leak checker, which is acre's here.
#include <acre/leaks.h>
#include <gperftools/heap-checker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mutex>
#include <vector>

static_assert(sizeof(HeapLeakChecker) == 56, "as gperftools' header has it");

namespace {

constexpr unsigned kWholeProgram = 0;  // the section that began with it

std::mutex g_lock;
std::vector<HeapCleaner::void_function>* g_cleanups = nullptr;

// The first thread's destructors come before the check at the program's end. Cleaners are made before main, in that thread.
struct AtThreadsEnd {
  ~AtThreadsEnd() { HeapCleaner::RunHeapCleanups(); }
  bool is_made = false;
};
thread_local AtThreadsEnd t_at_end;

}  // namespace

bool HeapLeakChecker::IsActive() { return acre_leaks_active() != ACRE_LEAKS_OFF; }

HeapLeakChecker* HeapLeakChecker::GlobalChecker() {
  if (acre_leaks_active() != ACRE_LEAKS_AT_EXIT) return nullptr;
  static auto* const checker = new HeapLeakChecker;
  return checker;
}

bool HeapLeakChecker::NoGlobalLeaks() {
  HeapLeakChecker* const checker = GlobalChecker();
  if (checker == nullptr) return true;
  HeapCleaner::RunHeapCleanups();
  return checker->DoNoLeaks(DO_NOT_SYMBOLIZE);
}

void HeapLeakChecker::CancelGlobalCheck() { acre_leaks_cancel(); }

HeapLeakChecker::HeapLeakChecker()
    : name_(nullptr), section_(kWholeProgram), was_asked_(false), bytes_(-1), objects_(-1), reserved_() {}

HeapLeakChecker::HeapLeakChecker(const char* name) : HeapLeakChecker() {
  if (!IsActive()) return;
  name_ = strdup(name);
  section_ = acre_leaks_begin();
}

HeapLeakChecker::~HeapLeakChecker() {
  if (section_ != kWholeProgram && !was_asked_) {
    fprintf(stderr, "acre: HeapLeakChecker(\"%s\") is destroyed, and was never asked for leaks\n", name_ == nullptr ? "" : name_);
    abort();
  }
  free(name_);
}

ssize_t HeapLeakChecker::BytesLeaked() const { return bytes_; }
ssize_t HeapLeakChecker::ObjectsLeaked() const { return objects_; }

bool HeapLeakChecker::DoNoLeaks(ShouldSymbolize) {
  was_asked_ = true;
  size_t bytes = 0;
  objects_ = static_cast<ssize_t>(acre_leaks_end(section_, name_ == nullptr ? "the program" : name_, &bytes));
  bytes_ = objects_ < 0 ? -1 : static_cast<ssize_t>(bytes);
  return objects_ == 0;
}

void HeapLeakChecker::DoIgnoreObject(const void* object) {
  if (IsActive()) acre_leaks_ignore(object);
}
void HeapLeakChecker::UnIgnoreObject(const void* object) {
  if (IsActive()) acre_leaks_heed(object);
}

HeapLeakChecker::Disabler::Disabler() { acre_leaks_disable(); }
HeapLeakChecker::Disabler::~Disabler() { acre_leaks_enable(); }

HeapCleaner::HeapCleaner(void_function cleanup) {
  const std::lock_guard<std::mutex> lock(g_lock);
  if (g_cleanups == nullptr) g_cleanups = new std::vector<void_function>;
  g_cleanups->push_back(cleanup);
  t_at_end.is_made = true;
}

// None is called while the checker is off, as there.
void HeapCleaner::RunHeapCleanups() {
  if (!HeapLeakChecker::IsActive()) return;
  std::vector<void_function> cleanups;
  {
    const std::lock_guard<std::mutex> lock(g_lock);
    if (g_cleanups != nullptr) cleanups.swap(*g_cleanups);
  }
  for (const void_function cleanup : cleanups) cleanup();
}
