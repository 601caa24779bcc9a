/* Accounting by tag: how many bytes a part of the program has allocated, and how many of them are still there.
 *
 *     acre_tag_push("query 17");
 *     ... whatever this thread allocates counts for "query 17" ...
 *     acre_tag_pop();
 *
 * A block counts for the tag that is in force in the thread that allocates it, until it is freed, by whichever thread.
 * Scopes may be nested, up to 64 deep: the innermost one counts, alone. realloc leaves a block its tag; a block without
 * one that it has to move is a new block. Figures are exact at each moment, in bytes as malloc_usable_size has them. Blocks of heaps
 * (acre/heap.h) and of chosen arenas (MALLOCX_ARENA) do not count for tags.
 *
 * All functions may be called from any thread, and none from a signal handler. docs/tags.md has what it costs.
 */
#ifndef ACRE_TAGS_H
#define ACRE_TAGS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct acre_tag_handle acre_tag_t;

/* The tag of this name, of 1 to 63 bytes; made if there is none. NULL and errno: EINVAL, no such name; ENOMEM, memory
 * was refused, or there are 262144 tags. */
acre_tag_t *acre_tag(const char *name);

/* Puts a tag in force in the calling thread, by its name as acre_tag takes it, or by its handle, which is quicker: there
 * is nothing to look up. A tag NULL: none is in force until the pop. 0, or an error number: EINVAL, no such name; ENOMEM;
 * EAGAIN, nested too deep; ENOTSUP, the thread is in its last destructors, or the options junk or zero are set. After an
 * error what was in force stays so. A pop matches each of them, whether it failed or not. */
int acre_tag_push(const char *name);
int acre_tag_enter(acre_tag_t *tag);

/* Ends the last push or enter of the calling thread. 0; EINVAL: there was none, or memory was refused to it. A thread that
 * ends needs no pop. */
int acre_tag_pop(void);

/* The tag in force in the calling thread; the tag that a live block counts for. NULL: none. */
acre_tag_t *acre_tag_in_force(void);
acre_tag_t *acre_tag_of(const void *block);

/* The most bytes that may be live at a time; SIZE_MAX, as at first: no limit. An allocation that would pass it fails, with
 * NULL and ENOMEM. A limit below what is live takes nothing away. */
void acre_tag_limit(acre_tag_t *tag, size_t bytes);

/* What is called before that, by the thread that allocates and with no lock held; NULL: nothing. It may free blocks, raise
 * the limit, or allocate; what it allocates itself is refused at the limit without a call. wanted: bytes of the block.
 * Nonzero: the allocation is tried again. */
void acre_tag_on_limit(acre_tag_t *tag, int (*callback)(acre_tag_t *tag, size_t wanted, void *argument), void *argument);

/* The program has no more use for the handle: the name is free, and the tag goes, figures and all, as soon as no block
 * counts for it and it is in force nowhere. Without this, tags stay. */
void acre_tag_drop(acre_tag_t *tag);

/* Bytes, but for `refused`. */
struct acre_tag_info {
  char name[64];
  uint64_t live;       /* of blocks that were not freed */
  uint64_t allocated;  /* of all blocks so far */
  uint64_t peak;       /* most that was live */
  uint64_t limit;      /* UINT64_MAX: none */
  uint64_t refused;    /* allocations, for the limit */
};

/* 0; ESRCH: the tag is gone. */
int acre_tag_get(const acre_tag_t *tag, struct acre_tag_info *info);

/* The tag after this one, of all that there are, in no special order. NULL: the first; and, as a result: that was the
 * last. */
acre_tag_t *acre_tag_next(const acre_tag_t *tag);

#ifdef __cplusplus
}
#endif

#endif
