// Which operators new and delete the program has in place of acre's.
#pragma once

namespace acre::os {

// Whether one of those that others are built on ([new.delete]: the plain and the array forms, with an alignment or
// without) is not acre's. True also where nobody can tell: in a program of fixed address that takes the address of
// one. The loader must have bound the library.
bool base_operators_are_replaced();

}  // namespace acre::os
