// MallocHook: functions that see each allocation and each free.
#include <acre/tcmalloc.h>
#include <gperftools/malloc_hook.h>
#include <gperftools/stacktrace.h>
#include <sys/mman.h>

#include <atomic>

namespace {

std::atomic<MallocHook_NewHook> g_new_hook{nullptr};  // those that were set, not added
std::atomic<MallocHook_DeleteHook> g_delete_hook{nullptr};

template <class Hook>
Hook replace(std::atomic<Hook>& place, Hook hook, int (*add)(Hook), int (*remove)(Hook)) {
  if (hook != nullptr && add(hook) == 0) hook = nullptr;
  const Hook before = place.exchange(hook);
  if (before != nullptr) remove(before);
  return before;
}

}  // namespace

extern "C" {

__attribute__((noinline)) int MallocHook_GetCallerStackTrace(void** result, int max_depth, int skip_count) {
  return GetStackTrace(result, max_depth, skip_count + 1);
}

int MallocHook_AddNewHook(MallocHook_NewHook hook) { return acre_add_new_hook(hook); }
int MallocHook_RemoveNewHook(MallocHook_NewHook hook) { return acre_remove_new_hook(hook); }
MallocHook_NewHook MallocHook_SetNewHook(MallocHook_NewHook hook) {
  return replace(g_new_hook, hook, acre_add_new_hook, acre_remove_new_hook);
}

int MallocHook_AddDeleteHook(MallocHook_DeleteHook hook) { return acre_add_delete_hook(hook); }
int MallocHook_RemoveDeleteHook(MallocHook_DeleteHook hook) { return acre_remove_delete_hook(hook); }
MallocHook_DeleteHook MallocHook_SetDeleteHook(MallocHook_DeleteHook hook) {
  return replace(g_delete_hook, hook, acre_add_delete_hook, acre_remove_delete_hook);
}

// Of address space acre tells nothing.
int MallocHook_AddPreMmapHook(MallocHook_PreMmapHook) { return 0; }
int MallocHook_RemovePreMmapHook(MallocHook_PreMmapHook) { return 0; }
MallocHook_PreMmapHook MallocHook_SetPreMmapHook(MallocHook_PreMmapHook) { return nullptr; }
int MallocHook_AddMmapHook(MallocHook_MmapHook) { return 0; }
int MallocHook_RemoveMmapHook(MallocHook_MmapHook) { return 0; }
MallocHook_MmapHook MallocHook_SetMmapHook(MallocHook_MmapHook) { return nullptr; }
int MallocHook_AddMunmapHook(MallocHook_MunmapHook) { return 0; }
int MallocHook_RemoveMunmapHook(MallocHook_MunmapHook) { return 0; }
MallocHook_MunmapHook MallocHook_SetMunmapHook(MallocHook_MunmapHook) { return nullptr; }
int MallocHook_AddMremapHook(MallocHook_MremapHook) { return 0; }
int MallocHook_RemoveMremapHook(MallocHook_MremapHook) { return 0; }
MallocHook_MremapHook MallocHook_SetMremapHook(MallocHook_MremapHook) { return nullptr; }
int MallocHook_AddPreSbrkHook(MallocHook_PreSbrkHook) { return 0; }
int MallocHook_RemovePreSbrkHook(MallocHook_PreSbrkHook) { return 0; }
MallocHook_PreSbrkHook MallocHook_SetPreSbrkHook(MallocHook_PreSbrkHook) { return nullptr; }
int MallocHook_AddSbrkHook(MallocHook_SbrkHook) { return 0; }
int MallocHook_RemoveSbrkHook(MallocHook_SbrkHook) { return 0; }
MallocHook_SbrkHook MallocHook_SetSbrkHook(MallocHook_SbrkHook) { return nullptr; }
int MallocHook_SetMmapReplacement(MallocHook_MmapReplacement) { return 0; }
int MallocHook_RemoveMmapReplacement(MallocHook_MmapReplacement) { return 0; }
int MallocHook_SetMunmapReplacement(MallocHook_MunmapReplacement) { return 0; }
int MallocHook_RemoveMunmapReplacement(MallocHook_MunmapReplacement) { return 0; }

}  // extern "C"

void* MallocHook::UnhookedMMap(void* start, size_t length, int prot, int flags, int fd, off_t offset) {
  return mmap(start, length, prot, flags, fd, offset);
}
int MallocHook::UnhookedMUnmap(void* start, size_t length) { return munmap(start, length); }
