/* The size of the block that malloc(size) would return; 0 if that is impossible. */
#ifndef ACRE_GPERFTOOLS_NALLOCX_H
#define ACRE_GPERFTOOLS_NALLOCX_H

#include <stddef.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* For flags: the block's address is to be a multiple of 2^la. */
#ifndef MALLOCX_LG_ALIGN
#define MALLOCX_LG_ALIGN(la) ((int)(la))
#endif

PERFTOOLS_DLL_DECL size_t nallocx(size_t size, int flags);
PERFTOOLS_DLL_DECL size_t tc_nallocx(size_t size, int flags);

#ifdef __cplusplus
}
#endif

#endif
