/* gperftools' heap profiler. These functions do not start acre's own, which is an option (docs/profiling.md): they do
 * what they are documented to do while no profiler runs.
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

/* Says on stderr that it starts none. */
PERFTOOLS_DLL_DECL void HeapProfilerStart(const char *prefix);
/* 0. */
PERFTOOLS_DLL_DECL int IsHeapProfilerRunning(void);
/* Nothing. */
PERFTOOLS_DLL_DECL void HeapProfilerStop(void);
PERFTOOLS_DLL_DECL void HeapProfilerDump(const char *reason);
/* An empty text, which the caller frees. */
PERFTOOLS_DLL_DECL char *GetHeapProfile(void);

#ifdef __cplusplus
}
#endif

#endif
