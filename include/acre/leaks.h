/* The leak checker: what a program may tell it, and ask. docs/leaks.md describes it.
 *
 * Blocks are followed from the start of a program that runs under `acre run --leaks` or with the option leaks; in
 * others a check of a section finds nothing. All may be called from any thread, but from no signal handler.
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

/* Whether blocks are followed in this process, and looked at when the program ends. */
#define ACRE_LEAKS_OFF 0
#define ACRE_LEAKS_LOCAL 1    /* sections are checked, and what acre_leaks_dump writes (leaks:local) */
#define ACRE_LEAKS_AT_EXIT 2  /* so is the whole program at its end */
int acre_leaks_active(void);

/* The program is not checked at its end. */
void acre_leaks_cancel(void);

/* The block that `p` points at, or into, is no leak from now on, nor is what it leads to. Not undone by free: call
 * acre_leaks_heed before. Return 0, or -1: there are too many (4096), or it was not ignored. */
int acre_leaks_ignore(const void *p) ACRE_NOT_READ;
int acre_leaks_heed(const void *p) ACRE_NOT_READ;

/* What the calling thread allocates from disable to enable is no leak, nor is what it leads to. They nest. */
void acre_leaks_disable(void);
void acre_leaks_enable(void);

/* No pointers are looked for in these bytes from now on, which must not lie in a block of acre's: say in a cache that
 * was mapped, and whose pointers shall not keep a block from being a leak. Return 0, or -1: there are too many (256),
 * or none begins there. */
int acre_leaks_leave_out(const void *start, size_t bytes) ACRE_NOT_READ;
int acre_leaks_take_in(const void *start) ACRE_NOT_READ;

/* A check of a section of the program: of what was allocated since `begin` returned this number. What can still be
 * reached is no leak; what was there before is taken for reachable. With leaks, a report is written and a line on
 * stderr names it. The section 0 began with the program, and is checked by the rules of the mode. Returns the number of
 * leaked blocks, and their bytes if `bytes` is not NULL; -1: the check failed, and errno says why. All other threads are
 * stopped for a moment. */
unsigned acre_leaks_begin(void);
long long acre_leaks_end(unsigned section, const char *name, size_t *bytes);

/* Writes a report of the leaks of this moment to the file `path`; of NULL, to one in the option leaks_folder. Works
 * without the option leaks, too: blocks are then counted without their stacks, but for those that the heap profiler
 * samples. Returns 0 or an error number. All other threads are stopped for a moment. */
int acre_leaks_dump(const char *path);

#undef ACRE_NOT_READ

#ifdef __cplusplus
}
#endif

#endif
