// The ctl tree: one name a node for what can be asked or told while the program runs.
//
// Names are components between dots. A component `#` in the table stands for a number, such as an arena's. A name's
// MIB has a number a component: for a number itself, for others the place in the table of the first name that
// begins with the same components.
//
// All functions return 0 or an error number, leave errno alone, allocate nothing, and may be called from any thread,
// but not from signal handlers.
#pragma once

#include <cstddef>

namespace acre::ctl {

// The index that stands for all arenas together.
inline constexpr size_t kAllArenas = 4096;

// Reads a node if oldp is not null, then writes it if newp is not null (`epoch` the other way round).
//   ENOENT  there is no such node
//   EINVAL  *oldlenp or newlen is not the size of the node's type: as much of the value is read as has room, *oldlenp
//           says how much, and nothing is written; or the new value is out of range
//   EPERM   the node cannot be read, or written
//   EAGAIN  memory was refused
//   EFAULT  what was asked for has failed otherwise
int by_name(const char* name, void* oldp, size_t* oldlenp, void* newp, size_t newlen);
int by_mib(const size_t* mib, size_t length, void* oldp, size_t* oldlenp, void* newp, size_t newlen);

// The MIB of a name, or of the first components of one; at most *length numbers are written, and *length says how
// many. ENOENT: no name begins so.
int name_to_mib(const char* name, size_t* mib, size_t* length);

struct NodeInfo {
  const char* name;
  const char* type;  // as C writes it, or "void"
  bool readable;     // neither: asked in a way of its own, as tcache.create and arenas.lookup
  bool writable;
};

// Describes node `index`, counted from 0; false if there is none.
bool node_info(unsigned index, NodeInfo* out);

}  // namespace acre::ctl
