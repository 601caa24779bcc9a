// expect: acre: operator delete\[\]\(0x[0-9a-f]+\): foreign pointer: .*; freed by the program\+0x[0-9a-f]+ \(if the program works without acre
// A local variable given to the sized form for arrays: the message says whose mistake it is.
#include "misuse.h"

#include <new>

int main() {
    int local = 5;
    ::operator delete[](hide(&local), std::size_t{4});
    return survived();
}
