// acre-test: not-preload
// acre-test: env=MALLOC_CONF=muzzy_decay_ms:5,prof:true,dirty_decay_ms:3 env=ACRE_CONF=dirty_decay_ms:4
// A program's malloc_conf and MALLOC_CONF count, below acre's own settings; what acre does not know is passed over.
#include "check.h"

#include <acre/jemalloc.h>

const char *malloc_conf = "narenas:3,muzzy_decay_ms:7,lg_tcache_max:13,background_thread:maybe,nonsense,xmalloc:true";

static long long number(const char *name) {
    ssize_t value = 0;
    size_t size = sizeof value;
    CHECK_EQ(mallctl(name, &value, &size, NULL, 0), 0);
    return value;
}

int main(void) {
    CHECK_EQ(number("opt.arenas"), 3);
    CHECK_EQ(number("opt.muzzy_decay_ms"), 5);
    CHECK_EQ(number("opt.dirty_decay_ms"), 4);
    unsigned char xmalloc = 0;
    size_t size = sizeof xmalloc;
    CHECK_EQ(mallctl("opt.xmalloc", &xmalloc, &size, NULL, 0), 0);
    CHECK_EQ(xmalloc, 1);
    return 0;
}
