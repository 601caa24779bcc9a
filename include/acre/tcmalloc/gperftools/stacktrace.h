/* gperftools' stack traces: where the calling thread is. Allocates nothing. */
#ifndef ACRE_GPERFTOOLS_STACKTRACE_H
#define ACRE_GPERFTOOLS_STACKTRACE_H

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL __attribute__((visibility("default")))
#endif

/* Up to max_depth return addresses, the caller's own place first, without the first skip_count of them; how many is
 * returned. sizes: bytes of each frame, 0 where that is not known. */
PERFTOOLS_DLL_DECL int GetStackTrace(void** result, int max_depth, int skip_count);
PERFTOOLS_DLL_DECL int GetStackFrames(void** result, int* sizes, int max_depth, int skip_count);

/* The same from a signal handler; uc, its third argument or NULL, is not needed. */
PERFTOOLS_DLL_DECL int GetStackTraceWithContext(void** result, int max_depth, int skip_count, const void* uc);
PERFTOOLS_DLL_DECL int GetStackFramesWithContext(void** result, int* sizes, int max_depth, int skip_count,
                                                 const void* uc);

#endif
