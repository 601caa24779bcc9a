// acre-test: not-preload
// acre's header is C++ as well: C linkage, no complaint about exception specifications.
#include <acre/jemalloc.h>
#include <acre/acre.h>
#include <acre/acre.h>

#include <cstdlib>
#include <malloc.h>

#include "check.h"

int main() {
    void *block = hide(acre_malloc(hide_size(100)));
    CHECK(block != nullptr);
    CHECK(acre_owns(block));
    CHECK_EQ(acre_malloc_usable_size(block), malloc_usable_size(block));
    std::free(block);
    acre_free(must_malloc(100));
    return 0;
}
