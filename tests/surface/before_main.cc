// Allocation before main: from preinit functions, early constructors and C++ initializers.
#include <string>
#include <vector>

#include "check.h"

namespace {

void *from_preinit[50];
void *from_constructor[50];

void fill(void **blocks, unsigned char tag) {
    for (std::size_t i = 0; i < 50; i++) {
        const std::size_t size = hide_size(i * i * 20 + 1);
        blocks[i] = hide(malloc(size));
        CHECK(blocks[i] != nullptr);
        memset(blocks[i], tag, size);
    }
    free(hide(malloc(hide_size(20 << 20))));
}

void check_and_free(void **blocks, unsigned char tag) {
    for (std::size_t i = 0; i < 50; i++) {
        CHECK_AT(blocks[i] != nullptr, i);
        CHECK(all_bytes_are(blocks[i], i * i * 20 + 1, tag));
        free(blocks[i]);
    }
}

void preinit() { fill(from_preinit, 1); }

__attribute__((constructor(101))) void early() { fill(from_constructor, 2); }

__attribute__((init_priority(102))) std::vector<std::string> early_object(100, std::string(50, 'e'));

std::string *late_object = new std::string(1000, 'l');

// Destroyed after main returns, when much of the process is gone already.
struct Late {
    std::string kept = std::string(300, 'k');
    ~Late() {
        if (kept != std::string(300, 'k')) _exit(1);
        delete late_object;
        check_and_free(from_constructor, 2);
        std::vector<std::string> more(1000, std::string(200, 'm'));
        more.resize(5);
    }
};
Late late __attribute__((init_priority(103)));

}  // namespace

// Runs before the constructors of any library.
__attribute__((section(".preinit_array"), used)) static void (*preinit_entry)() = preinit;

int main() {
    check_and_free(from_preinit, 1);
    CHECK_EQ(early_object.size(), 100);
    for (const auto &text : early_object) CHECK(text == std::string(50, 'e'));
    CHECK(*late_object == std::string(1000, 'l'));
    return 0;
}
