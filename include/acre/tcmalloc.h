/* What acre offers in TCMalloc's terms, for C and without a C++ library. acre's libtcmalloc.so.4, which has TCMalloc's
 * own names (MallocExtension, tc_malloc …), is built on these functions. docs/tcmalloc.md describes both.
 *
 * All functions may be called from any thread, but from no signal handler. They allocate no blocks and leave errno
 * alone. Figures are gathered while other threads go on allocating: each figure is right at some time during the call.
 */
#ifndef ACRE_TCMALLOC_H
#define ACRE_TCMALLOC_H

#include <acre/acre.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Read and set a numeric property, such as "generic.heap_size" (docs/tcmalloc.md lists them). Return 1, or 0: there is
 * no property of this name, or it cannot be set, or not to this value. */
int acre_get_property(const char *name, size_t *value);
int acre_set_property(const char *name, size_t value);

/* Returns how fast unused memory goes back to the operating system, relative to the default: 1 by default, 2 twice as
 * fast, 0 never. Below 0: the option release_rate, in bytes a second, is in effect instead. */
double acre_get_release_rate(void);
/* Sets this rate by the option dirty_decay_ms, and ends the effect of release_rate. Returns 0, or -1: the rate is below
 * 0 or no number. */
int acre_set_release_rate(double rate);

/* Returns at least `bytes` bytes of dirty pages to the operating system, or all that there are, and returns how many
 * bytes that were. Thread caches stay as they are. */
size_t acre_release_memory(size_t bytes);

/* Returns the bytes of free blocks in the calling thread's private lists and runs. mallctl's thread.tcache.flush gives
 * them up. */
size_t acre_thread_cache_bytes(void);

/* Returns 1 if the lists of free blocks that the calling thread can reach are whole; 0 if something was written to a
 * block after it was freed, or past the end of a block. */
int acre_verify_memory(void);

/* Sets *blocks and *bytes to the number and the bytes of live blocks, and by_size[i] to the number of those with 2^i to
 * 2^(i+1) - 1 bytes. All are 0 if memory is refused. */
#define ACRE_BLOCK_SIZES 64
void acre_block_sizes(size_t *blocks, size_t *bytes, size_t by_size[ACRE_BLOCK_SIZES]);

/* Calls `visit` for each list of free memory that is not empty. `visit` may allocate. least, most: the requests that
 * the list can serve, in bytes; bytes: what the list holds. type:
 *   "tcmalloc.thread"    blocks of a size class, in private lists and in runs that a thread owns
 *   "tcmalloc.central"   the same in runs that no thread owns
 *   "tcmalloc.transfer"  the same, given back by other threads to the owner of their run
 *   "tcmalloc.page"      runs of pages of one length; "tcmalloc.page_unmapped": those that hold no memory
 *   "tcmalloc.large"     runs of more than 128 pages; "tcmalloc.large_unmapped": those that hold no memory */
void acre_free_lists(void (*visit)(void *opaque, size_t least, size_t most, size_t bytes, const char *type),
                     void *opaque);

/* Calls `visit` for each run of pages, in no order. `visit` may allocate. kind: 0, in use; 1, free; 2, free and without
 * memory. fraction: the share of a run in use that is in live blocks. */
void acre_ranges(void (*visit)(void *opaque, uintptr_t start, size_t bytes, int kind, double fraction), void *opaque);

/* Calls `visit` for each stack of the heap profile (docs/profiling.md), with return addresses, innermost first. `visit`
 * may allocate. blocks, bytes: sampled live blocks; with ACRE_STACKS_OF_GROWTH, how often address space was got from
 * the system for this stack, and how much. Stacks without any are left out. Returns the mean bytes from sample to
 * sample, at least 1; or 0 if there is no profile. */
#define ACRE_STACKS_OF_SAMPLES 0
#define ACRE_STACKS_OF_GROWTH 1
size_t acre_profile_stacks(int of, void (*visit)(void *opaque, size_t blocks, size_t bytes, const uintptr_t *frames,
                                                 unsigned depth), void *opaque);

/* Sets the handler that is called when memory is refused for malloc and its kin (calloc, realloc, memalign …) or for
 * operator new, which calls no new_handler then; NULL, the initial value: none. If the handler returns nonzero, the
 * allocation is tried again; if it returns 0, the allocation fails. It is called with no lock held, may allocate and
 * free, and must not throw. Requests to a heap or a chosen arena, and those that count for a tag, are refused without a
 * call. */
void acre_set_refused_handler(int (*handler)(void));

/* acre_set_system_allocator: from now on memory for the program comes from this function; NULL: from the operating
 * system again. The function gets a number of bytes, a multiple of 2 MiB, and an alignment. It returns memory of at
 * least so many bytes and sets *actual to how many they are, or returns NULL. It is called with no lock held, but in
 * the middle of an allocation: it must not allocate or free. acre keeps the memory and returns none of its pages to the
 * operating system. Blocks of more than 1 GiB and acre's own structures do not come from the function. docs/tcmalloc.md
 * has more. Returns 0, or -1: memory was refused, and nothing has changed.
 *
 * acre_system_allocate: returns what acre would take from the operating system itself, for such a function to fall back
 * on; NULL if there is none. Its pages go back to the operating system when they are unused. */
int acre_set_system_allocator(void *(*allocate)(void *opaque, size_t bytes, size_t *actual, size_t alignment),
                              void *opaque);
void *acre_system_allocate(size_t bytes, size_t *actual, size_t alignment);

/* Add and remove hooks: functions that are called, with no lock held, for each allocated block with its bytes (as
 * malloc_usable_size counts), and for each block that is about to be freed. Hooks are also called for what they
 * allocate and free themselves. They see blocks of the calling thread at once, older blocks included; those of other
 * threads from when these next take the slow path for a small block. They do not see realloc of a small block within
 * its size class. Return 1, or 0: there are 7 hooks of this kind already, or the hook is NULL; or the hook to remove is
 * not there. */
int acre_add_new_hook(void (*hook)(const void *block, size_t bytes));
int acre_remove_new_hook(void (*hook)(const void *block, size_t bytes));
int acre_add_delete_hook(void (*hook)(const void *block));
int acre_remove_delete_hook(void (*hook)(const void *block));

#ifdef __cplusplus
}
#endif

#endif
