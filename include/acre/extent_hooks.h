/* Functions of the program's that an arena gets its memory from, as jemalloc's manual page describes them.
 *
 * acre calls alloc, dalloc, destroy, purge_lazy and purge_forced, with no lock of its own held, so that they may
 * allocate (but not in the same arena). The others are there for their callers' sake: acre never calls them.
 * docs/sources.md says what is expected of each.
 */
#ifndef ACRE_EXTENT_HOOKS_H
#define ACRE_EXTENT_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct extent_hooks_s extent_hooks_t;

/* size bytes at a multiple of alignment, at new_addr if that is not NULL (acre always passes NULL). *zero and *commit:
 * on entry, whether the memory has to be zero and usable (acre passes false and true); on return, whether it is. NULL:
 * there is none. What it gives may be no block of acre's. */
typedef void *(extent_alloc_t)(extent_hooks_t *hooks, void *new_addr, size_t size, size_t alignment, bool *zero,
                               bool *commit, unsigned arena_ind);
/* Takes memory back that alloc gave, with the same address and size. true: it does not, and the arena keeps it. */
typedef bool (extent_dalloc_t)(extent_hooks_t *hooks, void *addr, size_t size, bool committed, unsigned arena_ind);
/* The same when the arena is destroyed and dalloc has declined. */
typedef void (extent_destroy_t)(extent_hooks_t *hooks, void *addr, size_t size, bool committed, unsigned arena_ind);
/* Gives back the physical memory of [addr + offset, addr + offset + length). true: it has failed. */
typedef bool (extent_purge_t)(extent_hooks_t *hooks, void *addr, size_t size, size_t offset, size_t length,
                              unsigned arena_ind);
typedef bool (extent_commit_t)(extent_hooks_t *hooks, void *addr, size_t size, size_t offset, size_t length,
                               unsigned arena_ind);
typedef bool (extent_decommit_t)(extent_hooks_t *hooks, void *addr, size_t size, size_t offset, size_t length,
                                 unsigned arena_ind);
typedef bool (extent_split_t)(extent_hooks_t *hooks, void *addr, size_t size, size_t size_a, size_t size_b,
                              bool committed, unsigned arena_ind);
typedef bool (extent_merge_t)(extent_hooks_t *hooks, void *addr_a, size_t size_a, void *addr_b, size_t size_b,
                              bool committed, unsigned arena_ind);

/* All but alloc may be NULL: nothing is taken back, or purged, then. */
struct extent_hooks_s {
  extent_alloc_t *alloc;
  extent_dalloc_t *dalloc;
  extent_destroy_t *destroy;
  extent_commit_t *commit;
  extent_decommit_t *decommit;
  extent_purge_t *purge_lazy;   /* what is read afterwards is as before or zero */
  extent_purge_t *purge_forced; /* what is read afterwards is zero */
  extent_split_t *split;
  extent_merge_t *merge;
};

#ifdef __cplusplus
}
#endif

#endif
