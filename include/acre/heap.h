/* Heaps: memory that belongs together, keeps to a limit, comes from a place of its own, and can be freed all at once.
 *
 *     acre_heap_t *heap = acre_heap_create(NULL);
 *     char *text = acre_heap_malloc(heap, 100);
 *     ...
 *     acre_heap_destroy(heap);
 *
 * A block of a heap is freed by free (acre_free), like any other, or with its heap. realloc leaves it in its heap.
 * Heaps are cheap enough for one a request: to create and to destroy one takes no system call once others were
 * destroyed before. Of those that were destroyed 16 are kept, and one for each four that live; the others' memory goes back
 * to the system. All functions may be called from any thread, and from several at the same time, but for
 * acre_heap_reset and acre_heap_destroy: nobody may use the heap or blocks of it then. None is async-signal-safe.
 */
#ifndef ACRE_HEAP_H
#define ACRE_HEAP_H

#include <acre/extent_hooks.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct acre_heap acre_heap_t;

/* What acre_heap_settings.failure may be: when the file gives no memory, the allocation fails, or the heap gets other
 * memory, or the program ends. */
enum { ACRE_HEAP_REFUSE, ACRE_HEAP_FALL_BACK, ACRE_HEAP_ABORT };

/* In the place of a decay time, which is in milliseconds: as the options say (0), unused pages go back at once, or
 * never. */
enum { ACRE_DECAY_BY_OPTIONS = 0, ACRE_DECAY_NEVER = -1, ACRE_DECAY_AT_ONCE = -2 };

/* Zero in all fields is what most heaps want. Texts are copied. */
struct acre_heap_settings {
  const char *name;         /* at most 31 characters are kept */
  size_t limit;             /* bytes in whole pages that its blocks may take; 0: no limit */
  long long dirty_decay_ms;
  long long muzzy_decay_ms;
  /* Where its memory comes from, one of three; otherwise from where the program's does. */
  extent_hooks_t *hooks;    /* functions; have to live as long as the heap */
  const char *file;         /* a folder, for a file without a name in it, or an empty file, made if there is none */
  const char *device;       /* what can be opened and mapped, and has start bytes and more */
  size_t start;             /* of a device: where the heap's part begins, a multiple of 2 MiB */
  size_t source_limit;      /* of a file: its most bytes; of a device: where the part ends. 0: no limit */
  int is_private;           /* of a file: what is written goes to memory, and not to the file */
  int failure;
  /* Bytes in whole pages that the heap may hold, unused ones included. An allocation that passes it returns unused pages
   * to the system at once. If the pages of its blocks alone are more, on_soft_limit is called: with their bytes and
   * `argument`, again when a sixteenth of the limit more is in use or when it is passed anew, and before an allocation is
   * refused. It is called by the thread that allocates, by one at a time, with no lock held; it may free and allocate,
   * in the heap too, but not reset or destroy it. 0 and NULL: none. */
  size_t soft_limit;
  void (*on_soft_limit)(acre_heap_t *heap, size_t bytes, void *argument);
  void *argument;
};

/* settings: NULL for none. NULL and errno: ENOMEM, memory was refused; ENODEV, the file or device cannot be had. */
acre_heap_t *acre_heap_create(const struct acre_heap_settings *settings);

/* As malloc, calloc, aligned_alloc and realloc; the block is in the heap. A block that realloc is given may be one of
 * another heap or of none. */
void *acre_heap_malloc(acre_heap_t *heap, size_t size);
void *acre_heap_calloc(acre_heap_t *heap, size_t count, size_t size);
void *acre_heap_aligned_alloc(acre_heap_t *heap, size_t alignment, size_t size);
void *acre_heap_realloc(acre_heap_t *heap, void *block, size_t size);

/* Frees all blocks of the heap. To reset or destroy a heap that was destroyed, or that another thread resets or destroys
 * at that moment, ends the program with one line on stderr. A heap that was created since may have the same address: then
 * it is that heap which is reset or destroyed. */
void acre_heap_reset(acre_heap_t *heap);

/* Frees all blocks and the heap. */
void acre_heap_destroy(acre_heap_t *heap);

/* Bytes in the pages of its blocks, which is what the limit is about: free blocks between them count too. */
size_t acre_heap_bytes(const acre_heap_t *heap);

/* The heap that a live block is in; NULL if it is in none. */
acre_heap_t *acre_heap_of(const void *block);

#ifdef __cplusplus
}
#endif

#endif
