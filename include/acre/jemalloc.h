/* Names of jemalloc's that acre has too, as jemalloc's manual page describes them. acre/acre.h has each of them with
 * the prefix acre_. docs/ctl.md lists the nodes.
 */
#ifndef ACRE_JEMALLOC_H
#define ACRE_JEMALLOC_H

#include <acre/acre.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In the place of an arena's index: all arenas together. */
#define MALLCTL_ARENAS_ALL 4096

int mallctl(const char *name, void *oldp, size_t *oldlenp, void *newp, size_t newlen);
int mallctlnametomib(const char *name, size_t *mibp, size_t *miblenp);
int mallctlbymib(const size_t *mib, size_t miblen, void *oldp, size_t *oldlenp, void *newp, size_t newlen);

/* Gives all statistics to write_cb, in parts, or to stderr if that is NULL: for people, or as JSON if opts has a J.
 * Other letters leave something out: g what never changes, m all arenas together, a each arena, b size classes, l large
 * blocks by length, x locks, e free runs by length. opts may be NULL. Nothing is written if memory is refused. */
void malloc_stats_print(void (*write_cb)(void *opaque, const char *text), void *opaque, const char *opts);

#ifdef __cplusplus
}
#endif

#endif
