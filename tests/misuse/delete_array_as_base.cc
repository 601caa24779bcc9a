// expect: acre: (free|operator delete)\(0x[0-9a-f]+\): interior pointer
// An element of an array deleted as if it were alone.
#include "misuse.h"

int main() {
    auto *array = static_cast<int *>(hide(new int[1000]()));
    delete static_cast<int *>(hide(array + 100));
    return survived();
}
