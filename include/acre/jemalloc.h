/* Names of jemalloc's that acre has too, as jemalloc's manual page describes them. acre/acre.h has each of them with
 * the prefix acre_. docs/ctl.md lists the nodes.
 */
#ifndef ACRE_JEMALLOC_H
#define ACRE_JEMALLOC_H

#include <acre/acre.h>
#include <acre/extent_hooks.h>
#include <limits.h>  /* these as jemalloc's header has them: programs rely on it */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <strings.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the place of an arena's index: all arenas together. */
#define MALLCTL_ARENAS_ALL 4096

int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp);
int mallctlbymib(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp, size_t newlen);

/* Flags of mallocx and its kin, to be joined by |. A block's address is a multiple of its alignment, a power of two;
 * ZERO: the block, or what is added to it, is zeroed to its end; TCACHE: changes nothing, since acre's threads keep runs
 * and no caches of blocks; ARENA: the block comes from the arena of this index, but for one above 64 MiB. */
#define MALLOCX_LG_ALIGN(la) ((int)(la))
#define MALLOCX_ALIGN(a) ((int)__builtin_ctzll((unsigned long long)(a)))
#define MALLOCX_ZERO ((int)0x40)
#define MALLOCX_TCACHE(tc) ((int)(((unsigned)(tc) + 2) << 8))
#define MALLOCX_TCACHE_NONE MALLOCX_TCACHE(-1)
#define MALLOCX_ARENA(a) ((int)(((unsigned)(a) + 1) << 20))

/* mallocx, rallocx: the block, or NULL with errno ENOMEM (rallocx: and the old one stays). rallocx may move it.
 * xallocx: what a block has after an attempt to give it size + extra bytes, or at least size, where it is; only blocks
 * above 32 KiB change.
 * sallocx: what it has. nallocx: what mallocx would give it, 0 if that is too large. All in bytes.
 * sdallocx: size is one that was asked for, or what sallocx says. */
void *mallocx(size_t size, int flags);
void *rallocx(void *block, size_t size, int flags);
size_t xallocx(void *block, size_t size, size_t extra, int flags);
size_t sallocx(const void *block, int flags);
void dallocx(void *block, int flags);
void sdallocx(void *block, size_t size, int flags);
size_t nallocx(size_t size, int flags);

/* jemalloc's experimental functions before its version 4. *rsize, if rsize is not NULL, is what the block has. NO_MOVE:
 * the block stays where it is, or ALLOCM_ERR_NOT_MOVED says that it could not have the size there. */
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

/* Gives all statistics to write_cb, in parts; if that is NULL to malloc_message, or to stderr if that is NULL, too. For
 * people, or as JSON if opts has a J. Other letters leave something out: g what never changes, m all arenas together, a
 * each arena, b size classes, l large blocks by length, x locks, e free runs by length. opts may be NULL. Nothing is
 * written if memory is refused. */
void malloc_stats_print(void (*write_cb)(void *opaque, const char *text), void *opaque, const char *opts);
extern void (*malloc_message)(void *opaque, const char *text);

/* A program's options in jemalloc's words, if it defines it. Those that acre has by the same name count, and narenas;
 * the others are passed over in silence. Settings of acre's own count more. */
extern const char *malloc_conf;

#ifdef __cplusplus
}
#endif

#endif
