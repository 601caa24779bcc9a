// The ctl tree: a named node for each thing that can be read, set or done while the program runs.
//
// A name consists of components between dots. In the table, the component `#` stands for a number, such as an arena's.
// A MIB has a number for each component of a name: the number itself for a `#`, otherwise the place in the table of the
// first name that begins with the same components.
//
// All functions return 0 or an error number, leave errno alone, and allocate nothing. Any thread may call them, but no
// signal handler.
#pragma once

#include <cstddef>

namespace acre::ctl {

// The index that stands for all arenas together.
inline constexpr size_t kAllArenas = 4096;

// Reads a node if oldp is not null, then writes it if newp is not null. `epoch` is written before it is read.
//   ENOENT  there is no such node
//   EINVAL  *oldlenp or newlen is not the size of the node's type: oldp gets as much of the value as fits, *oldlenp
//           says how much, and nothing is written; or the new value is out of range
//   EPERM   the node cannot be read, or cannot be written
//   EAGAIN  memory is refused
//   EFAULT  the operation failed for another reason
int by_name(const char* name, void* oldp, size_t* oldlenp, void* newp, size_t newlen);
int by_mib(const size_t* mib, size_t length, void* oldp, size_t* oldlenp, void* newp, size_t newlen);

// Gives the MIB of a name, or of the first components of a name. Writes at most *length numbers, and sets *length to
// their count. ENOENT: no name begins so.
int name_to_mib(const char* name, size_t* mib, size_t* length);

}  // namespace acre::ctl
