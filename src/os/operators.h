// Whether the program replaces operators new and delete.
#pragma once

namespace acre::os {

// Whether an operator that others are built on ([new.delete]: plain and array forms, with or without alignment) is not
// acre's. True also if that is not known: in a program of fixed address that takes the address of an operator. The
// loader must have bound the library.
bool base_operators_are_replaced();

}  // namespace acre::os
