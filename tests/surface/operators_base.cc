// A program that replaces operator new(size_t) and operator delete(void*) alone: all other forms without an alignment
// call these two ([new.delete]); so do those of the standard library's own code.
#include <initializer_list>
#include <new>
#include <string>

#include "check.h"

namespace {

constexpr std::size_t kHeader = 16;
constexpr char kTag = 0x5b;
int taken = 0, given = 0;
bool refuse = false;

struct OwnError {};

}  // namespace

// Blocks are not malloc's: who frees one with anything but the delete below is found out.
void *operator new(std::size_t size) {
    if (refuse) throw OwnError();
    taken++;
    char *block = static_cast<char *>(must_malloc(size + kHeader));
    block[0] = kTag;
    return block + kHeader;
}

void operator delete(void *p) noexcept {
    if (p == nullptr) return;
    char *block = static_cast<char *>(p) - kHeader;
    CHECK_EQ(block[0], kTag);
    given++;
    free(block);
}

namespace {

template <typename Allocate, typename Release>
void goes_through(Allocate allocate, Release release) {
    for (const std::size_t size : {std::size_t{0}, std::size_t{40}, std::size_t{5000}, std::size_t{200000}}) {
        taken = given = 0;
        void *block = hide(allocate(hide_size(size)));
        CHECK_AT(taken == 1, size);
        release(block, size);
        CHECK_AT(given == 1, size);
    }
}

void forms() {
    using std::nothrow;
    using std::size_t;
    auto new_plain = [](size_t n) { return ::operator new(n); };
    goes_through(new_plain, [](void *p, size_t) { ::operator delete(p); });
    goes_through(new_plain, [](void *p, size_t n) { ::operator delete(p, n); });
    goes_through(new_plain, [](void *p, size_t) { ::operator delete(p, nothrow); });
    goes_through([](size_t n) { return ::operator new(n, nothrow); }, [](void *p, size_t) { ::operator delete(p); });
    auto new_array = [](size_t n) { return ::operator new[](n); };
    goes_through(new_array, [](void *p, size_t) { ::operator delete[](p); });
    goes_through(new_array, [](void *p, size_t n) { ::operator delete[](p, n); });
    goes_through(new_array, [](void *p, size_t) { ::operator delete[](p, nothrow); });
    goes_through([](size_t n) { return ::operator new[](n, nothrow); },
                 [](void *p, size_t) { ::operator delete[](p); });
}

// These have base forms of their own, which are acre's.
void aligned_forms() {
    const std::align_val_t a{64};
    taken = given = 0;
    ::operator delete(hide(::operator new(100, a)), a);
    ::operator delete(hide(::operator new(100, a, std::nothrow)), std::size_t{100}, a);
    ::operator delete[](hide(::operator new[](100, a)), a);
    ::operator delete[](hide(::operator new[](100, a, std::nothrow)), a, std::nothrow);
    CHECK_EQ(taken, 0);
    CHECK_EQ(given, 0);
}

// The nothrow forms return null, whatever is thrown.
void refusals() {
    refuse = true;
    CHECK(::operator new(8, std::nothrow) == nullptr);
    CHECK(::operator new[](8, std::nothrow) == nullptr);
    int caught = 0;
    try {
        hide(::operator new[](8));
    } catch (const OwnError &) {
        caught++;
    }
    CHECK_EQ(caught, 1);
    refuse = false;
}

}  // namespace

int main() {
    forms();
    aligned_forms();
    refusals();
    taken = given = 0;
    {
        std::string text(1000, 'x');
        text += text;
        CHECK_EQ(text.size(), 2000);
    }
    CHECK(taken > 0);
    CHECK_EQ(taken, given);
    ::operator delete(nullptr, std::size_t{8});
    ::operator delete[](nullptr);
    return 0;
}
