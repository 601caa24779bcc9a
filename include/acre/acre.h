/* acre: a general-purpose memory allocator for Linux.
 *
 * A program that links with libacre, or is started with it preloaded, has malloc, free and the C++ operators
 * from acre; it needs no header. This one declares the same functions under names of their own, for programs
 * that use acre beside another allocator, and what acre tells about itself.
 *
 * All functions may be called from any thread. None is async-signal-safe. Blocks from malloc and acre_malloc
 * are the same: where malloc is acre's, either may free the other's.
 */
#ifndef ACRE_ACRE_H
#define ACRE_ACRE_H

#include <malloc.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ACRE_VERSION "0.1.0"

/* As their namesakes in C23, POSIX and glibc. Sizes are in bytes. On failure they return NULL (posix_memalign:
 * the error) and set errno to ENOMEM, or EINVAL for an alignment that is not allowed; on success they leave
 * errno alone. */
void *acre_malloc(size_t size);
void *acre_calloc(size_t count, size_t size);
void *acre_realloc(void *block, size_t size);
void *acre_reallocarray(void *block, size_t count, size_t size);
void acre_free(void *block);
void acre_free_sized(void *block, size_t size);
void acre_free_aligned_sized(void *block, size_t alignment, size_t size);
void *acre_aligned_alloc(size_t alignment, size_t size);
int acre_posix_memalign(void **block, size_t alignment, size_t size);
void *acre_memalign(size_t alignment, size_t size);
void *acre_valloc(size_t size);
void *acre_pvalloc(size_t size);
void acre_cfree(void *block);

/* Bytes that the program may use in a live block: at least what it asked for. 0 for NULL. */
size_t acre_malloc_usable_size(const void *block);

/* Returns all unused memory to the operating system but `pad` bytes. 1 if any was returned, else 0. */
int acre_malloc_trim(size_t pad);

/* Prints a summary of acre's memory to stderr. */
void acre_malloc_stats(void);

/* As their namesakes in glibc's <malloc.h>; what has no meaning here is 0, and acre_mallopt accepts all and
 * changes nothing. acre_malloc_info writes XML; options must be 0. */
struct mallinfo acre_mallinfo(void);
struct mallinfo2 acre_mallinfo2(void);
int acre_mallopt(int parameter, int value);
int acre_malloc_info(int options, FILE *stream);

/* Has `callback` called when the memory that acre holds has passed the option soft_limit, and is beyond it although all
 * unused memory was returned: with the bytes held, the limit, and `argument`. It is called again when a sixteenth of the
 * limit more is held, or when the limit is passed anew; and before a request is refused, if the limit is passed then.
 * NULL: no more calls, but one that is under way in another thread goes on. There is one callback; a later one takes its
 * place.
 *
 * The call is made in a thread that is inside malloc, free or the like, by one thread at a time. No lock of acre's is
 * held, and the callback may allocate and free. It must return, and must not wait for a lock that its thread may hold
 * around an allocation: to set a flag or to try the lock is safe. Any thread may call acre_on_soft_limit at any time,
 * but no signal handler. */
void acre_on_soft_limit(void (*callback)(size_t held, size_t limit, void *argument), void *argument);

/* The version of the library in use, as ACRE_VERSION. */
const char *acre_version(void);

/* 1 if `block` is the start of a live block of acre's, else 0. Any pointer may be asked about. */
int acre_owns(const void *block);

/* A size class: blocks of up to 32 KiB are rounded up to one. */
struct acre_size_class {
  size_t size;             /* bytes of a block */
  size_t run_bytes;        /* bytes of a run, which is cut into such blocks */
  unsigned blocks;         /* blocks a run */
  size_t alignment;        /* every block's address is a multiple of this */
  size_t smallest_request; /* the smallest size that is rounded up to this class */
};

/* Describes size class `index`, counted from 0. Returns 0, or -1 if there is none. */
int acre_size_class_info(unsigned index, struct acre_size_class *out);

/* An option: what docs/options.md lists. */
struct acre_option {
  const char *name;
  const char *type;           /* "bool", "number", "bytes", "choice" or "path" */
  const char *choices;        /* the names of the values 0, 1 ... of a bool or a choice, each with a 0 at its end,
                                 then an empty one */
  long long default_value;
  long long least, most;      /* the range of values */
  long long value;            /* the one in force; of a path: 0 if there is none */
  const char *source;         /* where it is from: "default", "/etc/acre.conf", "malloc_conf", "TCMALLOC_*", "ACRE_CONF",
                                 "acre_conf", "run time" */
  int changeable;             /* 1: mallctl may change it while the program runs, else 0 */
  const char *help;
  const char *text;           /* the value of a path, "" if it has none; of other types "" */
};

/* Describes option `index`, counted from 0. Returns 0, or -1 if there is none. The texts stay as they are. */
int acre_option_info(unsigned index, struct acre_option *out);

/* jemalloc's mallctl: values by name, read if oldp is not NULL and changed if newp is not NULL. docs/ctl.md lists the
 * names, such as "stats.allocated" and "arena.0.purge". Returns 0 or an error number: ENOENT, there is no such name;
 * EINVAL, *oldlenp or newlen is not the size of the value (what fits into *oldlenp bytes is read nevertheless) or the
 * new value is out of range; EPERM, it cannot be read or changed; EAGAIN, out of memory; EFAULT, it failed otherwise.
 * A name can be translated into numbers once, some of which (the 0 in "arena.0.purge") may then be exchanged. */
int acre_mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int acre_mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp);
int acre_mallctlbymib(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp, size_t newlen);

/* jemalloc's functions for blocks with wishes, as acre/jemalloc.h has them with their flags. */
void *acre_mallocx(size_t size, int flags);
void *acre_rallocx(void *block, size_t size, int flags);
size_t acre_xallocx(void *block, size_t size, size_t extra, int flags);
size_t acre_sallocx(const void *block, int flags);
void acre_dallocx(void *block, int flags);
void acre_sdallocx(void *block, size_t size, int flags);
size_t acre_nallocx(size_t size, int flags);
int acre_allocm(void **block, size_t *rsize, size_t size, int flags);
int acre_rallocm(void **block, size_t *rsize, size_t size, size_t extra, int flags);
int acre_sallocm(const void *block, size_t *rsize, int flags);
int acre_dallocm(void *block, int flags);
int acre_nallocm(size_t *rsize, size_t size, int flags);

/* jemalloc's malloc_stats_print: acre/jemalloc.h. */
void acre_malloc_stats_print(void (*write_cb)(void *opaque, const char *text), void *opaque, const char *opts);

/* Gives statistics to `write`, in parts one after the other; to stderr if `write` is NULL. format: "summary", a few lines
 * for people; "text", all of it; "json"; "openmetrics", for Prometheus. docs/statistics.md describes them. `write` may
 * call any function, these too. Returns 0, or an error number with nothing written: EINVAL, there is no such format;
 * EAGAIN, out of memory. */
int acre_stats_print(const char *format, void (*write)(void *opaque, const char *text), void *opaque);

/* A figure of the statistics: what docs/statistics.md lists. */
struct acre_stat {
  const char *scope;    /* what it is of: "process", "arena", "class" (of size), "lock", "length" (of runs), "tag" */
  const char *name;     /* in texts and in JSON */
  const char *unit;     /* "bytes", "blocks", "runs", "count", "nanoseconds" or "permille" */
  int counter;          /* 1: it only goes up */
  const char *ctl_name; /* the end of its name for mallctl */
  const char *help;
  int pages;            /* 1: for mallctl it is in pages, else in its unit */
};

/* Describes figure `index`, counted from 0. Returns 0, or -1 if there is none. The texts stay as they are. */
int acre_stat_info(unsigned index, struct acre_stat *out);

/* A name that acre_mallctl knows. */
struct acre_mallctl_node {
  const char *name; /* with # where a number stands */
  const char *type; /* as C writes it; "void": it does something. Neither readable nor writable: it does something,
                       and may give or take a value of this type for it, as docs/ctl.md says */
  int readable;
  int writable;
};

/* Describes name `index`, counted from 0. Returns 0, or -1 if there is none. */
int acre_mallctl_info(unsigned index, struct acre_mallctl_node *out);

/* The program's own options, for a program that defines it:
 *     const char *acre_conf = "dirty_decay_ms:1000,arenas:4";
 * (in C++ in extern "C"). acre reads it once, at the first allocation, so that it must be initialised by a
 * constant. It counts more than the file /etc/acre.conf and the environment variable ACRE_CONF, which have the same
 * form, and than TCMalloc's variables. */
extern const char *acre_conf;

#ifdef __cplusplus
}
#endif

#endif
