// gperftools' hooks, in C++: malloc_hook_c.h under the names of a class.
#ifndef ACRE_GPERFTOOLS_MALLOC_HOOK_H
#define ACRE_GPERFTOOLS_MALLOC_HOOK_H

#include <gperftools/malloc_hook_c.h>

class PERFTOOLS_DLL_DECL MallocHook {
 public:
  typedef MallocHook_NewHook NewHook;
  static bool AddNewHook(NewHook hook) { return MallocHook_AddNewHook(hook) != 0; }
  static bool RemoveNewHook(NewHook hook) { return MallocHook_RemoveNewHook(hook) != 0; }
  static NewHook SetNewHook(NewHook hook) { return MallocHook_SetNewHook(hook); }

  typedef MallocHook_DeleteHook DeleteHook;
  static bool AddDeleteHook(DeleteHook hook) { return MallocHook_AddDeleteHook(hook) != 0; }
  static bool RemoveDeleteHook(DeleteHook hook) { return MallocHook_RemoveDeleteHook(hook) != 0; }
  static DeleteHook SetDeleteHook(DeleteHook hook) { return MallocHook_SetDeleteHook(hook); }

  typedef MallocHook_PreMmapHook PreMmapHook;
  static bool AddPreMmapHook(PreMmapHook hook) { return MallocHook_AddPreMmapHook(hook) != 0; }
  static bool RemovePreMmapHook(PreMmapHook hook) { return MallocHook_RemovePreMmapHook(hook) != 0; }
  static PreMmapHook SetPreMmapHook(PreMmapHook hook) { return MallocHook_SetPreMmapHook(hook); }

  typedef MallocHook_MmapHook MmapHook;
  static bool AddMmapHook(MmapHook hook) { return MallocHook_AddMmapHook(hook) != 0; }
  static bool RemoveMmapHook(MmapHook hook) { return MallocHook_RemoveMmapHook(hook) != 0; }
  static MmapHook SetMmapHook(MmapHook hook) { return MallocHook_SetMmapHook(hook); }

  typedef MallocHook_MunmapHook MunmapHook;
  static bool AddMunmapHook(MunmapHook hook) { return MallocHook_AddMunmapHook(hook) != 0; }
  static bool RemoveMunmapHook(MunmapHook hook) { return MallocHook_RemoveMunmapHook(hook) != 0; }
  static MunmapHook SetMunmapHook(MunmapHook hook) { return MallocHook_SetMunmapHook(hook); }

  typedef MallocHook_MremapHook MremapHook;
  static bool AddMremapHook(MremapHook hook) { return MallocHook_AddMremapHook(hook) != 0; }
  static bool RemoveMremapHook(MremapHook hook) { return MallocHook_RemoveMremapHook(hook) != 0; }
  static MremapHook SetMremapHook(MremapHook hook) { return MallocHook_SetMremapHook(hook); }

  typedef MallocHook_PreSbrkHook PreSbrkHook;
  static bool AddPreSbrkHook(PreSbrkHook hook) { return MallocHook_AddPreSbrkHook(hook) != 0; }
  static bool RemovePreSbrkHook(PreSbrkHook hook) { return MallocHook_RemovePreSbrkHook(hook) != 0; }
  static PreSbrkHook SetPreSbrkHook(PreSbrkHook hook) { return MallocHook_SetPreSbrkHook(hook); }

  typedef MallocHook_SbrkHook SbrkHook;
  static bool AddSbrkHook(SbrkHook hook) { return MallocHook_AddSbrkHook(hook) != 0; }
  static bool RemoveSbrkHook(SbrkHook hook) { return MallocHook_RemoveSbrkHook(hook) != 0; }
  static SbrkHook SetSbrkHook(SbrkHook hook) { return MallocHook_SetSbrkHook(hook); }

  typedef MallocHook_MmapReplacement MmapReplacement;
  static bool SetMmapReplacement(MmapReplacement hook) { return MallocHook_SetMmapReplacement(hook) != 0; }
  static bool RemoveMmapReplacement(MmapReplacement hook) { return MallocHook_RemoveMmapReplacement(hook) != 0; }

  typedef MallocHook_MunmapReplacement MunmapReplacement;
  static bool SetMunmapReplacement(MunmapReplacement hook) { return MallocHook_SetMunmapReplacement(hook) != 0; }
  static bool RemoveMunmapReplacement(MunmapReplacement hook) { return MallocHook_RemoveMunmapReplacement(hook) != 0; }

  static int GetCallerStackTrace(void** result, int max_depth, int skip_count) {
    return MallocHook_GetCallerStackTrace(result, max_depth, skip_count);
  }

  // mmap and munmap.
  static void* UnhookedMMap(void* start, size_t length, int prot, int flags, int fd, off_t offset);
  static int UnhookedMUnmap(void* start, size_t length);
};

#endif
