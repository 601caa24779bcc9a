// expect: acre: (free|operator delete)\(0x[0-9a-f]+\): double free
// An over-aligned object deleted twice.
#include "misuse.h"

struct alignas(256) Wide {
    long values[32];
};

int main() {
    auto *object = static_cast<Wide *>(hide(new Wide()));
    delete object;
    delete static_cast<Wide *>(hide(object));
    return survived();
}
