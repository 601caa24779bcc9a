/* What acre tells and does in TCMalloc's terms, for C and without a C++ library. acre's libtcmalloc.so.4, which has the
 * names of TCMalloc itself (MallocExtension, tc_malloc …), is built on these; docs/tcmalloc.md describes both.
 *
 * All functions may be called from any thread, and none from a signal handler. They allocate no blocks and leave errno
 * alone. Figures are gathered while others go on allocating: each is right at some time during the call.
 */
#ifndef ACRE_TCMALLOC_H
#define ACRE_TCMALLOC_H

#include <acre/acre.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A numeric property, such as "generic.heap_size". 1, or 0 if there is none of that name; or, for the second, if it
 * cannot be set, or not to this value. */
int acre_get_property(const char *name, size_t *value);
int acre_set_property(const char *name, size_t value);

/* How fast unused memory goes back to the operating system: 1 by default, 0 never, 2 twice as fast as 1. The option
 * dirty_decay_ms is what it sets. Below 0: the option release_rate holds, which counts in bytes. */
double acre_get_release_rate(void);
/* 0, or -1 if the rate is below 0 or no number. */
int acre_set_release_rate(double rate);

/* Returns at least `bytes` bytes of unused memory to the operating system, or all that there are; returns how many. The
 * threads' caches stay as they are. */
size_t acre_release_memory(size_t bytes);

/* Bytes of free blocks that the calling thread can hand out by itself; mallctl's thread.tcache.flush gives them up. */
size_t acre_thread_cache_bytes(void);

/* 1 if the lists of free blocks that the calling thread can reach are whole; 0: something was written to a block after
 * it was freed, or past the end of one. */
int acre_verify_memory(void);

/* Live blocks: how many, how many bytes, and in by_size[i] how
 * many with 2^i to 2^(i+1) - 1 bytes. */
#define ACRE_BLOCK_SIZES 64
void acre_block_sizes(size_t *blocks, size_t *bytes, size_t by_size[ACRE_BLOCK_SIZES]);

/* Visits all lists of free memory that are not empty. least, most: the requests that a list can serve, in bytes; bytes:
 * what it holds; type: "tcmalloc.thread" and "tcmalloc.central", blocks of a size class in runs that a thread owns, or
 * none; "tcmalloc.transfer", blocks that other threads gave back to the owner; "tcmalloc.page" and "tcmalloc.large",
 * runs of pages of a length, or of 128 pages and more; with "_unmapped", those that hold no memory. */
void acre_free_lists(void (*visit)(void *opaque, size_t least, size_t most, size_t bytes, const char *type),
                     void *opaque);

/* Visits all runs of pages, in no order. kind: 0 in use, 1 free, 2 free and without memory; fraction: how much of one
 * in use is in live blocks. */
void acre_ranges(void (*visit)(void *opaque, uintptr_t start, size_t bytes, int kind, double fraction), void *opaque);

/* Visits the stacks of the heap profile (docs/profiling.md), innermost return address first. blocks, bytes: sampled
 * blocks that live; with ACRE_STACKS_OF_GROWTH how often address space was got from the system for this stack, and how
 * much. Stacks with none are left out. Returns the bytes from sample to sample, at least 1; 0: there is no profile. The
 * function that is called may allocate. */
#define ACRE_STACKS_OF_SAMPLES 0
#define ACRE_STACKS_OF_GROWTH 1
size_t acre_profile_stacks(int of, void (*visit)(void *opaque, size_t blocks, size_t bytes, const uintptr_t *frames,
                                                 unsigned depth), void *opaque);

/* A function that is called when memory is refused for malloc and its kin (calloc, realloc, memalign …) or for operator
 * new, which calls no new_handler then. Nonzero: it may have made room, and the allocation is tried again; 0: the
 * allocation fails. Called with no lock held; it may allocate and free, and must not throw. NULL: none, as at first. What
 * the program wants from a heap or an arena of its own, or what counts for a tag, is refused without it. */
void acre_set_refused_handler(int (*handler)(void));

/* Where memory for the program comes from, from now on: a function of the program's that is given a number of bytes, a
 * multiple of 2 MiB, and an alignment, and returns NULL, or memory of at least so many bytes, and in *actual of how many.
 * It is called with no lock held but in the middle of an allocation, and must not allocate or free. acre keeps what it
 * gives, and returns none of its pages to the operating system. Blocks of more than 1 GiB do not come from it, nor acre's
 * own structures. NULL: memory comes from the operating system again. docs/tcmalloc.md has more. 0, or -1: memory for a
 * note of it was refused, and nothing has changed.
 *
 * The other one gives what acre would take itself, for a function that falls back on it; such pages go back to the
 * operating system when they are unused. NULL: there is none. */
int acre_set_system_allocator(void *(*allocate)(void *opaque, size_t bytes, size_t *actual, size_t alignment),
                              void *opaque);
void *acre_system_allocate(size_t bytes, size_t *actual, size_t alignment);

/* Functions that are called for each block that is allocated, with its bytes as malloc_usable_size has them, and for each
 * that is about to be freed, with no lock held. What they allocate and free themselves, they are called for, too. The
 * calling thread's blocks are seen at once, those from before included; other threads', from when they next come to the
 * slow door for a small block. realloc of a small block that stays in its size class is not seen. At most 7 of each kind;
 * 1, or 0: there are so many already, or NULL; it is not there. */
int acre_add_new_hook(void (*hook)(const void *block, size_t bytes));
int acre_remove_new_hook(void (*hook)(const void *block, size_t bytes));
int acre_add_delete_hook(void (*hook)(const void *block));
int acre_remove_delete_hook(void (*hook)(const void *block));

#ifdef __cplusplus
}
#endif

#endif
