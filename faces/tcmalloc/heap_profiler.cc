// gperftools' heap profiler, which is acre's here.
#include <acre/acre.h>
#include <acre/jemalloc.h>
#include <gperftools/heap-profiler.h>
#include <gperftools/malloc_extension.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include <mutex>
#include <string>

namespace {

std::mutex g_lock;
std::string* g_prefix = nullptr;  // of the files; kept for good
int g_written = 0;

bool set_active(bool on) { return acre_mallctl("prof.active", nullptr, nullptr, &on, sizeof on) == 0; }

std::string next_name() {
  const std::lock_guard<std::mutex> lock(g_lock);
  if (g_prefix == nullptr) return {};
  char end[32];
  snprintf(end, sizeof end, ".%04d.heap", ++g_written);
  return *g_prefix + end;
}

}  // namespace

extern "C" {

void HeapProfilerStart(const char* prefix) {
  {
    const std::lock_guard<std::mutex> lock(g_lock);
    if (g_prefix == nullptr) g_prefix = new std::string;
    *g_prefix = prefix == nullptr ? "" : prefix;
  }
  if (!set_active(true)) fprintf(stderr, "acre: HeapProfilerStart: no memory for the heap profiler\n");
}

int IsHeapProfilerRunning() {
  bool on = false;
  size_t size = sizeof on;
  return acre_mallctl("prof.active", &on, &size, nullptr, 0) == 0 && on;
}

void HeapProfilerStop() {
  if (IsHeapProfilerRunning()) set_active(false);
}

void HeapProfilerDump(const char* reason) {
  if (!IsHeapProfilerRunning()) return;
  const std::string name = next_name();
  if (name.empty()) return;
  const char* path = name.c_str();
  const bool done = acre_mallctl("prof.dump", nullptr, nullptr, &path, sizeof path) == 0;
  fprintf(stderr, "acre: the heap profile (%s) %s %s\n", reason == nullptr ? "" : reason,
          done ? "is written to" : "could not be written to", path);
}

// While none runs, as there, an empty text.
char* GetHeapProfile() {
  std::string text;
  if (IsHeapProfilerRunning()) MallocExtension::instance()->GetHeapSample(&text);
  auto* copy = static_cast<char*>(acre_malloc(text.size() + 1));
  if (copy != nullptr) memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // extern "C"
