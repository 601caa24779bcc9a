/* Functions that acre has under jemalloc's names, as jemalloc's manual page describes them. acre/acre.h has each with
 * the prefix acre_. docs/ctl.md lists the names for mallctl and the differences.
 *
 * All functions may be called from any thread. None is async-signal-safe.
 */
#ifndef ACRE_JEMALLOC_H
#define ACRE_JEMALLOC_H

#include <acre/acre.h>
#include <acre/extent_hooks.h>
#include <limits.h>  /* this and the next headers because jemalloc's header includes them, and programs rely on that */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In place of an arena's number: all arenas together. */
#define MALLCTL_ARENAS_ALL 4096

/* As acre_mallctl, acre_mallctlnametomib and acre_mallctlbymib (acre/acre.h). */
int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp);
int mallctlbymib(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp, size_t newlen);

/* Flags of mallocx and its kin, to be joined by |.
 *   LG_ALIGN, ALIGN  the block's address is a multiple of this alignment, a power of two
 *   ZERO             the block, or what is added to it, is zeroed to its end
 *   TCACHE           changes nothing, since acre's threads keep runs and no caches of blocks
 *   TCACHE_NONE      for dallocx and sdallocx: the block goes back to its run at once
 *   ARENA            the block comes from the arena of this number, or not at all; blocks above 64 MiB have none */
#define MALLOCX_LG_ALIGN(la) ((int)(la))
#define MALLOCX_ALIGN(a) ((int)__builtin_ctzll((unsigned long long)(a)))
#define MALLOCX_ZERO ((int)0x40)
#define MALLOCX_TCACHE(tc) ((int)(((unsigned)(tc) + 2) << 8))
#define MALLOCX_TCACHE_NONE MALLOCX_TCACHE(-1)
#define MALLOCX_ARENA(a) ((int)(((unsigned)(a) + 1) << 20))

/* All sizes are in bytes.
 *   mallocx   returns a block, or NULL with errno ENOMEM
 *   rallocx   the same for a block that it may move; on failure the old block stays
 *   xallocx   tries to give the block size + extra bytes, or at least size, where it is, and returns the new size. Only
 *             blocks above 32 KiB change
 *   sallocx   returns the size of the block
 *   nallocx   returns the size of the block that mallocx would return; 0 if that is too large
 *   dallocx   frees the block
 *   sdallocx  the same; size is the requested size or what sallocx says, and is not checked */
void *mallocx(size_t size, int flags);
void *rallocx(void *block, size_t size, int flags);
size_t xallocx(void *block, size_t size, size_t extra, int flags);
size_t sallocx(const void *block, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t size, int flags);
size_t nallocx(size_t size, int flags);

/* jemalloc's experimental functions before its version 4. They return ALLOCM_SUCCESS or an ALLOCM_ERR_. *rsize, if
 * rsize is not NULL, becomes the block's size. ALLOCM_NO_MOVE: the block stays where it is; the result is
 * ALLOCM_ERR_NOT_MOVED if it cannot have the size there. */
#define ALLOCM_LG_ALIGN(la) MALLOCX_LG_ALIGN(la)
#define ALLOCM_ALIGN(a) MALLOCX_ALIGN(a)
#define ALLOCM_ZERO ((int)0x40)
#define ALLOCM_NO_MOVE ((int)0x80)
#define ALLOCM_ARENA(a) ((int)(((unsigned)(a) + 1) << 8))
#define ALLOCM_SUCCESS 0
#define ALLOCM_ERR_OOM 1
#define ALLOCM_ERR_NOT_MOVED 2
int allocm(void **block, size_t *rsize, size_t size, int flags);
int rallocm(void **block, size_t *rsize, size_t size, size_t extra, int flags);
int sallocm(const void *block, size_t *rsize, int flags);
int dallocm(void *block, int flags);
int nallocm(size_t *rsize, size_t size, int flags);

/* Returns 1 if a copy of this block would probably lie in a fuller run of pages, so that a program that moves its blocks
 * should move this one: allocate, copy, free. 0: not so, or a large block. The figures of the block's run are of this
 * moment, those of the other runs of the last epoch. docs/defragmentation.md has more. */
int get_defrag_hint(void *block);

/* Writes all statistics by calls of write_cb; if write_cb is NULL, of malloc_message; if that is NULL too, to stderr.
 * opts may be NULL, or has letters: J for JSON instead of text; g, m, a, b, l, e, x leave out what never changes, all
 * arenas together, each arena, size classes, large blocks by length, free runs by length, locks. Writes nothing if
 * memory is refused. */
void malloc_stats_print(void (*write_cb)(void *opaque, const char *text), void *opaque, const char *opts);
extern void (*malloc_message)(void *opaque, const char *text);

/* A program may define this variable to set options in jemalloc's form. Options that acre has by the same names have an
 * effect, and so have narenas, lg_prof_sample and lg_prof_interval; others are ignored without a message. ACRE_CONF and
 * acre_conf count more. */
extern const char *malloc_conf;

#ifdef __cplusplus
}
#endif

#endif
