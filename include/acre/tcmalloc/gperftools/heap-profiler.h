/* gperftools' heap profiler; what runs is acre's (docs/profiling.md): a sample of the blocks, and not each of them, unless
 * the option prof_sample is 0.
 */
#ifndef ACRE_GPERFTOOLS_HEAP_PROFILER_H
#define ACRE_GPERFTOOLS_HEAP_PROFILER_H

#include <stddef.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Samples from now on. Files are named PREFIX.0001.heap, PREFIX.0002.heap ... */
PERFTOOLS_DLL_DECL void HeapProfilerStart(const char *prefix);
PERFTOOLS_DLL_DECL int IsHeapProfilerRunning(void);
/* Samples no longer. What was sampled stays, and is still followed. */
PERFTOOLS_DLL_DECL void HeapProfilerStop(void);
/* Writes a file, if it runs and was started with a prefix, and says so on stderr, with the reason. */
PERFTOOLS_DLL_DECL void HeapProfilerDump(const char *reason);
/* The profile as a text, which the caller frees; an empty one if it does not run. */
PERFTOOLS_DLL_DECL char *GetHeapProfile(void);

#ifdef __cplusplus
}
#endif

#endif
