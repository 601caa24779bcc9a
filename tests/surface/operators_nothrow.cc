// A program that replaces the nothrow forms for one object alone. No other form calls these two.
#include <new>

#include "check.h"

namespace {

constexpr std::size_t kHeader = 16;
int taken = 0, given = 0;

}  // namespace

void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    taken++;
    return static_cast<char *>(must_malloc(size + kHeader)) + kHeader;
}

void operator delete(void *p, const std::nothrow_t &) noexcept {
    given++;
    free(static_cast<char *>(p) - kHeader);
}

int main() {
    ::operator delete(hide(::operator new(hide_size(40), std::nothrow)), std::nothrow);
    CHECK_EQ(taken, 1);
    CHECK_EQ(given, 1);
    ::operator delete[](hide(::operator new[](hide_size(40), std::nothrow)), std::nothrow);
    ::operator delete(hide(::operator new(hide_size(40))), std::size_t{40});
    ::operator delete[](hide(::operator new[](hide_size(40))), std::size_t{40});
    const std::align_val_t a{64};
    ::operator delete(hide(::operator new(hide_size(40), a, std::nothrow)), a, std::nothrow);
    CHECK_EQ(taken, 1);
    CHECK_EQ(given, 1);
    return 0;
}
