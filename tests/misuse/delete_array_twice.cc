// expect: acre: operator delete\[\]\(0x[0-9a-f]+\): double free
// An array deleted twice.
#include "misuse.h"

int main() {
    auto *array = static_cast<int *>(hide(new int[1000]()));
    delete[] array;
    delete[] static_cast<int *>(hide(array));
    return survived();
}
