// expect: acre: (free|operator delete)\(0x[0-9a-f]+\): double free
// Two unique pointers that own the same object.
#include <memory>

#include "misuse.h"

int main() {
    auto *number = static_cast<long *>(hide(new long(5)));
    std::unique_ptr<long> first(number);
    std::unique_ptr<long> second(static_cast<long *>(hide(number)));
    first.reset();
    second.reset();
    return survived();
}
