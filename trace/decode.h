// Decodes the events of one lane's block (src/record/format.h). Reads nothing outside of the bytes that it is given.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "record/format.h"

namespace acre::trace {

enum class What : uint8_t {
  kAllocate,
  kFree,
  kResize,    // of a block: address, size (of a free: 0)
  kTakeover,  // numbers: shard, epoch, number
  kSync,      // numbers: the counter
  kStackIs,   // numbers: the stack's number; list: its frames
  kMark,
  kName,     // text
  kTag,      // text
  kLost,     // numbers: so many events
  kFigures,  // list: by record::Figure
  kRunIs,    // address; numbers: pages of 4 KiB, block bytes or 0
  kRunGone,  // address
  kPurged,   // numbers: pages of 4 KiB
  kCut,      // numbers: lane, block, used
  kEnd,
};

inline constexpr uint64_t kNoStack = UINT64_MAX;

struct Event {
  What what = What::kEnd;
  record::Kind kind = record::Kind::kPlain;
  uint8_t align_log2 = 0;  // of kAligned
  uint32_t offset = 0;     // in the block, of the event or of what belongs to it and stands before it
  uint64_t ticks = 0;      // the lane's last time before the event
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t stack = kNoStack;
  std::array<uint64_t, 3> numbers{};
  std::vector<uint64_t> list;
  std::string_view text;  // in the block's bytes
};

inline bool is_of_block(What what) { return what <= What::kResize; }
const char* name_of(What what);
const char* name_of(record::Kind kind);

class Decoder {
 public:
  Decoder();

  void begin(std::span<const uint8_t> events, uint64_t start_ticks, uint64_t seen);

  // False: there are no more events, or error() tells why what follows cannot be decoded.
  bool next(Event& event);

  const char* error() const { return error_; }
  uint32_t offset() const { return static_cast<uint32_t>(at_ - begin_); }  // of what next() would decode
  uint64_t ticks() const { return ticks_; }

 private:
  bool fail(const char* why);
  bool byte(uint8_t& to);
  bool number(uint64_t& to);
  bool text(Event& event);
  bool allocate(Event& event, uint64_t size);
  bool operation(Event& event, record::Op op, bool& complete);

  const uint8_t* begin_ = nullptr;
  const uint8_t* at_ = nullptr;
  const uint8_t* end_ = nullptr;
  const char* error_ = nullptr;
  uint64_t ticks_ = 0;
  uint64_t seen_ = 0;
  uint64_t last_free_ = 0;
  uint64_t last_run_ = 0;  // in pages
  std::array<uint64_t, record::kContexts> last_{};
  struct Slot {
    uint64_t address;
    uint8_t context;
    bool used;
  };
  std::vector<Slot> slots_;
};

}  // namespace acre::trace
