// The table of ctl nodes, and what a node is.
#pragma once

#include <string.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace acre::ctl {

// kText: a kString that is copied, with its terminator, to the program's buffer. oldp holds the buffer's address, a
// char *; if that is null, oldp gets the string itself.
enum class Type : uint8_t {
  kVoid, kBool, kUnsigned, kU32, kU64, kSize, kSsize, kString, kText, kHooks, kCounter, kFunction
};

// A value of any type, with zeroes behind it. acre's machines are little-endian: a shorter number is the word's, too.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
struct Value {
  uint64_t word = 0;

  constexpr Value() = default;
  template <class T>
  Value(T from) { memcpy(&word, &from, sizeof from); }
  template <class T>
  T as() const {
    T value;
    memcpy(&value, &word, sizeof value);
    return value;
  }
};

// How a node is used.
enum class Kind : uint8_t {
  kValue,   // read, and written if it is writable. All others are not read, or read in a way of their own
  kAction,  // does something
  kOrder,   // does something, and may be given a value for it
  kSink,    // written only
  kMaker,   // makes something when it is read, and returns its name
  kLookup,  // gets an address, which may be null, and answers
  kQuery,   // gets a buffer, and fills in another one; neither may be null or empty
};

// One use of a node.
struct Call {
  size_t index = 0;               // the first number in the name, and the second one
  size_t second = 0;
  const void* address = nullptr;  // for kLookup
  const void* in = nullptr;       // for kQuery: the two buffers
  size_t in_bytes = 0;
  void* out = nullptr;
  size_t out_bytes = 0;
  bool is_told = false;           // the call has a value: `to`
  Value to;
  Value value;                    // the result
};

// Reads a node, which sets call.value, or, if call.is_told, writes it. Returns 0 or an error number.
using Handler = int(Call& call);

// Has no pointers, since they would have to be relocated in every process.
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
    name[at] = '\0';  // does not compile if the name is too long
  }
};
// Order: the nodes of own_nodes.h, those of all figures, and opt.NAME of all options.
unsigned node_count();
const Node& node(unsigned index);

// Returns the node of a name with numbers in the places of `#`, or null if there is none. Defined in ctl.cc.
const Node* node_named(const char* name);

size_t size_of(Type type);
const char* name_of(Type type);  // as C writes it

// Returns whether a number may stand in this node's name. at: 0 for the first number, 1 for the second one.
bool is_valid_index(unsigned node, unsigned at, size_t index);
inline constexpr unsigned kMostIndices = 2;

// Does what the call says, and returns 0 or an error number. The caller makes sure that the node's kind allows it.
int use(unsigned node, Call& call);

}  // namespace acre::ctl
