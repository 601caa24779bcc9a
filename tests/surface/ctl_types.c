// acre-test: not-static
// acre-test: libs=dl
// The nodes that jemalloc's wrappers in other languages ask for, by name and by MIB, with jemalloc's types.
#include "check.h"
#include "loaded.h"

static int (*ctl)(const char *, void *, size_t *, void *, size_t);
static int (*to_mib)(const char *, size_t *, size_t *);
static int (*by_mib)(const size_t *, size_t, void *, size_t *, void *, size_t);

struct Node {
    const char *name;
    size_t size;   // of its type
    int written;   // it may be written what it was read
    int is_text;
};

static const struct Node nodes[] = {
    {"version", 8, 0, 1},
    {"epoch", 8, 1, 0},
    {"background_thread", 1, 1, 0},
    {"max_background_threads", 8, 1, 0},
    {"config.malloc_conf", 8, 0, 1},
    {"config.stats", 1, 0, 0},
    {"config.prof", 1, 0, 0},
    {"config.fill", 1, 0, 0},
    {"opt.abort", 1, 0, 0},
    {"opt.background_thread", 1, 0, 0},
    {"opt.dirty_decay_ms", 8, 0, 0},
    {"opt.muzzy_decay_ms", 8, 0, 0},
    {"opt.dss", 8, 0, 1},
    {"opt.junk", 8, 0, 1},
    {"opt.metadata_thp", 8, 0, 1},
    {"opt.narenas", 4, 0, 0},
    {"opt.percpu_arena", 8, 0, 1},
    {"opt.prof", 1, 0, 0},
    {"opt.retain", 1, 0, 0},
    {"opt.tcache", 1, 0, 0},
    {"opt.tcache_max", 8, 0, 0},
    {"opt.thp", 8, 0, 1},
    {"opt.zero", 1, 0, 0},
    {"thread.arena", 4, 1, 0},
    {"thread.allocated", 8, 0, 0},
    {"thread.allocatedp", 8, 0, 0},
    {"thread.deallocated", 8, 0, 0},
    {"thread.deallocatedp", 8, 0, 0},
    {"thread.peak.read", 8, 0, 0},
    {"thread.tcache.enabled", 1, 1, 0},
    {"arena.0.initialized", 1, 0, 0},
    {"arena.0.dss", 8, 1, 1},
    {"arena.0.dirty_decay_ms", 8, 1, 0},
    {"arenas.narenas", 4, 0, 0},
    {"arenas.dirty_decay_ms", 8, 1, 0},
    {"arenas.quantum", 8, 0, 0},
    {"arenas.page", 8, 0, 0},
    {"arenas.nbins", 4, 0, 0},
    {"arenas.bin.0.size", 8, 0, 0},
    {"arenas.bin.0.nregs", 4, 0, 0},
    {"arenas.nlextents", 4, 0, 0},
    {"arenas.lextent.0.size", 8, 0, 0},
    {"stats.allocated", 8, 0, 0},
    {"stats.active", 8, 0, 0},
    {"stats.metadata", 8, 0, 0},
    {"stats.resident", 8, 0, 0},
    {"stats.mapped", 8, 0, 0},
    {"stats.retained", 8, 0, 0},
};

static void check_node(const struct Node *node) {
    unsigned char value[8] = {0}, again[8] = {0};
    size_t size = node->size;
    if (ctl(node->name, value, &size, NULL, 0) != 0 || size != node->size) check_fail(__FILE__, __LINE__, node->name);
    size_t mib[8], length = 8;
    CHECK_EQ(to_mib(node->name, mib, &length), 0);
    CHECK_EQ(by_mib(mib, length, again, &size, NULL, 0), 0);
    if (node->is_text) {
        const char *text, *same;
        memcpy(&text, value, sizeof text);
        memcpy(&same, again, sizeof same);
        CHECK(text != NULL && strcmp(text, same) == 0);
    }
    if (!node->written) {
        if (strncmp(node->name, "opt.", 4) == 0) return;  // many of acre's options may be
        CHECK_EQ(ctl(node->name, NULL, NULL, value, node->size), EPERM);
        return;
    }
    CHECK_EQ(by_mib(mib, length, again, &size, value, node->size), 0);
    CHECK_EQ(ctl(node->name, NULL, NULL, value, node->size + 1), EINVAL);
}

int main(void) {
    find(&ctl, "mallctl");
    find(&to_mib, "mallctlnametomib");
    find(&by_mib, "mallctlbymib");
    for (unsigned i = 0; i < sizeof nodes / sizeof nodes[0]; i++) check_node(&nodes[i]);

    // A counter at the address that allocatedp gives.
    uint64_t *allocated;
    size_t size = sizeof allocated;
    CHECK_EQ(ctl("thread.allocatedp", &allocated, &size, NULL, 0), 0);
    const uint64_t before = *allocated;
    void *block = must_malloc(MIB);
    CHECK_EQ(*allocated, before + MIB);
    free(block);
    CHECK_EQ(*allocated, before + MIB);
    return 0;
}
