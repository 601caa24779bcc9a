// The table of ctl nodes, and what a node is.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "acre/extent_hooks.h"

namespace acre::ctl {

// kText: a kString that is copied, with its end, to where a char * that the program gives leads, unless that is null.
enum class Type : uint8_t { kVoid, kBool, kUnsigned, kU32, kU64, kSize, kSsize, kString, kText, kHooks, kCounter };

union Value {
  bool of_bool;
  unsigned of_unsigned;
  uint32_t of_u32;
  uint64_t of_u64;
  size_t of_size;
  ssize_t of_ssize;
  const char* of_string;
  extent_hooks_t* of_hooks;
  const uint64_t* of_counter;
};

// What one does with a node.
enum class Kind : uint8_t {
  kValue,   // it is read, and perhaps written
  kAction,  // it does something
  kOrder,   // the same, and it may be told something
  kSink,    // it is written only
  kMaker,   // reading it makes something, and says which
  kLookup,  // it is given an address, or none, and gives an answer
};

// One use of a node.
struct Call {
  size_t index = 0;               // the number in its name, and the second one
  size_t second = 0;
  const void* address = nullptr;  // for a kLookup
  bool is_told = false;           // it is given a value: `to`
  Value to{};
  Value value{};                  // what it gives
  int error = 0;
};

// Without pointers, which would have to be relocated in every process.
struct Node {
  char name[64] = {};
  Type type = Type::kVoid;
  Kind kind = Kind::kAction;
  bool writable = false;

  constexpr Node() = default;
  constexpr Node(const char* before, const char* after, Type of, Kind what, bool is_writable = false)
      : type(of), kind(what), writable(is_writable) {
    size_t at = 0;
    for (; *before != '\0'; ++before) name[at++] = *before;
    for (; *after != '\0'; ++after) name[at++] = *after;
    name[at] = '\0';  // beyond the end: the name is too long
  }
};
// First the nodes of own_nodes.h, then those of all figures (stat_nodes.h), then opt.NAME of all options.
unsigned node_count();
const Node& node(unsigned index);

// The node that a name means, numbers in the places of its `#`; null: there is none (ctl.cc).
const Node* node_named(const char* name);

size_t size_of(Type type);
const char* name_of(Type type);  // as C writes it

// Whether a number may stand in this node's name. at: 0 for its first, 1 for its second.
bool is_valid_index(unsigned node, unsigned at, size_t index);
inline constexpr unsigned kMostIndices = 2;

// Does what the call says, and returns an error number, 0 for none. The caller sees to it that the node's kind allows it.
int use(unsigned node, Call& call);

}  // namespace acre::ctl
