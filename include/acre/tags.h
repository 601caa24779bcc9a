/* Accounting by tag: how many bytes a part of the program has allocated, and how many of them are still live
 * (docs/tags.md).
 *
 *     acre_tag_push("query 17");
 *     ... whatever this thread allocates counts for "query 17" ...
 *     acre_tag_pop();
 *
 * A block counts for the tag in force in the thread that allocates it, until any thread frees it. Scopes may be nested,
 * up to 64 deep; only the innermost one counts. realloc leaves a block its tag; a block without a tag that realloc has
 * to move is a new block. Figures are exact at each moment, in bytes as malloc_usable_size counts. Blocks of heaps
 * (acre/heap.h) and of chosen arenas (MALLOCX_ARENA) do not count for tags.
 *
 * All functions may be called from any thread, but from no signal handler.
 */
#ifndef ACRE_TAGS_H
#define ACRE_TAGS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct acre_tag_handle acre_tag_t;

/* Returns the tag of this name, which has 1 to 63 bytes, and makes it if there is none. On failure returns NULL and
 * sets errno: EINVAL, the name is not valid; ENOMEM, memory was refused, or there are 262144 tags. */
acre_tag_t *acre_tag(const char *name);

/* Put a tag in force in the calling thread: by its name, as in acre_tag, or by its handle, without a look-up. With a
 * NULL handle no tag is in force until the pop. Return 0 or an error number: EINVAL, the name is not valid; ENOMEM,
 * memory was refused; EAGAIN, nested too deep; ENOTSUP, the thread is in its last destructors, or the options junk or
 * zero are set. After an error the tag in force stays. Each call needs a pop, even one that failed. */
int acre_tag_push(const char *name);
int acre_tag_enter(acre_tag_t *tag);

/* Ends the last push or enter of the calling thread. Returns 0, or EINVAL: there was none, or memory was refused to it.
 * A thread that ends needs no pop. */
int acre_tag_pop(void);

/* Return the tag in force in the calling thread, and the tag for which a live block counts; NULL if there is none. */
acre_tag_t *acre_tag_in_force(void);
acre_tag_t *acre_tag_of(const void *block);

/* Sets the most bytes that may be live at a time; SIZE_MAX, the initial value: no limit. An allocation that would pass
 * the limit fails, with NULL and ENOMEM. A limit below what is live frees nothing. */
void acre_tag_limit(acre_tag_t *tag, size_t bytes);

/* Sets the callback that is called before an allocation fails at the limit; NULL: none. The allocating thread calls it,
 * with no lock held. wanted: the bytes of the block. If the callback returns nonzero, the allocation is tried again. It
 * may free blocks, raise the limit, or allocate; its own allocations are refused at the limit without a call. */
void acre_tag_on_limit(acre_tag_t *tag, int (*callback)(acre_tag_t *tag, size_t wanted, void *argument), void *argument);

/* Gives up the tag: the name is free at once, the handle must not be used any more, and the tag with its figures goes
 * as soon as no block counts for it and it is in force nowhere. Tags that are not dropped stay. */
void acre_tag_drop(acre_tag_t *tag);

/* The figures of a tag: bytes, except `refused`. */
struct acre_tag_info {
  char name[64];
  uint64_t live;       /* of blocks that were not freed */
  uint64_t allocated;  /* of all blocks so far */
  uint64_t peak;       /* the most that was live */
  uint64_t limit;      /* UINT64_MAX: none */
  uint64_t refused;    /* number of allocations that were refused for the limit */
};

/* Fills *info. Returns 0, or ESRCH: the tag is gone. */
int acre_tag_get(const acre_tag_t *tag, struct acre_tag_info *info);

/* Returns the tag after this one, of all tags in no special order: the first for NULL, and NULL after the last. */
acre_tag_t *acre_tag_next(const acre_tag_t *tag);

#ifdef __cplusplus
}
#endif

#endif
