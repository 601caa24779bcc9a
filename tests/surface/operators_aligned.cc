// A program that replaces operator new(size_t, align_val_t) and operator delete(void*, align_val_t) alone: the other
// forms with an alignment call these two.
#include <initializer_list>
#include <new>

#include "check.h"

namespace {

int taken = 0, given = 0;
bool refuse = false;
std::size_t alignment_seen = 0;

}  // namespace

// The block begins one alignment behind malloc's.
void *operator new(std::size_t size, std::align_val_t alignment) {
    if (refuse) throw std::bad_alloc();
    taken++;
    alignment_seen = static_cast<std::size_t>(alignment);
    void *block = aligned_alloc(alignment_seen, size + 2 * alignment_seen);
    CHECK(block != nullptr);
    return static_cast<char *>(block) + alignment_seen;
}

void operator delete(void *p, std::align_val_t alignment) noexcept {
    given++;
    alignment_seen = static_cast<std::size_t>(alignment);
    free(static_cast<char *>(p) - alignment_seen);
}

namespace {

template <typename Allocate, typename Release>
void goes_through(Allocate allocate, Release release) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{40}, std::size_t{5000}, std::size_t{200000}}) {
        taken = given = 0;
        void *block = hide(allocate(hide_size(size)));
        CHECK_AT(taken == 1, size);
        CHECK_EQ(alignment_seen, 256);
        alignment_seen = 0;
        release(block, size);
        CHECK_AT(given == 1, size);
        CHECK_EQ(alignment_seen, 256);
    }
}

}  // namespace

int main() {
    using std::nothrow;
    using std::size_t;
    constexpr std::align_val_t a{256};
    auto new_plain = [](size_t n) { return ::operator new(n, a); };
    goes_through(new_plain, [](void *p, size_t) { ::operator delete(p, a); });
    goes_through(new_plain, [](void *p, size_t n) { ::operator delete(p, n, a); });
    goes_through(new_plain, [](void *p, size_t) { ::operator delete(p, a, nothrow); });
    goes_through([](size_t n) { return ::operator new(n, a, nothrow); },
                 [](void *p, size_t) { ::operator delete(p, a); });
    auto new_array = [](size_t n) { return ::operator new[](n, a); };
    goes_through(new_array, [](void *p, size_t) { ::operator delete[](p, a); });
    goes_through(new_array, [](void *p, size_t n) { ::operator delete[](p, n, a); });
    goes_through(new_array, [](void *p, size_t) { ::operator delete[](p, a, nothrow); });
    goes_through([](size_t n) { return ::operator new[](n, a, nothrow); },
                 [](void *p, size_t) { ::operator delete[](p, a); });

    refuse = true;
    CHECK(::operator new(8, a, nothrow) == nullptr);
    CHECK(::operator new[](8, a, nothrow) == nullptr);

    taken = given = 0;
    ::operator delete[](hide(::operator new[](hide_size(40), nothrow)), size_t{40});
    CHECK_EQ(taken, 0);
    CHECK_EQ(given, 0);
    return 0;
}
