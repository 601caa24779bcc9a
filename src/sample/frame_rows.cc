#include "sample/frame_rows.h"

#include <stddef.h>
#include <string.h>

#include "base/frames.h"
#include "base/hash.h"
#include "sample/table_reader.h"

namespace acre::frame_rows {

namespace {

// How pointers are encoded. Linkers and compilers use no other encodings in the places that are read here.
enum Encoding : uint8_t {
  kUnsigned4 = 0x03,
  kSigned4FromHere = 0x1b,
  kSigned4FromIndex = 0x3b,
};

// --- Entries ----------------------------------------------------------------------------------------------------

Reader reader_from(const os::CodeObject& object, Address at) {
  return {at >= object.start && at < object.end ? at : object.end, object.end};
}

// Returns the entry of .eh_frame at this address, without its length. Empty if there is no entry.
Reader entry_at(const os::CodeObject& object, Address at) {
  Reader reader = reader_from(object, at);
  const uint64_t bytes = reader.number<uint32_t>();
  return reader.part(bytes);  // empty for the number that means "more than 4 GiB": it exceeds the object
}

// An element of the index. Both addresses count from the beginning of the index.
struct Place {
  int32_t code, entry;
};

int64_t int_at(Address a) {
  int32_t n;
  memcpy(&n, pointer_to(a), sizeof n);
  return n;
}

uint64_t bytes_of_pointer(uint8_t encoding) {
  constexpr uint8_t kAligned = 0x50;
  if (encoding == kAligned) return 0;
  switch (encoding & 0xf) {
    case 0x2: case 0xa: return 2;
    case 0x3: case 0xb: return 4;
    case 0x0: case 0x4: case 0xc: return 8;
    default: return 0;
  }
}

// Each letter says what follows in the entry. Two letters are left to the unwinder: S, the frame of a signal, and B,
// addresses signed with another key.
bool read_augmentation(Reader letters, Reader data) {
  bool is_encoding_known = false;
  while (!letters.is_at_end()) {
    switch (letters.byte()) {
      case 'R':
        if (data.byte() != kSigned4FromHere) return false;
        is_encoding_known = true;
        break;
      case 'L': data.skip(1); break;
      case 'P': {
        const uint64_t bytes = bytes_of_pointer(data.byte());
        if (bytes == 0) return false;
        data.skip(bytes);
        break;
      }
      default: return false;
    }
  }
  return is_encoding_known && !data.has_failed();
}

// --- Instructions -----------------------------------------------------------------------------------------------

enum Instruction : uint8_t {
  kNop = 0x00,
  kAdvance1 = 0x02,
  kAdvance2 = 0x03,
  kAdvance4 = 0x04,
  kSavedExtended = 0x05,
  kRestoreExtended = 0x06,
  kUndefinedValue = 0x07,
  kSameValue = 0x08,
  kInRegister = 0x09,
  kRemember = 0x0a,
  kRecall = 0x0b,
  kDefineEnd = 0x0c,
  kDefineBase = 0x0d,
  kDefineOffset = 0x0e,
  kEndByExpression = 0x0f,
  kSavedByExpression = 0x10,
  kSavedSigned = 0x11,
  kDefineEndSigned = 0x12,
  kDefineOffsetSigned = 0x13,
  kValueAt = 0x14,
  kValueAtSigned = 0x15,
  kValueByExpression = 0x16,
  kSignReturnAddress = 0x2d,  // aarch64: return addresses become signed, or unsigned again. Elsewhere it is another one
  kArgumentBytes = 0x2e,
  // These are in the two highest bits, with an operand in the others:
  kAdvance = 0x40,
  kSaved = 0x80,
  kRestore = 0xc0,
};

constexpr uint64_t kNoRegister = ~uint64_t{0};  // the end does not count from a register
constexpr State kNothingSaid = {kNoRegister, 0, {Rule::kSame, 0}, {Rule::kSame, 0}, {Rule::kSame, 0}};

// Carries out instructions, from the row that functions begin with up to the row for an address.
class Machine {
 public:
  explicit Machine(const Common& common) : common_(common), state_(common.first) {}

  // at: the place of the first row. Returns false if an instruction is not known.
  bool run(Reader from, Address at, Address code);
  const State& state() const { return state_; }

 private:
  static constexpr unsigned kMostRemembered = 4;

  bool do_one(Reader& from, uint64_t* advance);

  int64_t scaled(uint64_t units) const { return static_cast<int64_t>(units * common_.data_unit); }
  void set(uint64_t number, Rule rule, int64_t offset = 0) {
    switch (number) {
      case kReturnAddress: state_.return_address = {rule, offset}; break;
      case kFramePointer: state_.frame_pointer = {rule, offset}; break;
      case kStackPointer: state_.stack_pointer = {rule, offset}; break;
      default: break;  // not needed
    }
  }
  void restore(uint64_t number) {
    switch (number) {
      case kReturnAddress: state_.return_address = common_.first.return_address; break;
      case kFramePointer: state_.frame_pointer = common_.first.frame_pointer; break;
      case kStackPointer: state_.stack_pointer = common_.first.stack_pointer; break;
      default: break;
    }
  }

  const Common& common_;
  State state_;
  unsigned remembered_ = 0;
  State remembered_state_[kMostRemembered];  // not initialized
};

// Most instructions are an advance followed by a new end, or the place of a saved register, with operands of one byte.
// Both forms are decoded from one word, all other instructions by do_one().
bool Machine::run(Reader from, Address at, Address code) {
  constexpr uint32_t kOperand = 0x3f, kNumber = 0x7f;
  const uint64_t code_unit = common_.code_unit;
  while (!from.is_at_end()) {
    const uint32_t four = from.next_four();
    const uint32_t operand = four & kOperand;
    if ((four & 0x80ffc0) == (kAdvance | kDefineOffset << 8)) {
      at += operand * code_unit;
      if (at > code) return true;
      state_.end = four >> 16 & kNumber;
      from.pass(3);
    } else if ((four & 0x80c0) == kSaved) {
      set(operand, Rule::kSaved, scaled(four >> 8 & kNumber));
      from.pass(2);
    } else {
      uint64_t advance = 0;
      Reader rest = from;  // a copy, so that `from` stays in registers
      if (!do_one(rest, &advance)) return false;
      from = rest;
      at += advance * code_unit;
      if (at > code) break;
    }
  }
  return !from.has_failed();
}

bool Machine::do_one(Reader& from, uint64_t* advance) {
  constexpr uint8_t kOperand = 0x3f;
  const uint8_t instruction = from.byte();
  const uint8_t operand = instruction & kOperand;
  switch (instruction & ~kOperand) {
    case kAdvance: *advance = operand; return true;
    case kSaved: set(operand, Rule::kSaved, scaled(from.unsigned_leb())); return true;
    case kRestore: restore(operand); return true;
    default: break;
  }
  uint64_t number;
  switch (instruction) {
    case kNop: break;
    case kAdvance1: *advance = from.byte(); break;
    case kAdvance2: *advance = from.number<uint16_t>(); break;
    case kAdvance4: *advance = from.number<uint32_t>(); break;
    case kDefineEnd:
      state_.base = from.unsigned_leb();
      [[fallthrough]];
    case kDefineOffset: state_.end = static_cast<int64_t>(from.unsigned_leb()); break;
    case kDefineEndSigned:
      state_.base = from.unsigned_leb();
      [[fallthrough]];
    case kDefineOffsetSigned: state_.end = scaled(from.signed_leb()); break;
    case kDefineBase:
      number = from.unsigned_leb();
      if (state_.base != kNoRegister) state_.base = number;
      break;
    case kEndByExpression:
      from.skip(from.unsigned_leb());
      state_.base = kNoRegister;
      break;
    case kSavedExtended:
      number = from.unsigned_leb();
      set(number, Rule::kSaved, scaled(from.unsigned_leb()));
      break;
    case kSavedSigned:
      number = from.unsigned_leb();
      set(number, Rule::kSaved, scaled(from.signed_leb()));
      break;
    case kRestoreExtended: restore(from.unsigned_leb()); break;
    case kUndefinedValue: set(from.unsigned_leb(), Rule::kUndefined); break;
    case kSameValue: set(from.unsigned_leb(), Rule::kSame); break;
    case kInRegister: case kValueAt: case kValueAtSigned:
      set(from.unsigned_leb(), Rule::kOther);
      from.unsigned_leb();
      break;
    case kSavedByExpression: case kValueByExpression:
      set(from.unsigned_leb(), Rule::kOther);
      from.skip(from.unsigned_leb());
      break;
    case kRemember:
      if (remembered_ == kMostRemembered) return false;
      remembered_state_[remembered_++] = state_;
      break;
    case kRecall:
      if (remembered_ == 0) return false;
      state_ = remembered_state_[--remembered_];
      break;
    case kSignReturnAddress: return kReturnAddressesAreSigned;
    case kArgumentBytes: from.unsigned_leb(); break;
    default: return false;
  }
  return true;
}

bool give(const State& state, Row* row) {
  *row = {};
  row->is_outermost = state.return_address.rule == Rule::kUndefined;
  if (row->is_outermost) return true;
  if (state.base != kStackPointer && state.base != kFramePointer) return false;
  if (state.return_address.rule != Rule::kSaved || state.stack_pointer.rule != Rule::kSame) return false;
  if (state.frame_pointer.rule != Rule::kSaved && state.frame_pointer.rule != Rule::kSame) return false;
  row->is_by_frame_pointer = state.base == kFramePointer;
  row->saves_frame_pointer = state.frame_pointer.rule == Rule::kSaved;
  row->end = state.end;
  row->return_address = state.return_address.offset;
  row->frame_pointer = state.frame_pointer.offset;
  return true;
}

}  // namespace

// --- Tables -----------------------------------------------------------------------------------------------------

Tables::Tables(const os::CodeObject& object) : object_(object) {
  constexpr uint8_t kForm[] = {1, kSigned4FromHere, kUnsigned4, kSigned4FromIndex};  // version, then encodings
  Reader index = reader_from(object, object.frame_index);
  for (const uint8_t byte : kForm) {
    if (index.byte() != byte) return;
  }
  index.skip(sizeof(int32_t));  // the address of .eh_frame
  const uint64_t count = index.number<uint32_t>();
  if (count == 0 || index.left() / sizeof(Place) < count) return;
  places_ = index.at();
  count_ = count;
  number_ = mix();
}

uint64_t Tables::mix() const {
  uint64_t last;
  memcpy(&last, pointer_to(places_ + (count_ - 1) * sizeof(Place)), sizeof last);
  const uint64_t parts[] = {object_.start, object_.end, object_.frame_index, count_, last};
  uint64_t n = 0;
  for (const uint64_t part : parts) n = (n ^ part) * kHashFactor;
  return n;
}

// Returns the last entry in the index that does not begin after this address: no other can be for it.
Address Tables::entry_for(Address code) const {
  const auto wanted = static_cast<int64_t>(code - object_.frame_index);
  Address first = places_;
  for (uint64_t count = count_; count > 1; ) {
    const uint64_t half = count / 2;
    const Address middle = first + half * sizeof(Place);
    first = int_at(middle + offsetof(Place, code)) <= wanted ? middle : first;
    count -= half;
  }
  return object_.frame_index + static_cast<Address>(int_at(first + offsetof(Place, entry)));
}

bool Tables::read_common(Address at) {
  common_at_ = 0;
  Reader entry = entry_at(object_, at);
  if (entry.number<uint32_t>() != 0) return false;
  const uint8_t version = entry.byte();
  if ((version != 1 && version != 3) || entry.byte() != 'z') return false;
  const Address letters = entry.at();
  while (entry.byte() != 0) {}
  const Address end_of_letters = entry.at() - 1;
  common_ = {entry.unsigned_leb(), entry.signed_leb(), kNothingSaid};
  const uint64_t return_address = version == 1 ? entry.byte() : entry.unsigned_leb();
  const Reader data = entry.part(entry.unsigned_leb());
  if (entry.has_failed() || return_address != kReturnAddress) return false;
  if (!read_augmentation({letters, end_of_letters}, data)) return false;
  Machine machine(common_);
  if (!machine.run(entry, 0, ~Address{0})) return false;
  common_.first = machine.state();
  common_at_ = at;
  return true;
}

bool Tables::find(Address code, Row* row) {
  return count_ != 0 && find_in(entry_for(code), code, row);
}

bool Tables::find_in(Address at, Address code, Row* row) {
  Reader entry = entry_at(object_, at);
  const Address here = entry.at();
  const uint64_t back = entry.number<uint32_t>();  // distance to its common part; 0: it is a common part itself
  const Address origin = entry.at();
  const Address begin = origin + static_cast<Address>(int64_t{entry.number<int32_t>()});
  const uint64_t bytes = entry.number<uint32_t>();
  entry.skip(entry.unsigned_leb());  // its augmentation, which is for exceptions
  if (entry.has_failed() || back == 0 || code - begin >= bytes) return false;
  if (here - back != common_at_ && !read_common(here - back)) return false;
  Machine machine(common_);
  return machine.run(entry, begin, code) && give(machine.state(), row);
}

}  // namespace acre::frame_rows
