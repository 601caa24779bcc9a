// Blocks to which only an exception leads: one that is being handled when the program ends, and one that is kept.
// leaks normal: none
// leaks draconian: 1 make_caught, 1 make_kept, 1 throw_it
#include "support.h"

#include <exception>

struct Holder {
    void *block;
};

static std::exception_ptr kept;

static NOINLINE void *make_caught() { return malloc(100); }
static NOINLINE void *make_kept() { return malloc(200); }
static NOINLINE void throw_it(bool is_kept) { throw Holder{is_kept ? make_kept() : make_caught()}; }
static NOINLINE void keep() {
    try {
        throw_it(true);
    } catch (const Holder &) {
        kept = std::current_exception();
    }
}

int main() {
    LOSE(keep());
    try {
        throw_it(false);
    } catch (...) {
        wipe();
        exit(0);
    }
}
