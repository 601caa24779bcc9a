// Every replaceable operator new and delete: plain, array, nothrow, aligned, sized, and mixes.
#include "check.h"

#include <malloc.h>

#include <new>

namespace {

const std::size_t kSizes[] = {0,    1,    8,     16,    24,     100,    1000,
                              4096, 9999, 32768, 40000, 300000, 3 << 20, 70 << 20};

void *used(void *block, std::size_t size, std::size_t alignment) {
    block = hide(block);
    CHECK(block != nullptr);
    CHECK_AT(is_aligned(block, size < 16 && alignment <= 16 ? 8 : alignment), size);
    CHECK(malloc_usable_size(block) >= size);
    if (size > 0) {
        static_cast<char *>(block)[0] = 1;
        static_cast<char *>(block)[size - 1] = 1;
    }
    return block;
}

void plain(std::size_t n) {
    ::operator delete(used(::operator new(n), n, 16));
    ::operator delete(used(::operator new(n), n, 16), n);
    ::operator delete(used(::operator new(n), n, 16), std::nothrow);
    ::operator delete(used(::operator new(n, std::nothrow), n, 16));
    ::operator delete(used(::operator new(n, std::nothrow), n, 16), n);
    ::operator delete(used(::operator new(n, std::nothrow), n, 16), std::nothrow);
    ::operator delete[](used(::operator new[](n), n, 16));
    ::operator delete[](used(::operator new[](n), n, 16), n);
    ::operator delete[](used(::operator new[](n), n, 16), std::nothrow);
    ::operator delete[](used(::operator new[](n, std::nothrow), n, 16));
    ::operator delete[](used(::operator new[](n, std::nothrow), n, 16), n);
    ::operator delete[](used(::operator new[](n, std::nothrow), n, 16), std::nothrow);
}

void aligned(std::size_t n, std::size_t alignment) {
    const auto a = std::align_val_t{alignment};
    ::operator delete(used(::operator new(n, a), n, alignment), a);
    ::operator delete(used(::operator new(n, a), n, alignment), n, a);
    ::operator delete(used(::operator new(n, a), n, alignment), a, std::nothrow);
    ::operator delete(used(::operator new(n, a, std::nothrow), n, alignment), a);
    ::operator delete(used(::operator new(n, a, std::nothrow), n, alignment), n, a);
    ::operator delete(used(::operator new(n, a, std::nothrow), n, alignment), a, std::nothrow);
    ::operator delete[](used(::operator new[](n, a), n, alignment), a);
    ::operator delete[](used(::operator new[](n, a), n, alignment), n, a);
    ::operator delete[](used(::operator new[](n, a), n, alignment), a, std::nothrow);
    ::operator delete[](used(::operator new[](n, a, std::nothrow), n, alignment), a);
    ::operator delete[](used(::operator new[](n, a, std::nothrow), n, alignment), n, a);
    ::operator delete[](used(::operator new[](n, a, std::nothrow), n, alignment), a, std::nothrow);
}

struct alignas(256) Wide {
    char bytes[300];
};

struct WithDestructor {
    ~WithDestructor() { text[0] = 0; }
    char text[40];
};

}  // namespace

int main() {
    for (int round = 0; round < 20; round++) {
        for (const std::size_t size : kSizes) {
            plain(hide_size(size));
            if (round > 2) continue;
            for (std::size_t alignment = 32; alignment <= 4 << 20; alignment *= 2) {
                aligned(hide_size(size), alignment);
            }
        }
    }
    ::operator delete(nullptr);
    ::operator delete[](nullptr);
    ::operator delete(nullptr, std::size_t{8});
    ::operator delete(nullptr, std::align_val_t{64});
    ::operator delete(nullptr, std::size_t{64}, std::align_val_t{64});

    // Zero-sized objects are unique.
    void *first = hide(::operator new(hide_size(0)));
    void *second = hide(::operator new(hide_size(0)));
    CHECK(first != second);
    ::operator delete(first);
    ::operator delete(second);

    // The language's own expressions, over-aligned ones among them.
    for (int i = 1; i < 2000; i++) {
        auto *wide = static_cast<Wide *>(hide(new Wide));
        CHECK(is_aligned(wide, 256));
        auto *wides = static_cast<Wide *>(hide(new Wide[static_cast<std::size_t>(i % 7) + 1]));
        CHECK(is_aligned(wides, 256));
        auto *ints = static_cast<int *>(hide(new int[static_cast<std::size_t>(i)]));
        ints[i - 1] = i;
        auto *objects = new WithDestructor[static_cast<std::size_t>(i % 50) + 1];
        objects[0].text[0] = 'x';
        delete[] objects;
        delete[] ints;
        delete[] wides;
        delete wide;
    }
    return 0;
}
