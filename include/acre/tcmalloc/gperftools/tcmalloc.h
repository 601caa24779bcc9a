/* gperftools' own names for malloc, operator new and their relatives. Blocks of malloc and tc_malloc are the same. */
#ifndef ACRE_GPERFTOOLS_TCMALLOC_H
#define ACRE_GPERFTOOLS_TCMALLOC_H

#include <malloc.h>
#include <stddef.h>
#ifdef __cplusplus
#include <new>
#endif

/* The version of gperftools' interface. */
#define TC_VERSION_MAJOR 2
#define TC_VERSION_MINOR 10
#define TC_VERSION_PATCH ""
#define TC_VERSION_STRING "gperftools 2.10"

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL __attribute__((visibility("default")))
#endif
#ifdef __cplusplus
#define ACRE_TC_NOTHROW noexcept
#else
#define ACRE_TC_NOTHROW __attribute__((__nothrow__))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* "gperftools 2.10 (acre …)", the interface's version and acre's; and its parts, where the pointers are not NULL. */
PERFTOOLS_DLL_DECL const char *tc_version(int *major, int *minor, const char **patch) ACRE_TC_NOTHROW;

/* As their namesakes without tc_. After tc_set_new_mode(1) those that would return NULL for lack of memory call C++'s
 * new_handler, as operator new does, all but tc_malloc_skip_new_handler; malloc and its kin do so as well. */
PERFTOOLS_DLL_DECL void *tc_malloc(size_t size) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_malloc_skip_new_handler(size_t size) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_free(void *ptr) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_free_sized(void *ptr, size_t size) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_free_aligned_sized(void *ptr, size_t alignment, size_t size) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_realloc(void *ptr, size_t size) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_calloc(size_t count, size_t size) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_cfree(void *ptr) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_memalign(size_t alignment, size_t size) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL int tc_posix_memalign(void **ptr, size_t alignment, size_t size) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_valloc(size_t size) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_pvalloc(size_t size) ACRE_TC_NOTHROW;

PERFTOOLS_DLL_DECL void tc_malloc_stats(void) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL int tc_mallopt(int cmd, int value) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL struct mallinfo tc_mallinfo(void) ACRE_TC_NOTHROW;

/* Bytes that the program may use in a live block, 0 for NULL. */
PERFTOOLS_DLL_DECL size_t tc_malloc_size(void *ptr) ACRE_TC_NOTHROW;

#ifdef __cplusplus
/* 1 or 0, see above; returns what it was. */
PERFTOOLS_DLL_DECL int tc_set_new_mode(int flag) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL int tc_query_new_mode() ACRE_TC_NOTHROW;

/* As the operators. */
PERFTOOLS_DLL_DECL void* tc_new(size_t size);
PERFTOOLS_DLL_DECL void* tc_new_nothrow(size_t size, const std::nothrow_t&) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete(void* p) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_sized(void* p, size_t size) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_nothrow(void* p, const std::nothrow_t&) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void* tc_newarray(size_t size);
PERFTOOLS_DLL_DECL void* tc_newarray_nothrow(size_t size, const std::nothrow_t&) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray(void* p) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_sized(void* p, size_t size) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_nothrow(void* p, const std::nothrow_t&) ACRE_TC_NOTHROW;

#if __cplusplus >= 201703L
PERFTOOLS_DLL_DECL void* tc_new_aligned(size_t size, std::align_val_t al);
PERFTOOLS_DLL_DECL void* tc_new_aligned_nothrow(size_t size, std::align_val_t al,
                                                const std::nothrow_t&) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_aligned(void* p, std::align_val_t al) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_sized_aligned(void* p, size_t size, std::align_val_t al) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_aligned_nothrow(void* p, std::align_val_t al, const std::nothrow_t&) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void* tc_newarray_aligned(size_t size, std::align_val_t al);
PERFTOOLS_DLL_DECL void* tc_newarray_aligned_nothrow(size_t size, std::align_val_t al,
                                                     const std::nothrow_t&) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_aligned(void* p, std::align_val_t al) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_sized_aligned(void* p, size_t size, std::align_val_t al) ACRE_TC_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_aligned_nothrow(void* p, std::align_val_t al,
                                                       const std::nothrow_t&) ACRE_TC_NOTHROW;
#endif
}
#endif

#undef ACRE_TC_NOTHROW

#endif
