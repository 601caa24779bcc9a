// expect: acre: (free|operator delete)\(0x[0-9a-f]+\): foreign pointer
// A local variable deleted.
#include "misuse.h"

int main() {
    int local = 5;
    delete static_cast<int *>(hide(&local));
    return survived();
}
