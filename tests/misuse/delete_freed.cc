// expect: acre: (free|operator delete)\(0x[0-9a-f]+\): double free
// An object freed by free and then deleted.
#include "misuse.h"

int main() {
    auto *number = static_cast<long *>(hide(new long(5)));
    free(number);
    delete static_cast<long *>(hide(number));
    return survived();
}
