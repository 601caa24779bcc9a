// The schedule of a recorded process, which `acre-trace schedule` writes and acre-replay plays on any allocator. Both
// are of one build: the format has no other readers, and its magic only tells files of other builds apart.
//
// A file has the header, pieces of the threads' words in any order, the threads and the samples. A thread's words are
// what it does, in order. Blocks live in slots of a table that is as large as the peak of live blocks.
#pragma once

#include <cstdint>

namespace acre::trace::replay {

inline constexpr char kMagic[8] = {'A', 'C', 'R', 'E', 'S', 'C', 'H', '1'};
inline constexpr uint32_t kNoThread = UINT32_MAX;

struct Header {
  char magic[8];
  uint32_t threads;
  uint32_t slots;
  uint64_t operations;      // calls of malloc and its like
  uint64_t threads_offset;  // of ThreadEntry …; the first is the main thread
  uint64_t samples_offset;  // of Sample …
  uint64_t samples;
  uint64_t longest_piece;  // bytes
  uint64_t peak_bytes;     // that lived at a time, as they were asked for
};

struct ThreadEntry {
  uint64_t words;
  uint64_t first_piece;  // where; 0: there is none
};

// Its words follow. All words of a thread are in its pieces, which are full but for the last one.
struct Piece {
  uint64_t next;  // where; 0: this is the last one
  uint64_t words;
};

// What the recording says about the moment of an operation kSample.
struct Sample {
  uint64_t time_ns;         // since the first event
  uint64_t live_bytes;      // as they were asked for
  uint64_t resident_bytes;  // of no file and not shared; 0: unknown
};

// A word: operation, 4 bits; kPosted; a slot or a thread, 27 bits; a value, 32 bits.
enum class Op : uint8_t {
  kMalloc,   // value: bytes
  kCalloc,   // the same
  kAligned,  // the same; kWide has the alignment
  kRealloc,  // the same; of a block that may move or stay
  kFree,
  kSizedFree,
  kWide,    // of the next word. slot: log2 of the alignment; value: the size's upper half
  kWait,    // slot: a thread; value: until it has done the word of this number
  kStart,   // slot: a thread, which begins
  kSample,  // value: the number of the sample
  kTime,    // all bits above kPosted: nanoseconds since the first event; what follows was not done before
};
inline constexpr unsigned kOps = 11;

inline constexpr uint64_t kPosted = 1 << 4;  // a thread waits for this word
inline constexpr unsigned kSlotShift = 5;
inline constexpr unsigned kSlotBits = 27;
inline constexpr uint32_t kMostSlots = (1u << kSlotBits) - 1;  // and threads
inline constexpr unsigned kValueShift = 32;

constexpr uint64_t word_of(Op op, uint32_t slot, uint32_t value) {
  return static_cast<uint64_t>(op) | uint64_t{slot} << kSlotShift | uint64_t{value} << kValueShift;
}
constexpr uint64_t time_word(uint64_t ns) { return static_cast<uint64_t>(Op::kTime) | ns << kSlotShift; }
constexpr unsigned op_of(uint64_t word) { return word & 15; }
constexpr uint32_t slot_of(uint64_t word) { return (word >> kSlotShift) & ((1u << kSlotBits) - 1); }
constexpr uint32_t value_of(uint64_t word) { return static_cast<uint32_t>(word >> kValueShift); }

}  // namespace acre::trace::replay
