/* Heaps: blocks that lie together, keep to a limit, come from a place of their own, and can be freed all at once.
 *
 *     acre_heap_t *heap = acre_heap_create(NULL);
 *     char *text = acre_heap_malloc(heap, 100);
 *     ...
 *     acre_heap_destroy(heap);
 *
 * A block of a heap is freed by free (acre_free), like any other block, or with its heap. realloc leaves it in its
 * heap.
 *
 * A heap is cheap enough for each request of a server: creating and destroying one takes no system call once others
 * were destroyed before. acre keeps 16 destroyed heaps, and one for each four that live; the memory of the others goes
 * back to the system.
 *
 * All functions may be called from any thread, and from several at the same time. During acre_heap_reset and
 * acre_heap_destroy no other thread may use the heap or a block of it. None is async-signal-safe.
 */
#ifndef ACRE_HEAP_H
#define ACRE_HEAP_H

#include <acre/extent_hooks.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct acre_heap acre_heap_t;

/* Values of acre_heap_settings.failure. When the file gives no memory, the allocation fails, the heap gets other
 * memory, or the program ends. */
enum { ACRE_HEAP_REFUSE, ACRE_HEAP_FALL_BACK, ACRE_HEAP_ABORT };

/* Values in place of a decay time in milliseconds: unused pages go back as the options say, never, or at once. */
enum { ACRE_DECAY_BY_OPTIONS = 0, ACRE_DECAY_NEVER = -1, ACRE_DECAY_AT_ONCE = -2 };

/* Zero in all fields is right for most heaps. Texts are copied. */
struct acre_heap_settings {
  const char *name;         /* at most 31 characters are kept */
  size_t limit;             /* the most bytes, in whole pages, that its blocks may take; 0: no limit */
  long long dirty_decay_ms;
  long long muzzy_decay_ms;
  /* Where its memory comes from: at most one of these three. With none, from where the program's memory comes. */
  extent_hooks_t *hooks;    /* functions; the table has to live as long as the heap */
  const char *file;         /* a folder, for a file without a name in it; or an empty file, which is made if missing */
  const char *device;       /* a device or file that can be mapped and has more than `start` bytes */
  size_t start;             /* of a device: the offset of the heap's part, a multiple of 2 MiB */
  size_t source_limit;      /* of a file: its most bytes; of a device: the offset of the part's end. 0: no limit */
  int is_private;           /* of a file: writes go to memory, not to the file */
  int failure;
  /* soft_limit: bytes, in whole pages, that the heap may hold, unused pages included; 0: no limit. An allocation that
   * passes it returns unused pages to the system at once. If the pages of the heap's blocks alone are more,
   * on_soft_limit is called with their bytes and `argument`: again when a sixteenth of the limit more is in use, when
   * the limit is passed anew, and before an allocation is refused. One allocating thread at a time calls it, with no
   * lock held. It may free and allocate, in this heap too, but not reset or destroy this heap. NULL: none. */
  size_t soft_limit;
  void (*on_soft_limit)(acre_heap_t *heap, size_t bytes, void *argument);
  void *argument;
};

/* Creates a heap; settings may be NULL. On failure returns NULL and sets errno: ENOMEM, memory was refused; ENODEV,
 * with a file or device in the settings: it cannot be used, or memory was refused. */
acre_heap_t *acre_heap_create(const struct acre_heap_settings *settings);

/* As malloc, calloc, aligned_alloc and realloc, for a block in the heap. On failure they return NULL and set errno:
 * ENOMEM, memory was refused or the heap's limit is reached; EINVAL, the alignment is no power of two. The block that
 * is given to acre_heap_realloc may be of another heap or of none. */
void *acre_heap_malloc(acre_heap_t *heap, size_t size);
void *acre_heap_calloc(acre_heap_t *heap, size_t count, size_t size);
void *acre_heap_aligned_alloc(acre_heap_t *heap, size_t alignment, size_t size);
void *acre_heap_realloc(acre_heap_t *heap, void *block, size_t size);

/* Frees all blocks of the heap. Resetting or destroying a heap that was destroyed, or that another thread resets or
 * destroys at that moment, ends the program with one line on stderr. But if a heap was created at the same address
 * since, that heap is reset or destroyed. */
void acre_heap_reset(acre_heap_t *heap);

/* Frees all blocks and the heap. The heap must not be used afterwards. */
void acre_heap_destroy(acre_heap_t *heap);

/* Bytes in the pages of the heap's blocks, free blocks between them included. The limit bounds this figure. */
size_t acre_heap_bytes(const acre_heap_t *heap);

/* Returns the heap of a live block, or NULL if the block is in none. */
acre_heap_t *acre_heap_of(const void *block);

#ifdef __cplusplus
}
#endif

#endif
