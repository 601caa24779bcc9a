// tc_malloc and its relatives. They call acre by its own names, since a program may replace malloc and the operators by
// functions that call these.
#include <acre/tcmalloc.h>
#include <gperftools/nallocx.h>
#include <gperftools/tcmalloc.h>

#include <atomic>

namespace {

std::atomic<int> new_mode{0};

// Whether the calling thread's allocation asks no new_handler, or is about to ask it itself.
__thread bool asks_itself __attribute__((tls_model("initial-exec"))) = false;

// What acre calls when memory is refused, after tc_set_new_mode(1). A handler that throws ends the attempts.
int call_new_handler() {
  const std::new_handler handler = asks_itself ? nullptr : std::get_new_handler();
  if (handler == nullptr) return 0;
  try {
    handler();
    return 1;
  } catch (...) {
    return 0;
  }
}

template <class Allocate>
void* without_handler(Allocate allocate) {
  asks_itself = true;
  void* p = allocate();
  asks_itself = false;
  return p;
}

// Calls the new_handler and tries again, until there is none. Its exceptions go to the caller.
template <class Allocate>
void* with_handler(Allocate allocate) {
  for (;;) {
    if (void* p = without_handler(allocate)) return p;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) return nullptr;
    handler();
  }
}

template <class Allocate>
void* or_throw(Allocate allocate) {
  if (void* p = with_handler(allocate)) return p;
  throw std::bad_alloc();
}

template <class Allocate>
void* or_null(Allocate allocate) noexcept {
  try {
    return with_handler(allocate);
  } catch (...) {
    return nullptr;
  }
}

void* aligned(size_t size, std::align_val_t alignment) {
  return acre_aligned_alloc(static_cast<size_t>(alignment), size);
}

}  // namespace

extern "C" {

const char* tc_version(int* major, int* minor, const char** patch) noexcept {
  if (major != nullptr) *major = TC_VERSION_MAJOR;
  if (minor != nullptr) *minor = TC_VERSION_MINOR;
  if (patch != nullptr) *patch = TC_VERSION_PATCH;
  return TC_VERSION_STRING " (acre " ACRE_VERSION ")";
}

int tc_set_new_mode(int flag) noexcept {
  acre_set_refused_handler(flag != 0 ? call_new_handler : nullptr);
  return new_mode.exchange(flag);
}
int tc_query_new_mode() noexcept { return new_mode.load(); }

void* tc_malloc_skip_new_handler(size_t size) noexcept {
  return without_handler([=] { return acre_malloc(size); });
}
void* tc_malloc(size_t size) noexcept { return acre_malloc(size); }
void* tc_calloc(size_t count, size_t size) noexcept { return acre_calloc(count, size); }
void* tc_realloc(void* ptr, size_t size) noexcept { return acre_realloc(ptr, size); }
void* tc_memalign(size_t alignment, size_t size) noexcept { return acre_memalign(alignment, size); }
void* tc_valloc(size_t size) noexcept { return acre_valloc(size); }
void* tc_pvalloc(size_t size) noexcept { return acre_pvalloc(size); }
int tc_posix_memalign(void** ptr, size_t alignment, size_t size) noexcept {
  return acre_posix_memalign(ptr, alignment, size);
}
void tc_free(void* ptr) noexcept { acre_free(ptr); }
void tc_free_sized(void* ptr, size_t size) noexcept { acre_free_sized(ptr, size); }
void tc_free_aligned_sized(void* ptr, size_t alignment, size_t size) noexcept {
  acre_free_aligned_sized(ptr, alignment, size);
}
void tc_cfree(void* ptr) noexcept { acre_cfree(ptr); }

size_t tc_malloc_size(void* ptr) noexcept { return acre_malloc_usable_size(ptr); }
PERFTOOLS_DLL_DECL size_t malloc_size(void* ptr) noexcept { return acre_malloc_usable_size(ptr); }
size_t tc_nallocx(size_t size, int flags) { return acre_nallocx(size, flags); }
size_t nallocx(size_t size, int flags) { return acre_nallocx(size, flags); }

void tc_malloc_stats() noexcept { acre_malloc_stats(); }
int tc_mallopt(int cmd, int value) noexcept { return acre_mallopt(cmd, value); }
struct mallinfo tc_mallinfo() noexcept {
  return acre_mallinfo();
}

void* tc_new(size_t size) {
  return or_throw([=] { return acre_malloc(size); });
}
void* tc_new_nothrow(size_t size, const std::nothrow_t&) noexcept {
  return or_null([=] { return acre_malloc(size); });
}
void* tc_new_aligned(size_t size, std::align_val_t al) {
  return or_throw([=] { return aligned(size, al); });
}
void* tc_new_aligned_nothrow(size_t size, std::align_val_t al, const std::nothrow_t&) noexcept {
  return or_null([=] { return aligned(size, al); });
}
void* tc_newarray(size_t size) { return tc_new(size); }
void* tc_newarray_nothrow(size_t size, const std::nothrow_t& tag) noexcept { return tc_new_nothrow(size, tag); }
void* tc_newarray_aligned(size_t size, std::align_val_t al) { return tc_new_aligned(size, al); }
void* tc_newarray_aligned_nothrow(size_t size, std::align_val_t al, const std::nothrow_t& tag) noexcept {
  return tc_new_aligned_nothrow(size, al, tag);
}

void tc_delete(void* p) noexcept { acre_free(p); }
void tc_delete_sized(void* p, size_t) noexcept { acre_free(p); }
void tc_delete_nothrow(void* p, const std::nothrow_t&) noexcept { acre_free(p); }
void tc_delete_aligned(void* p, std::align_val_t) noexcept { acre_free(p); }
void tc_delete_sized_aligned(void* p, size_t, std::align_val_t) noexcept { acre_free(p); }
void tc_delete_aligned_nothrow(void* p, std::align_val_t, const std::nothrow_t&) noexcept { acre_free(p); }
void tc_deletearray(void* p) noexcept { acre_free(p); }
void tc_deletearray_sized(void* p, size_t) noexcept { acre_free(p); }
void tc_deletearray_nothrow(void* p, const std::nothrow_t&) noexcept { acre_free(p); }
void tc_deletearray_aligned(void* p, std::align_val_t) noexcept { acre_free(p); }
void tc_deletearray_sized_aligned(void* p, size_t, std::align_val_t) noexcept { acre_free(p); }
void tc_deletearray_aligned_nothrow(void* p, std::align_val_t, const std::nothrow_t&) noexcept { acre_free(p); }

}  // extern "C"
