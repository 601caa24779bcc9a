/* acre: a general-purpose memory allocator for Linux.
 *
 * A program that links with libacre, or is started with libacre preloaded, has malloc, free and the C++ operators from
 * acre, without a header. This header declares the same functions under names of their own, for programs that use acre
 * beside another allocator, and functions that describe acre.
 *
 * All functions may be called from any thread. None is async-signal-safe. Blocks of malloc and acre_malloc are the
 * same: where malloc is acre's, free and acre_free take both.
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

/* As their namesakes in C23, POSIX and glibc. Sizes are in bytes. On failure they return NULL and set errno to ENOMEM,
 * or to EINVAL for an alignment that is not allowed; posix_memalign returns the error instead. On success they leave
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

/* Bytes that the program may use in a live block: at least the requested size. 0 for NULL. Another pointer ends the
 * program. */
size_t acre_malloc_usable_size(const void *block);

/* Returns all dirty and muzzy pages but `pad` bytes to the operating system, and empties the calling thread's cache
 * before. Returns 1 if any memory was returned, else 0. */
int acre_malloc_trim(size_t pad);

/* Prints a summary of acre's memory to stderr. */
void acre_malloc_stats(void);

/* As their namesakes in glibc's <malloc.h>. Fields without a meaning here are 0. acre_mallopt returns 1 and changes
 * nothing. acre_malloc_info writes XML and returns 0, or -1; `options` must be 0 (else errno is EINVAL). */
struct mallinfo acre_mallinfo(void);
struct mallinfo2 acre_mallinfo2(void);
int acre_mallopt(int parameter, int value);
int acre_malloc_info(int options, FILE *stream);

/* Sets the callback for the option soft_limit; a later callback replaces an earlier one. NULL: no more calls, but a
 * call that is under way in another thread goes on.
 *
 * acre calls it with the bytes held, the limit, and `argument`, when more than the limit is held although all unused
 * memory was returned. It calls again when a sixteenth of the limit more is held, when the limit is passed anew, and
 * before a request is refused while the limit is passed.
 *
 * One thread at a time makes the call, inside malloc, free or the like, with no lock of acre's held. The callback may
 * allocate and free. It must return, and must not wait for a lock that its thread may hold around an allocation;
 * setting a flag or trying the lock is safe. */
void acre_on_soft_limit(void (*callback)(size_t held, size_t limit, void *argument), void *argument);

/* The version of the library in use, in the form of ACRE_VERSION. */
const char *acre_version(void);

/* Returns 1 if `block` is the start of a live block of acre's, else 0. Any pointer is allowed. */
int acre_owns(const void *block);

/* A size class: requests of up to 32 KiB are rounded up to one. */
struct acre_size_class {
  size_t size;             /* bytes of a block */
  size_t run_bytes;        /* bytes of a run, which is cut into blocks of this class */
  unsigned blocks;         /* blocks a run */
  size_t alignment;        /* every block's address is a multiple of this */
  size_t smallest_request; /* the smallest request that is rounded up to this class */
};

/* Describes size class `index`, counted from 0. Returns 0, or -1 if there is no such class. */
int acre_size_class_info(unsigned index, struct acre_size_class *out);

/* An option (docs/options.md). */
struct acre_option {
  const char *name;
  const char *type;           /* "bool", "number", "bytes", "choice" or "path" */
  const char *choices;        /* of a bool or a choice: the names of the values 0, 1 ..., each with a 0 at its end, then
                                 an empty name */
  long long default_value;
  long long least, most;      /* the range of values */
  long long value;            /* the value in force; of a path: 0 if there is none */
  const char *source;         /* where the value was set: "default", "/etc/acre.conf", "malloc_conf", "TCMALLOC_*",
                                 "ACRE_CONF", "acre_conf", "run time" */
  int changeable;             /* 1: mallctl may change it while the program runs, else 0 */
  const char *help;
  const char *text;           /* the value of a path, or ""; of other types "" */
};

/* Describes option `index`, counted from 0. Returns 0, or -1 if there is no such option. The texts stay valid. */
int acre_option_info(unsigned index, struct acre_option *out);

/* jemalloc's mallctl: reads the value of a name if oldp is not NULL, and changes it if newp is not NULL. docs/ctl.md
 * lists the names, such as "stats.allocated" and "arena.0.purge". acre_mallctlnametomib translates a name into numbers
 * once; the caller may then exchange numbers that stand in the name, such as the 0 in "arena.0.purge".
 *
 * Return 0 or an error number, and leave errno alone:
 *   ENOENT  there is no such name
 *   EINVAL  *oldlenp or newlen is not the size of the value (what fits into *oldlenp bytes is read nevertheless), or
 *           the new value is out of range
 *   EPERM   the value cannot be read, or cannot be changed
 *   EAGAIN  memory or a thread was refused
 *   EFAULT  another failure */
int acre_mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int acre_mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp);
int acre_mallctlbymib(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp, size_t newlen);

/* jemalloc's functions for requests with flags: acre/jemalloc.h describes them. */
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

/* Redis's and jemalloc's get_defrag_hint and malloc_stats_print: acre/jemalloc.h describes them. */
int acre_get_defrag_hint(void *block);
void acre_malloc_stats_print(void (*write_cb)(void *opaque, const char *text), void *opaque, const char *opts);

/* acre_mallctl and acre_mallctlnametomib for programs that expect the size classes of a jemalloc with a quantum of 8
 * bytes, as Redis and Valkey bring it along (docs/defragmentation.md). */
int acre_je_mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int acre_je_mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp);

/* Writes statistics (docs/statistics.md) by calls of `write`, or to stderr if `write` is NULL. format: "summary" (a few
 * lines), "text" (all figures), "json", or "openmetrics" (for Prometheus). `write` may call any function of acre's,
 * this one too. Returns 0, or an error number with nothing written: EINVAL, there is no such format; EAGAIN, memory was
 * refused. */
int acre_stats_print(const char *format, void (*write)(void *opaque, const char *text), void *opaque);

/* A figure of the statistics (docs/reference.md lists all). */
struct acre_stat {
  const char *scope;    /* what it is of: "process", "arena", "class" (of size), "lock", "length" (of runs), "tag" */
  const char *name;     /* in text and in JSON */
  const char *unit;     /* "bytes", "blocks", "runs", "count", "nanoseconds" or "permille" */
  int counter;          /* 1: it only goes up */
  const char *ctl_name; /* the end of its name for mallctl */
  const char *help;
  int pages;            /* 1: mallctl gives it in pages; 0: in its unit */
};

/* Describes figure `index`, counted from 0. Returns 0, or -1 if there is no such figure. The texts stay valid. */
int acre_stat_info(unsigned index, struct acre_stat *out);

/* A name that acre_mallctl knows. */
struct acre_mallctl_node {
  const char *name; /* with # in place of numbers */
  const char *type; /* as in C; "void": the name stands for an action. A name that is neither readable nor writable
                       stands for an action, too, which may give or take a value of this type (docs/ctl.md) */
  int readable;
  int writable;
};

/* Describes name `index`, counted from 0. Returns 0, or -1 if there is no such name. The texts stay valid. */
int acre_mallctl_info(unsigned index, struct acre_mallctl_node *out);

/* A program may define this variable to set options (in C++ in extern "C"):
 *     const char *acre_conf = "dirty_decay_ms:1000,arenas:4";
 * acre reads it once, at the first allocation, so it must be initialised by a constant. It counts more than
 * /etc/acre.conf, jemalloc's and TCMalloc's variables, and the environment variable ACRE_CONF. */
extern const char *acre_conf;

#ifdef __cplusplus
}
#endif

#endif
