// acre-test: not-preload
// acre's header is C++ as well: C linkage, no complaint about exception specifications.
#include <acre/jemalloc.h>
static const uint64_t most = UINT_MAX;  // jemalloc's header brings these along
static const bool has_both = true;
#include <acre/acre.h>
#include <acre/acre.h>

#include <cstdlib>
#include <malloc.h>

#include "check.h"

int main() {
    void *block = hide(acre_malloc(hide_size(100)));
    CHECK(block != nullptr);
    CHECK(acre_owns(block) && has_both && most > INT_MAX && ffs(4) == 3);
    CHECK_EQ(acre_malloc_usable_size(block), malloc_usable_size(block));
    std::free(block);
    acre_free(must_malloc(100));
    return 0;
}
