// expect: acre: (free|operator delete)\(0x[0-9a-f]+\): double free
// An object deleted twice.
#include "misuse.h"

struct Object {
    long values[6];
};

int main() {
    auto *object = static_cast<Object *>(hide(new Object()));
    delete object;
    delete static_cast<Object *>(hide(object));
    return survived();
}
