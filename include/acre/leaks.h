/* What a program may tell and ask the leak checker (docs/leaks.md).
 *
 * acre follows blocks from the start of a program that runs under `acre run --leaks` or with the option leaks. In other
 * programs a check of a section finds nothing. All functions may be called from any thread, but from no signal handler.
 */
#ifndef ACRE_LEAKS_H
#define ACRE_LEAKS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the first argument points at is not read, and need not be initialized. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#define ACRE_NOT_READ __attribute__((access(none, 1)))
#else
#define ACRE_NOT_READ
#endif

/* Returns whether blocks are followed in this process, and whether the program is checked at its end. */
#define ACRE_LEAKS_OFF 0
#define ACRE_LEAKS_LOCAL 1    /* blocks are followed, and sections can be checked (leaks:local) */
#define ACRE_LEAKS_AT_EXIT 2  /* the whole program is checked at its end, too */
int acre_leaks_active(void);

/* Cancels the check of the program at its end. */
void acre_leaks_cancel(void);

/* acre_leaks_ignore: the block that `p` points to, or into, and what it leads to, is no leak from now on.
 * acre_leaks_heed ends that; call it before the block is freed. Return 0, or -1: 4096 blocks are ignored already, or
 * this one was not. */
int acre_leaks_ignore(const void *p) ACRE_NOT_READ;
int acre_leaks_heed(const void *p) ACRE_NOT_READ;

/* What the calling thread allocates from disable to enable is no leak, nor is what it leads to. Calls nest. */
void acre_leaks_disable(void);
void acre_leaks_enable(void);

/* acre_leaks_leave_out: the check does not search these bytes for pointers from now on, for example a mapped cache
 * whose pointers shall not make a block reachable. The bytes must not lie in a block of acre's. acre_leaks_take_in ends
 * that. Return 0, or -1: 256 ranges are left out already, or none begins at `start`. */
int acre_leaks_leave_out(const void *start, size_t bytes) ACRE_NOT_READ;
int acre_leaks_take_in(const void *start) ACRE_NOT_READ;

/* acre_leaks_begin begins a section of the program and returns its number. acre_leaks_end checks the blocks that any
 * thread allocated since: a block that no pointer leads to is a leak (with the mode draconian, a block that is not
 * freed). Older blocks count as reachable. Section 0 is the whole program, checked by the rules of its mode. With
 * leaks, a report is written, and a line on stderr names it and `name` (which may be NULL).
 *
 * acre_leaks_end stops all other threads for a moment. It returns the number of leaked blocks, and sets *bytes to their
 * bytes if `bytes` is not NULL; or returns -1 with errno if the check failed. */
unsigned acre_leaks_begin(void);
long long acre_leaks_end(unsigned section, const char *name, size_t *bytes);

/* Writes a report of the leaks at this moment to the file `path`; if `path` is NULL, to a file in the option
 * leaks_folder. Without the option leaks only blocks that the heap profiler samples have stacks. Returns 0 or an error
 * number. Stops all other threads for a moment. */
int acre_leaks_dump(const char *path);

#undef ACRE_NOT_READ

#ifdef __cplusplus
}
#endif

#endif
