// The heap profiler and the leak checker, as they are while they are off: acre has neither. Programs that are linked
// with libtcmalloc.so refer to their names.
#include <acre/acre.h>
#include <gperftools/heap-profiler.h>
#include <sys/types.h>
#include <unistd.h>

extern "C" {

void HeapProfilerStart(const char*) {
  static const char kText[] = "acre: HeapProfilerStart: there is no heap profiler, and none is started\n";
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kText, sizeof kText - 1);
}
int IsHeapProfilerRunning() { return 0; }
void HeapProfilerStop() {}
void HeapProfilerDump(const char*) {}
char* GetHeapProfile() { return static_cast<char*>(acre_calloc(1, 1)); }

}  // extern "C"

// gperftools' heap-checker.h has the rest of these classes, and their fields, which nothing here touches.
class PERFTOOLS_DLL_DECL HeapLeakChecker {
 public:
  static bool IsActive();
  static HeapLeakChecker* GlobalChecker();
  static bool NoGlobalLeaks();
  static void CancelGlobalCheck();
  explicit HeapLeakChecker(const char* name);
  ~HeapLeakChecker();
  ssize_t BytesLeaked() const;
  ssize_t ObjectsLeaked() const;
  static void UnIgnoreObject(const void* ptr);

  class PERFTOOLS_DLL_DECL Disabler {
   public:
    Disabler();
    ~Disabler();
  };

 private:
  enum ShouldSymbolize { SYMBOLIZE, DO_NOT_SYMBOLIZE };
  bool DoNoLeaks(ShouldSymbolize should_symbolize);
  static void DoIgnoreObject(const void* ptr);
};

// Functions to be called before a check.
class PERFTOOLS_DLL_DECL HeapCleaner {
 public:
  explicit HeapCleaner(void (*cleanup)());
  static void RunHeapCleanups();
};

bool HeapLeakChecker::IsActive() { return false; }
HeapLeakChecker* HeapLeakChecker::GlobalChecker() { return nullptr; }
bool HeapLeakChecker::NoGlobalLeaks() { return true; }
void HeapLeakChecker::CancelGlobalCheck() {}
HeapLeakChecker::HeapLeakChecker(const char*) {}
HeapLeakChecker::~HeapLeakChecker() {}
ssize_t HeapLeakChecker::BytesLeaked() const { return 0; }
ssize_t HeapLeakChecker::ObjectsLeaked() const { return 0; }
bool HeapLeakChecker::DoNoLeaks(ShouldSymbolize) { return true; }
void HeapLeakChecker::DoIgnoreObject(const void*) {}
void HeapLeakChecker::UnIgnoreObject(const void*) {}
HeapLeakChecker::Disabler::Disabler() {}
HeapLeakChecker::Disabler::~Disabler() {}
HeapCleaner::HeapCleaner(void (*)()) {}
void HeapCleaner::RunHeapCleanups() {}
