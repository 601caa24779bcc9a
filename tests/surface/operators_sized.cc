// acre-test: not-hardened
// A program that replaces operator delete(void*, size_t) alone. No other form calls it.
// The hardened mode tells who frees what operator new allocated.
#include <new>

#include "check.h"

static int given = 0;
static std::size_t size_seen = 0;

void operator delete(void *p, std::size_t size) noexcept {
    given++;
    size_seen = size;
    free(p);
}

int main() {
    ::operator delete(hide(::operator new(hide_size(40))), std::size_t{40});
    CHECK_EQ(given, 1);
    CHECK_EQ(size_seen, 40);
    ::operator delete(hide(::operator new(hide_size(40))));
    ::operator delete(hide(::operator new(hide_size(40), std::nothrow)), std::nothrow);
    ::operator delete[](hide(::operator new[](hide_size(40))), std::size_t{40});
    const std::align_val_t a{64};
    ::operator delete(hide(::operator new(hide_size(40), a)), std::size_t{40}, a);
    CHECK_EQ(given, 1);
    return 0;
}
