// acre-test: not-preload env=ACRE_CONF=hardened:true
// Where there is no address space left, blocks for types with pointers are refused by ENOMEM, and are there again later.
#include "tokens.h"

static size_t allocate_all(size_t size, void **list) {
    size_t count = 0;
    for (;; count++) {
        errno = 0;
        void **block = static_cast<void **>(__alloc_token_malloc(size, TOKEN_POINTERS));
        if (block == nullptr) return count;
        block[0] = *list;
        *list = block;
    }
}

int main() {
    for (size_t size : {48, 3000, 20000, 100000}) {
        void *list = nullptr;
        limit_address_space(mapped_bytes() + 64 * MIB);
        const size_t first = allocate_all(size, &list);
        CHECK_AT(errno == ENOMEM, size);
        free_list(list);
        list = nullptr;
        const size_t second = allocate_all(size, &list);
        unlimit_address_space();
        CHECK_GE(second + second / 8, first);
        free_list(list);
    }
    return 0;
}
