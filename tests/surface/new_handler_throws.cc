// A new_handler that throws bad_alloc, which it may: new passes it on, nothrow new returns null.
#include <new>

#include "check.h"

namespace {

int calls = 0;

void throws() {
    calls++;
    throw std::bad_alloc();
}

}  // namespace

int main() {
    const std::size_t size = hide_size(PTRDIFF_MAX / 2);
    const auto a = std::align_val_t{64};
    std::set_new_handler(throws);
    int caught = 0;
    try {
        hide(::operator new(size));
    } catch (const std::bad_alloc &) {
        caught++;
    }
    try {
        hide(::operator new[](size, a));
    } catch (const std::bad_alloc &) {
        caught++;
    }
    CHECK_EQ(caught, 2);
    CHECK_EQ(calls, 2);
    CHECK(hide(::operator new(size, std::nothrow)) == nullptr);
    CHECK(hide(::operator new[](size, std::nothrow)) == nullptr);
    CHECK(hide(::operator new(size, a, std::nothrow)) == nullptr);
    CHECK(hide(::operator new[](size, a, std::nothrow)) == nullptr);
    CHECK_EQ(calls, 6);
    return 0;
}
