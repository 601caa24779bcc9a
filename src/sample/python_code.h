// Python functions and lines: what code objects of CPython 3.11 to 3.14 say, kept after the objects are gone.
#pragma once

#include "base/compiler.h"
#include "base/hash.h"
#include "os/unwind.h"

namespace acre::python {

struct Function {
  const char* name;  // qualified: Class.method, outer.<locals>.inner
  const char* file;
  uint32_t first_line;
  uint64_t hash;
  Function* next_alike;  // in the same bucket
};

struct Place {
  const Function* function;
  uint32_t line;
  // Where its text is in that file (sample/postmortem.h), as Stack::row. They require the profile's lock.
  mutable uint32_t text;
  mutable uint32_t text_file;
  Place* next_alike;
};

// Reads aligned words anywhere. What lies in a page that cannot be read is 0.
class Reader {
 public:
  Address word(Address at) { return can_read(at) ? word_at(align_down(at, sizeof(Address))) : 0; }
  uint32_t number(Address at) { return static_cast<uint32_t>(word(at) >> shift(at)); }
  uint8_t byte(Address at) { return static_cast<uint8_t>(word(at) >> shift(at)); }
  bool can_read(Address at, size_t bytes = 1) {
    const bool is_known = known(at) == (at | (kPageBytes - 1)) && bytes <= kPageBytes - at % kPageBytes;
    return ACRE_LIKELY(is_known) || look(at, bytes);
  }

 private:
  static constexpr unsigned kKnown = 64;
  static unsigned shift(Address at) { return 8 * (at % sizeof(Address)); }
  Address& known(Address at) { return known_[at / kPageBytes % kKnown]; }
  bool look(Address at, size_t bytes);

  Address known_[kKnown] = {};  // the last bytes of readable pages
};

// Where the fields of an interpreter's objects lie.
struct CodeLayout {
  size_t file, name, line_table, first_line, bytecode;  // in a code object
  size_t version;                     // in a code object: a number that no other one has; 0: there is none
  size_t ascii_text, other_text;      // in a string
};

// An instruction of a code object. Another code object may come to lie at the same address: it has another stamp.
struct Instruction {
  Address code = 0;
  uint64_t stamp = 0;
  int32_t offset = 0;  // in bytes; negative: the function has not begun

  bool operator==(const Instruction&) const = default;
};
Instruction instruction(Reader& reader, const CodeLayout& layout, Address code, Address at);

// What a code object says of one of its instructions. Texts are UTF-8, and longer ones are cut.
struct Description {
  char name[256];
  char file[512];
  uint32_t first_line, line;
};
void describe(Reader& reader, const CodeLayout& layout, const Instruction& instruction, Description* to);

// All functions require the lock of its owner.
class Places {
 public:
  static constexpr unsigned kMost = 1u << 16;  // beyond, all are one place without a file
  static constexpr size_t kRoomNeeded = sizeof(Function) + sizeof(Place) + sizeof(Description);

  bool has_room() const { return tables_ != nullptr && static_cast<size_t>(end_ - next_) >= kRoomNeeded; }
  // Zeroed memory of kRoomBytes. Without need it is lost.
  void add_room(void* memory);
  static constexpr size_t kRoomBytes = size_t{256} << 10;

  // The place of an instruction that was found not long ago, or null.
  const Place* known(const Instruction& instruction) const;

  // has_room() must be true.
  const Place* find(const Instruction& instruction, const Description& description);

 private:
  struct Known {
    Instruction instruction;
    const Place* place;
  };
  struct Tables {
    static constexpr size_t kKnown = 2048, kBuckets = 2048;
    Known known[kKnown];
    Function* functions[kBuckets];
    Place* places[kBuckets];
  };
  static_assert(sizeof(Tables) < kRoomBytes);

  static uint64_t hash_of(const Instruction& instruction);
  const Place* find(const Description& description);
  const Function* function_of(const Description& description);
  void* cut(size_t bytes);
  const char* copy(const char* text);

  Tables* tables_ = nullptr;
  unsigned count_ = 0;
  char* next_ = nullptr;
  char* end_ = nullptr;
};

}  // namespace acre::python
