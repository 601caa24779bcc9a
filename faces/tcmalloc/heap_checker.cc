// gperftools' leak checker, which is acre's here.
#include <acre/jemalloc.h>
#include <acre/leaks.h>
#include <gperftools/heap-checker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mutex>
#include <new>
#include <vector>

static_assert(sizeof(HeapLeakChecker) == 56, "as gperftools' header has it");

namespace {

constexpr unsigned kWholeProgram = 0;  // the section that began with it

std::mutex g_lock;
std::mutex g_check;  // one at a time: another one that is under way makes a check fail
std::vector<HeapCleaner::void_function>* g_cleanups = nullptr;

bool is_whole_program_checked() { return acre_leaks_active() == ACRE_LEAKS_AT_EXIT; }

// In its minimal and normal modes acre looks when the first thread's variables are destroyed, before all handlers.
bool is_checked_before_handlers() {
  const char* mode = "";
  size_t size = sizeof mode;
  return acre_mallctl("opt.leaks", &mode, &size, nullptr, 0) == 0 && (!strcmp(mode, "minimal") || !strcmp(mode, "normal"));
}

// Cleaners are made before main, in the first thread, after the variable of acre's that looks: so this one goes before it.
struct AtThreadsEnd {
  ~AtThreadsEnd() {
    if (getpid() == gettid() && is_checked_before_handlers()) HeapCleaner::RunHeapCleanups();
  }
  bool is_made = false;
};
thread_local AtThreadsEnd t_at_end;

// In the other modes, and where another thread ends the program, it looks when its library ends, which is after this.
__attribute__((destructor)) void at_end() { HeapCleaner::RunHeapCleanups(); }

}  // namespace

bool HeapLeakChecker::IsActive() { return acre_leaks_active() != ACRE_LEAKS_OFF; }

HeapLeakChecker* HeapLeakChecker::GlobalChecker() {
  if (!is_whole_program_checked()) return nullptr;
  alignas(HeapLeakChecker) static char place[sizeof(HeapLeakChecker)];  // it is never destroyed
  static auto* const checker = new (place) HeapLeakChecker;
  return checker;
}

bool HeapLeakChecker::NoGlobalLeaks() {
  HeapLeakChecker* const checker = GlobalChecker();
  return checker == nullptr || checker->DoNoLeaks(DO_NOT_SYMBOLIZE);
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
  if (section_ != kWholeProgram && !was_asked_ && IsActive()) {
    fprintf(stderr, "acre: HeapLeakChecker(\"%s\") is destroyed, and was never asked for leaks\n", name_ == nullptr ? "" : name_);
    abort();
  }
  free(name_);
}

ssize_t HeapLeakChecker::BytesLeaked() const { return bytes_; }
ssize_t HeapLeakChecker::ObjectsLeaked() const { return objects_; }

bool HeapLeakChecker::DoNoLeaks(ShouldSymbolize) {
  const std::lock_guard<std::mutex> lock(g_check);
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
  const HeapLeakChecker::Disabler quiet;  // the list is no leak, in draconian mode neither
  if (g_cleanups == nullptr) g_cleanups = new std::vector<void_function>;
  g_cleanups->push_back(cleanup);
  t_at_end.is_made = true;
}

// None is called where the whole program is not checked, as there.
void HeapCleaner::RunHeapCleanups() {
  if (!is_whole_program_checked()) return;
  std::vector<void_function> cleanups;
  {
    const std::lock_guard<std::mutex> lock(g_lock);
    if (g_cleanups != nullptr) cleanups.swap(*g_cleanups);
  }
  for (const void_function cleanup : cleanups) cleanup();
}
