// The functions of include/acre/jemalloc.h, and their twins.
#include "acre/jemalloc.h"

#include <unistd.h>

#include "base/compiler.h"
#include "control/ctl.h"
#include "control/statistics.h"
#include "heap/registry.h"

using namespace acre;

#if !ACRE_PREFIX_ONLY
// A program may have its own of them, in the place of these; settings.cc reads malloc_conf.
extern "C" {
ACRE_EXPORT __attribute__((weak)) void (*malloc_message)(void* opaque, const char* text) = nullptr;
ACRE_EXPORT __attribute__((weak)) const char* malloc_conf = nullptr;
}
#endif

static_assert(MALLCTL_ARENAS_ALL == ctl::kAllArenas);

extern "C" {

ACRE_EXPORT int acre_mallctl(const char* name, void* oldp, size_t* oldlenp, void* newp, size_t newlen) {
  registry::start();
  return ctl::by_name(name, oldp, oldlenp, newp, newlen);
}
ACRE_EXPORT int acre_mallctlnametomib(const char* name, size_t* mibp, size_t* miblenp) {
  registry::start();
  return ctl::name_to_mib(name, mibp, miblenp);
}
ACRE_EXPORT int acre_mallctlbymib(const size_t* mib, size_t miblen, void* oldp, size_t* oldlenp, void* newp,
                                  size_t newlen) {
  registry::start();
  return ctl::by_mib(mib, miblen, oldp, oldlenp, newp, newlen);
}

ACRE_EXPORT void acre_malloc_stats_print(void (*write_cb)(void* opaque, const char* text), void* opaque,
                                         [[maybe_unused]] const char* opts) {
  registry::start();
  Line<kSummaryBytes> text;
  add_summary(text);
#if !ACRE_PREFIX_ONLY
  if (write_cb == nullptr) write_cb = malloc_message;
#endif
  if (write_cb == nullptr) return write_all(STDERR_FILENO, text.c_str(), text.size());
  write_cb(opaque, text.c_str());
}

ACRE_EXPORT int acre_mallctl_info(unsigned index, struct acre_mallctl_node* out) {
  ctl::NodeInfo info;
  if (!ctl::node_info(index, &info)) return -1;
  *out = {info.name, info.type, info.readable, info.writable};
  return 0;
}

#if !ACRE_PREFIX_ONLY
ACRE_EXPORT int mallctl(const char* name, void* oldp, size_t* oldlenp, void* newp, size_t newlen) {
  return acre_mallctl(name, oldp, oldlenp, newp, newlen);
}
ACRE_EXPORT int mallctlnametomib(const char* name, size_t* mibp, size_t* miblenp) {
  return acre_mallctlnametomib(name, mibp, miblenp);
}
ACRE_EXPORT int mallctlbymib(const size_t* mib, size_t miblen, void* oldp, size_t* oldlenp, void* newp,
                             size_t newlen) {
  return acre_mallctlbymib(mib, miblen, oldp, oldlenp, newp, newlen);
}
ACRE_EXPORT void malloc_stats_print(void (*write_cb)(void* opaque, const char* text), void* opaque, const char* opts) {
  acre_malloc_stats_print(write_cb, opaque, opts);
}
#endif

}  // extern "C"
