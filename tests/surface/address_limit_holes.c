// Address space is short, and what is free lies in pieces: a block that is longer than each of them is had nevertheless,
// zeroed where it has to be, and the blocks between the pieces stay as they are.
#include "check.h"

static const size_t kRoom = 96 * MIB;
enum { kMost = 200 };

int main(void) {
    static unsigned char *blocks[kMost];
    free(must_malloc(1));
    limit_address_space(mapped_bytes() + kRoom);
    for (int round = 0; round < 3; round++) {
        const size_t count = fill_address_space(blocks, kMost);
        CHECK_GE(count, 80);
        for (size_t i = 0; i < count; i += 2) free(blocks[i]);
        for (size_t size = 2 * MIB; size <= 32 * MIB; size *= 2) {
            unsigned char *large = (unsigned char *)hide(calloc(1, hide_size(size)));
            CHECK_AT(large != NULL && all_bytes_are(large, size, 0), size);
            memset(large, 0xee, size);
            free(large);
        }
        // Where there is not so much in all, it is refused, and nothing has changed.
        CHECK(hide(malloc(hide_size(64 * MIB))) == NULL);
        CHECK_EQ(errno, ENOMEM);
        for (size_t i = 1; i < count; i += 2) {
            CHECK_AT(all_bytes_are(blocks[i], MIB, (unsigned char)i), i);
            free(blocks[i]);
        }
    }
    unlimit_address_space();
    return 0;
}
