// A program that replaces operator new[](size_t) and operator delete[](void*) alone: the other array forms call these
// two, those for one object do not.
#include <new>

#include "check.h"

namespace {

constexpr std::size_t kHeader = 16;
int taken = 0, given = 0;

}  // namespace

void *operator new[](std::size_t size) {
    taken++;
    return static_cast<char *>(must_malloc(size + kHeader)) + kHeader;
}

void operator delete[](void *p) noexcept {
    given++;
    free(static_cast<char *>(p) - kHeader);
}

int main() {
    ::operator delete[](hide(::operator new[](hide_size(40))));
    ::operator delete[](hide(::operator new[](hide_size(40), std::nothrow)), std::size_t{40});
    ::operator delete[](hide(::operator new[](hide_size(9000), std::nothrow)), std::nothrow);
    delete[] static_cast<int *>(hide(new int[7]));
    CHECK_EQ(taken, 4);
    CHECK_EQ(given, 4);

    ::operator delete(hide(::operator new(hide_size(40))));
    ::operator delete(hide(::operator new(hide_size(40), std::nothrow)), std::size_t{40});
    const std::align_val_t a{128};
    ::operator delete[](hide(::operator new[](hide_size(40), a)), a);
    CHECK_EQ(taken, 4);
    CHECK_EQ(given, 4);
    return 0;
}
