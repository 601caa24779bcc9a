// expect: acre: operator delete\(0x[0-9a-f]+\): double free
// acre-test: env=ACRE_CONF=hardened:true
// In the hardened mode a second delete with a size is a double free, not one with a wrong size: the size is gone.
#include <new>

#include "misuse.h"

int main() {
    void *block = hide(operator new(48));
    operator delete(block, 48);
    operator delete(hide(block), 48);
    return survived();
}
