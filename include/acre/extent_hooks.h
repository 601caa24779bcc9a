/* Functions of the program's from which an arena gets its memory, as jemalloc's manual page describes them.
 *
 * acre calls alloc, dalloc, destroy, purge_lazy and purge_forced, from any thread and from several at the same time,
 * with no lock of its own held: the functions may allocate, but not in the same arena. acre never calls the others,
 * which are there for programs that set them. docs/sources.md says when acre calls each.
 */
#ifndef ACRE_EXTENT_HOOKS_H
#define ACRE_EXTENT_HOOKS_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct extent_hooks_s extent_hooks_t;

/* Returns `size` bytes at a multiple of `alignment`, at new_addr if that is not NULL (acre passes NULL); or NULL if
 * there is no memory. *zero and *commit: on entry, whether the memory has to be zero and usable (acre passes false and
 * true); on return, whether it is. The result must not be a block of acre's. */
typedef void *(extent_alloc_t)(extent_hooks_t *hooks, void *new_addr, size_t size, size_t alignment, bool *zero,
                               bool *commit, unsigned arena_ind);
/* Takes back memory that alloc returned, with the same address and size. Returns true if it declines: the arena then
 * keeps the memory. */
typedef bool (extent_dalloc_t)(extent_hooks_t *hooks, void *addr, size_t size, bool committed, unsigned arena_ind);
/* Takes back the memory when the arena is destroyed and dalloc has declined. */
typedef void (extent_destroy_t)(extent_hooks_t *hooks, void *addr, size_t size, bool committed, unsigned arena_ind);
/* Gives back the physical memory of [addr + offset, addr + offset + length). Returns true on failure. */
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

/* All but alloc may be NULL: memory is not taken back, or not purged, then. */
struct extent_hooks_s {
  extent_alloc_t *alloc;
  extent_dalloc_t *dalloc;
  extent_destroy_t *destroy;
  extent_commit_t *commit;
  extent_decommit_t *decommit;
  extent_purge_t *purge_lazy;   /* the memory reads as before or as zero afterwards */
  extent_purge_t *purge_forced; /* the memory reads as zero afterwards */
  extent_split_t *split;
  extent_merge_t *merge;
};

#ifdef __cplusplus
}
#endif

#endif
