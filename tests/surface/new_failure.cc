// operator new that cannot: new_handler called and retried, bad_alloc thrown, nothrow gives null.
#include "check.h"

#include <new>
#include <stdexcept>

namespace {

int calls = 0;
void *reserve = nullptr;
constexpr std::size_t kImpossible = PTRDIFF_MAX / 2;

void gives_up_after_three() {
    if (++calls == 3) std::set_new_handler(nullptr);
}

void frees_the_reserve() {
    calls++;
    CHECK(reserve != nullptr);
    free(reserve);
    reserve = nullptr;
    std::set_new_handler(nullptr);
}

template <typename Allocate>
void must_throw(Allocate allocate) {
    bool thrown = false;
    try {
        hide(allocate());
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown);
}

void without_handler(std::size_t size) {
    const auto a = std::align_val_t{4096};
    must_throw([=] { return ::operator new(size); });
    must_throw([=] { return ::operator new[](size); });
    must_throw([=] { return ::operator new(size, a); });
    must_throw([=] { return ::operator new[](size, a); });
    CHECK(hide(::operator new(size, std::nothrow)) == nullptr);
    CHECK(hide(::operator new[](size, std::nothrow)) == nullptr);
    CHECK(hide(::operator new(size, a, std::nothrow)) == nullptr);
    CHECK(hide(::operator new[](size, a, std::nothrow)) == nullptr);
}

void with_handler() {
    const std::size_t size = hide_size(kImpossible);
    const auto a = std::align_val_t{64};
    calls = 0;
    std::set_new_handler(gives_up_after_three);
    must_throw([=] { return ::operator new(size); });
    CHECK_EQ(calls, 3);
    calls = 0;
    std::set_new_handler(gives_up_after_three);
    must_throw([=] { return ::operator new[](size, a); });
    CHECK_EQ(calls, 3);
    // nothrow calls the handler as well.
    calls = 0;
    std::set_new_handler(gives_up_after_three);
    CHECK(hide(::operator new(size, std::nothrow)) == nullptr);
    CHECK_EQ(calls, 3);
    calls = 0;
    std::set_new_handler(gives_up_after_three);
    CHECK(hide(::operator new[](size, a, std::nothrow)) == nullptr);
    CHECK_EQ(calls, 3);
}

// The handler may throw something of its own, which goes through.
void handler_exception() {
    std::set_new_handler([] { throw std::runtime_error("mine"); });
    bool thrown = false;
    try {
        hide(::operator new(hide_size(kImpossible)));
    } catch (const std::bad_alloc &) {
        CHECK(false);
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    CHECK(thrown);
    std::set_new_handler(nullptr);
}

// Under a limit: the handler frees a reserve, and the same call then succeeds.
void under_limit() {
    ::operator delete(::operator new(hide_size(1000)));
    reserve = must_malloc(128 << 20);
    limit_address_space(mapped_bytes() + (16 << 20));
    const std::size_t size = hide_size(100 << 20);
    without_handler(size);
    calls = 0;
    std::set_new_handler(frees_the_reserve);
    void *block = hide(::operator new(size));
    CHECK(block != nullptr);
    CHECK_EQ(calls, 1);
    ::operator delete(block);
    unlimit_address_space();
}

}  // namespace

int main() {
    without_handler(hide_size(kImpossible));
    without_handler(hide_size(SIZE_MAX));
    without_handler(hide_size(SIZE_MAX - 4095));
    with_handler();
    handler_exception();
    under_limit();
    // An array whose size overflows is refused before the allocator sees it.
    bool thrown = false;
    try {
        hide(new int[hide_size(SIZE_MAX / 2)]);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown);
    delete static_cast<int *>(hide(new int));
    return 0;
}
