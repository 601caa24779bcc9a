// A free of nothing is the first that a program does: before libraries' constructors, where acre has not begun.
#include <malloc.h>

#include <new>

#include "check.h"

namespace {

void preinit() {
    free(hide(nullptr));
    ::operator delete(hide(nullptr));
    ::operator delete[](hide(nullptr));
    CHECK_EQ(malloc_usable_size(hide(nullptr)), 0);
    free(must_malloc(100));
}

}  // namespace

__attribute__((section(".preinit_array"), used)) static void (*preinit_entry)() = preinit;

int main() { free(must_malloc(100)); }
