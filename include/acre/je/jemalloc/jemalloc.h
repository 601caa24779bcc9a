/* jemalloc's header as Redis and Valkey use it: jemalloc's functions with the prefix je_, and a hint function for active
 * defragmentation. A build that finds this folder before any other jemalloc's runs on acre (docs/defragmentation.md).
 *
 * je_mallctl and je_mallctlnametomib answer as a jemalloc with a quantum of 8 bytes does, which Valkey insists on. All
 * else is as in acre/jemalloc.h.
 */
#ifndef ACRE_JE_JEMALLOC_H
#define ACRE_JE_JEMALLOC_H

#include <acre/jemalloc.h>

/* The version whose interface this is. */
#define JEMALLOC_VERSION "5.3.0-acre"
#define JEMALLOC_VERSION_MAJOR 5
#define JEMALLOC_VERSION_MINOR 3
#define JEMALLOC_VERSION_BUGFIX 0
#define JEMALLOC_VERSION_NREV 0
#define JEMALLOC_VERSION_GID "acre"

/* Redis: there is je_get_defrag_hint, which Redis declares itself. */
#define JEMALLOC_FRAG_HINT

/* Valkey, which moves blocks only if je_mallctl answers as the jemalloc does that it brings along. */
#ifndef VALKEY_VENDORED_JEMALLOC
#define VALKEY_VENDORED_JEMALLOC
#endif

#define je_malloc acre_malloc
#define je_calloc acre_calloc
#define je_realloc acre_realloc
#define je_free acre_free
#define je_posix_memalign acre_posix_memalign
#define je_aligned_alloc acre_aligned_alloc
#define je_memalign acre_memalign
#define je_valloc acre_valloc
#define je_malloc_usable_size acre_malloc_usable_size
#define je_mallocx acre_mallocx
#define je_rallocx acre_rallocx
#define je_xallocx acre_xallocx
#define je_sallocx acre_sallocx
#define je_nallocx acre_nallocx
#define je_dallocx acre_dallocx
#define je_sdallocx acre_sdallocx
#define je_mallctl acre_je_mallctl
#define je_mallctlnametomib acre_je_mallctlnametomib
#define je_mallctlbymib acre_mallctlbymib
#define je_malloc_stats_print acre_malloc_stats_print
#define je_get_defrag_hint acre_get_defrag_hint

#endif
