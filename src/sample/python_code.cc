#include "sample/python_code.h"

#include <string.h>

#include <new>

namespace acre::python {

namespace {

// The same in all these versions.
constexpr size_t kCount = 16;                     // of an object of variable size: its elements
constexpr size_t kBytes = 32;                     // of a bytes object: its contents
constexpr size_t kLength = 16, kFlags = 32;       // of a string
constexpr size_t kMostOfTable = size_t{1} << 20;  // a longer table is none

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kHashFactor;
  return hash ^ hash >> 29;
}

uint64_t hash_of(const char* text, uint64_t hash) {
  for (; *text != '\0'; ++text) hash = mixed(hash, static_cast<unsigned char>(*text));
  return hash;
}

// --- Strings --------------------------------------------------------------------------------------------------

// The characters of a string, each of 1, 2 or 4 bytes. Unreadable or damaged: none.
struct Characters {
  Address at = 0;
  size_t count = 0;
  unsigned width = 1;

  size_t bytes() const { return count * width; }
};

Characters characters(Reader& reader, const CodeLayout& layout, Address string) {
  constexpr unsigned kCompact = 8, kAscii = 16;
  constexpr uint32_t kOfInterning = 3;
  const uint32_t all = reader.number(string + kFlags);
  // Above two bits about interning, or, in later versions, above 16. A string's width is not 0.
  const uint32_t flags = all >> ((all & 0xffff & ~kOfInterning) != 0 ? 2 : 16);
  Characters found{string + ((flags & kAscii) != 0 ? layout.ascii_text : layout.other_text),
                   smaller<size_t>(reader.word(string + kLength), sizeof Description::file), flags & 7};
  const bool is_width = found.width == 1 || found.width == 2 || found.width == 4;
  return is_width && (flags & kCompact) != 0 && reader.can_read(found.at, found.bytes()) ? found : Characters{};
}

size_t encode(uint32_t c, char* to) {
  const auto part = [c](unsigned shift) { return static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    to[0] = static_cast<char>(c);
    return 1;
  }
  if (c < 0x800) {
    to[0] = static_cast<char>(0xc0 | c >> 6);
    to[1] = part(0);
    return 2;
  }
  if (c < 0x10000) {
    to[0] = static_cast<char>(0xe0 | c >> 12);
    to[1] = part(6);
    to[2] = part(0);
    return 3;
  }
  to[0] = static_cast<char>(0xf0 | c >> 18);
  to[1] = part(12);
  to[2] = part(6);
  to[3] = part(0);
  return 4;
}

// Bytes that are no UTF-8 are surrogates in Python's paths: they become question marks, as do control characters.
void copy_text(Reader& reader, const CodeLayout& layout, Address string, char* to, size_t capacity) {
  constexpr size_t kMostOfOne = 4;
  const Characters from = characters(reader, layout, string);
  const char* const end = to + capacity - kMostOfOne - 1;
  for (size_t i = 0; i < from.count && to < end; ++i) {
    const Address at = from.at + i * from.width;
    uint32_t c = from.width == 4 ? reader.number(at) : from.width == 2 ? reader.number(at) & 0xffff : reader.byte(at);
    if (c < ' ' || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff) c = '?';
    to += encode(c, to);
  }
  *to = '\0';
}

uint64_t mixed_bytes(Reader& reader, Address at, size_t bytes, uint64_t hash) {
  if (!reader.can_read(at, bytes)) return hash;
  hash = mixed(hash, bytes);
  size_t i = 0;
  for (; bytes - i >= sizeof(Address); i += sizeof(Address)) hash = mixed(hash, word_at(at + i));
  if (i < bytes) hash = mixed(hash, word_at(at + i) << (8 * (sizeof(Address) - (bytes - i))));
  return hash;
}

// --- Lines ----------------------------------------------------------------------------------------------------

struct LineTable {
  LineTable(Reader& reader, const CodeLayout& layout, Address code)
      : object(reader.word(code + layout.line_table)), bytes(reader.word(object + kCount)) {
    if (bytes > kMostOfTable || !reader.can_read(object + kBytes, bytes)) bytes = 0;
  }
  Address object;
  size_t bytes;
};

// A table has an entry for each run of instructions with the same position. In an entry's first byte, the highest bit
// is set, the next four say its form, and the other three how many instructions it has, less one. CPython describes the
// format in Objects/locations.md (later InternalDocs/code_objects.md).
class Entries {
 public:
  Entries(Reader& reader, const LineTable& table)
      : reader_(reader), at_(table.object + kBytes), end_(at_ + table.bytes) {}

  // Returns the line of the instruction with this offset in bytes; 0: it has none.
  uint32_t line_at(size_t offset, uint32_t line) {
    constexpr size_t kInstruction = 2;
    for (size_t passed = 0; at_ < end_;) {
      const uint8_t head = reader_.byte(at_++);
      const Form form = static_cast<Form>(head >> 3 & 15);
      if (form == kNoColumns || form == kLong) line += static_cast<uint32_t>(next_signed());
      if (form >= kOneLine && form < kNoColumns) line += form - kOneLine;
      passed += kInstruction * ((head & 7) + 1u);
      if (offset < passed) return form == kNone ? 0 : line;
      while (at_ < end_ && reader_.byte(at_) < 0x80) ++at_;
    }
    return 0;
  }

 private:
  enum Form : uint8_t { kOneLine = 10, kNoColumns = 13, kLong = 14, kNone = 15 };

  // Six bits a byte, the lowest first, and the sign in the lowest bit of all.
  int32_t next_signed() {
    uint32_t value = 0;
    for (unsigned shift = 0; at_ < end_ && shift < 32; shift += 6) {
      const uint8_t byte = reader_.byte(at_++);
      value |= static_cast<uint32_t>(byte & 63) << shift;
      if ((byte & 64) == 0) break;
    }
    const auto magnitude = static_cast<int32_t>(value >> 1);
    return (value & 1) != 0 ? -magnitude : magnitude;
  }

  Reader& reader_;
  Address at_, end_;
};

// The stamp of a code object without a version: what it says.
uint64_t stamp_of_contents(Reader& reader, const CodeLayout& layout, Address code) {
  const LineTable table(reader, layout, code);
  uint64_t hash = mixed_bytes(reader, table.object + kBytes, table.bytes, reader.number(code + layout.first_line));
  const size_t fields[] = {layout.name, layout.file};
  for (const size_t field : fields) {
    const Characters text = characters(reader, layout, reader.word(code + field));
    hash = mixed_bytes(reader, text.at, text.bytes(), hash);
  }
  return hash;
}

}  // namespace

// No program has the first page; and the kernel takes its address for none.
bool Reader::look(Address at, size_t bytes) {
  const Address end = at + bytes;
  if (at < kPageBytes || end < at) return false;
  for (Address page = align_down(at, kPageBytes); page < end; page += kPageBytes) {
    const Address last = page | (kPageBytes - 1);
    if (known(page) == last) continue;
    if (!os::is_readable(page)) return false;
    known(page) = last;
  }
  return true;
}

Instruction instruction(Reader& reader, const CodeLayout& layout, Address code, Address at) {
  uint64_t stamp = layout.version == 0 ? 0 : reader.number(code + layout.version);
  if (stamp == 0) stamp = stamp_of_contents(reader, layout, code);
  return {code, stamp, static_cast<int32_t>(at - code - layout.bytecode)};
}

void describe(Reader& reader, const CodeLayout& layout, const Instruction& instruction, Description* to) {
  const Address code = instruction.code;
  copy_text(reader, layout, reader.word(code + layout.name), to->name, sizeof to->name);
  copy_text(reader, layout, reader.word(code + layout.file), to->file, sizeof to->file);
  to->line = to->first_line = reader.number(code + layout.first_line);
  if (instruction.offset < 0) return;
  Entries entries(reader, LineTable(reader, layout, code));
  const uint32_t line = entries.line_at(static_cast<size_t>(instruction.offset), to->first_line);
  if (line != 0) to->line = line;
}

// --- The table ------------------------------------------------------------------------------------------------

void Places::add_room(void* memory) {
  if (has_room()) return;
  next_ = static_cast<char*>(memory);
  end_ = next_ + kRoomBytes;
  if (tables_ == nullptr) tables_ = new (cut(sizeof(Tables))) Tables();
}

void* Places::cut(size_t bytes) {
  void* piece = next_;
  next_ += align_up(bytes, sizeof(Address));
  return piece;
}

const char* Places::copy(const char* text) {
  const size_t bytes = strlen(text) + 1;
  return static_cast<const char*>(memcpy(cut(bytes), text, bytes));
}

uint64_t Places::hash_of(const Instruction& instruction) {
  return mixed(mixed(instruction.code, instruction.stamp), static_cast<uint64_t>(instruction.offset)) >> 32;
}

const Place* Places::known(const Instruction& instruction) const {
  if (tables_ == nullptr) return nullptr;
  const Known& known = tables_->known[hash_of(instruction) % Tables::kKnown];
  return known.instruction == instruction ? known.place : nullptr;
}

const Place* Places::find(const Instruction& instruction, const Description& description) {
  const Place* place = count_ < kMost ? find(description) : find(Description{"[other Python functions]", "", 0, 0});
  tables_->known[hash_of(instruction) % Tables::kKnown] = {instruction, place};
  return place;
}

const Place* Places::find(const Description& description) {
  const Function* function = function_of(description);
  Place*& bucket = tables_->places[mixed(address_of(function), description.line) % Tables::kBuckets];
  for (Place* place = bucket; place != nullptr; place = place->next_alike) {
    if (place->function == function && place->line == description.line) return place;
  }
  ++count_;
  return bucket = new (cut(sizeof(Place))) Place{function, description.line, 0, 0, bucket};
}

const Function* Places::function_of(const Description& of) {
  const uint64_t hash = python::hash_of(of.name, python::hash_of(of.file, of.first_line));
  Function*& bucket = tables_->functions[hash % Tables::kBuckets];
  for (Function* function = bucket; function != nullptr; function = function->next_alike) {
    const bool is_it = function->hash == hash && function->first_line == of.first_line &&
                       strcmp(function->name, of.name) == 0 && strcmp(function->file, of.file) == 0;
    if (is_it) return function;
  }
  const char* name = copy(of.name);
  const char* file = copy(of.file);
  return bucket = new (cut(sizeof(Function))) Function{name, file, of.first_line, hash, bucket};
}

}  // namespace acre::python
