// What the programs linked with TCMalloc share.
#ifndef ACRE_TESTS_FACES_TCMALLOC_H
#define ACRE_TESTS_FACES_TCMALLOC_H

#include "../surface/check.h"

#include <dlfcn.h>

typedef int (*Owns)(const void *);

// acre_owns, which only acre has: the program runs on it.
static inline Owns find_owns(void) {
    Owns owns;
    void *symbol = dlsym(RTLD_DEFAULT, "acre_owns");
    CHECK(symbol != NULL);
    memcpy(&owns, &symbol, sizeof owns);
    return owns;
}

#define PROPERTIES_READ                                                                                      \
    "generic.current_allocated_bytes", "generic.heap_size", "generic.total_physical_bytes",                  \
        "tcmalloc.current_total_thread_cache_bytes", "tcmalloc.central_cache_free_bytes",                    \
        "tcmalloc.transfer_cache_free_bytes", "tcmalloc.thread_cache_free_bytes",                            \
        "tcmalloc.pageheap_free_bytes", "tcmalloc.pageheap_unmapped_bytes", "tcmalloc.slack_bytes",          \
        "tcmalloc.pageheap_committed_bytes", "tcmalloc.pageheap_scavenge_count",                             \
        "tcmalloc.pageheap_decommit_count", "tcmalloc.pageheap_total_decommit_bytes",                        \
        "tcmalloc.pageheap_total_commit_bytes", "tcmalloc.impl.thread_cache_count"

#endif
