// The memory that a recorded program and the collector share, and the bytes of events in it. The tool that collects and
// reads traces (trace/) includes this header, too. docs/trace-format.md describes the same for readers of files.
//
// Each thread that allocates has a *lane*, a ring of blocks. It alone writes events there. The collector takes filled
// blocks, and what is in the others when the process has ended. A block can be decoded without those before it, except
// for the order between lanes.
//
// Order. A *shard* is all addresses with the same shard_of(). Its word names the lane that touched it last, and how
// often it has changed lanes (its *epoch*). A thread that touches a shard of which another lane is the last, does a
// *takeover*: it puts itself into the word by a compare-and-swap, then takes a *number* from the process's counter, and
// writes both down before its event. A *sync*, each takeover and the start of a block tell how far the thread has seen
// the counter: after it the thread sees the shard words of all takeovers with smaller numbers.
//   So an event of the new lane in the shard comes after all events of the last lane up to what tells first, behind that
//   lane's own takeover of the shard, that it has seen as much as the number; or up to the lane's end. Events of one lane
//   are in the order in which they are written. An allocation is written after the block was got, and before the program
//   gets it; a free before another thread can get the block. Two events on the same address are thereby always in order.
//   A lane may take a shard over before the last one has its number, which is larger then. If lanes wait for each other
//   because of that, the takeover with the smallest number of all may be counted as seen by all.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace acre::record {

// --- Events ---------------------------------------------------------------------------------------------------
//
// The first byte tells what follows. A number is LEB128: seven bits a byte, low ones first, the high bit set in all but
// the last byte. A signed number is folded: 0, -1, 1, -2 … are 0, 1, 2, 3 …
//
//   0iiiiiii sjjjjjjj     free of the block in slot i | j << 7 of the table of recent blocks; s: with a size
//   10nnnnnn mmmmmmmm     malloc of n | m << 6 bytes, then the address
//   11oooooo              see Op
//
// An address of an allocation is the signed number of units by which it lies above the last address of the context
// context_of(n): of an allocation there, or of a block there that was freed by its slot. The unit is 8 bytes in context
// 0, and 16 bytes in the others. At a block's start all are 0, and the table is empty.
//
// The table of recent blocks: each allocation puts its address and its context into slot slot_of(address), and a free of
// a block that is found there empties the slot.
enum class Op : uint8_t {
  kTime = 0,       // ticks since the block's last time, or its start
  kFree = 1,       // signed: units of 8 bytes from the address of the last free in the block (0 at its start)
  kMalloc = 2,     // n, address
  kMallocAt = 3,   // n, then the address in 8 bytes, little-endian: it is no multiple of its context's unit
  kKind = 4,       // a byte: the Kind of the next event; for kAligned another byte: log2 of the alignment
  kResize = 5,     // a block stays where it is: as kFree, then n
  kTakeover = 6,   // shard, epoch, number less the last number seen in the block (at its start: BlockHeader::seen)
  kSync = 7,       // the counter, less the last number seen
  kStack = 8,      // the stack's number: of the next event
  kStackIs = 9,    // number, count of frames, then each frame: signed difference to the one before, the first to 0
  kMark = 10,      // length, then text
  kName = 11,      // the same: the thread's name from now on
  kLost = 12,      // so many events were not recorded
  kFigures = 13,   // count, then so many numbers: Figure
  kRunIs = 14,     // signed: pages of 4 KiB from the last kRunIs or kRunGone; count of pages; block bytes, 0: one block
  kRunGone = 15,   // as kRunIs without the rest
  kPurged = 16,    // count of pages that went back to the system
  kCut = 17,       // in a forked child: lane, block and used of a lane of the parent when it forked; see ProcessHeader
  kEnd = 18,       // the lane's last event
  kTag = 19,       // length, text: the tag that the thread has in force from now on, up to the block's end; empty: none
};

// What was called. A realloc that moves is kReallocTo, then kReallocFrom; of a large block that is resized where it is,
// kReallocFrom may come first, and kReallocTo has its address.
enum class Kind : uint8_t {
  kPlain = 0,        // malloc, operator new; free, operator delete
  kZeroed = 1,       // calloc
  kAligned = 2,      // aligned_alloc, posix_memalign …
  kReallocFrom = 3,
  kReallocTo = 4,
  kSized = 5,        // free_sized, sized operator delete
};

enum class Figure : uint8_t { kLive = 0, kActive = 1, kDirty = 2, kMuzzy = 3, kMapped = 4, kMetadata = 5, kCount = 6 };

inline constexpr unsigned kContexts = 128;
inline constexpr unsigned kUnit8 = 8, kUnit16 = 1024;  // bytes: the most of context 0, and of those that differ by 16
inline constexpr unsigned context_of(uint64_t n) {
  if (n <= kUnit8) return 0;
  if (n <= kUnit16) return static_cast<unsigned>((n + 15) / 16);
  return 64 + static_cast<unsigned>(63 - __builtin_clzll(n));  // 74 …
}
inline constexpr unsigned unit_log2(unsigned context) { return context == 0 ? 3 : 4; }

inline constexpr unsigned kSlotsLog2 = 10;
inline constexpr unsigned slot_of(uint64_t address) {
  return (static_cast<uint32_t>(address) * 0x9e3779b1u) >> (32 - kSlotsLog2);
}

inline constexpr unsigned kShardsLog2 = 16;
inline constexpr unsigned shard_of(uint64_t address) {
  return static_cast<unsigned>(address >> 15) & ((1u << kShardsLog2) - 1);
}

inline constexpr uint64_t fold(int64_t n) { return (static_cast<uint64_t>(n) << 1) ^ static_cast<uint64_t>(n >> 63); }
inline constexpr int64_t unfold(uint64_t n) { return static_cast<int64_t>(n >> 1) ^ -static_cast<int64_t>(n & 1); }

inline constexpr unsigned kMostText = 255;     // bytes of a mark or a name
inline constexpr unsigned kMostFrames = 128;
inline constexpr unsigned kShortMalloc = 1 << 14;
inline constexpr size_t kMostEvent = 1400;     // bytes, kStackIs being the longest

// --- Shared memory -----------------------------------------------------------------------------------------------
//
// The collector makes a file in memory of kSharedBytes: SharedHeader, processes, lanes' headers, lanes' blocks. Each
// process maps all of it. Pages that nobody has touched take no memory. All words are little-endian.

inline constexpr uint64_t kMagic = 0x3145434152544341;  // "ACTRACE1"
inline constexpr uint32_t kVersion = 4;

inline constexpr size_t kBlockBytes = size_t{64} << 10;
inline constexpr unsigned kBlocksPerLane = 4;
inline constexpr unsigned kMostLanes = 1024;      // in use at the same time, of all processes
inline constexpr unsigned kMostProcesses = 256;   // the same

enum class CollectorState : uint32_t { kCollects = 1, kEnds = 2 };  // kEnds: nobody waits for it any more
// kEnded: the process records no more, but a thread may be writing its last event.
enum class ProcessState : uint32_t { kFree = 0, kStarts = 1, kRecords = 2, kEnded = 3 };
// kEnds: the thread writes no more, and the collector frees the lane when it has taken all.
enum class LaneState : uint32_t { kFree = 0, kStarts = 1, kUsed = 2, kEnds = 3 };

struct SharedHeader {
  std::atomic<uint64_t> magic;        // written last
  uint32_t version;
  uint32_t collector;                 // its process's number
  std::atomic<CollectorState> state;
  std::atomic<uint32_t> filled;       // futex: counts blocks that were filled, and processes and lanes that began
  std::atomic<uint32_t> collector_waits;  // 1: whoever changes `filled` wakes it
  std::atomic<uint32_t> next_process; // numbers of processes, 0 …
  uint32_t stack_every;               // 0: no stacks; 1: of each allocation; n: of each n bytes, by the profiler's clock
  std::atomic<uint32_t> refused;      // processes, and threads of them, for which there was no entry
  // The collector counts about 10 ms in the lower half: a lane writes the time when this has changed. The upper half is
  // random and not 0, so that no two recordings have the same clock.
  alignas(64) std::atomic<uint64_t> clock;
};

// A process that records, or one program of it: after an exec it begins another.
struct alignas(128) ProcessHeader {
  std::atomic<ProcessState> state;    // kStarts: by compare-and-swap from kFree; kRecords: the rest is written
  uint32_t number;                    // SharedHeader::next_process
  uint32_t pid;                       // in its own namespace; the collector reads /proc by it
  uint32_t parent;                    // number of the process that it was forked from, or kNoProcess
  uint32_t program;                   // differs after an exec, with hardly an exception; 0: not known
  uint64_t start_ticks;
  uint64_t start_ns;                  // CLOCK_MONOTONIC at the same time
  std::atomic<uint32_t> next_lane;    // counts the lanes of this entry
  std::atomic<uint32_t> is_known;     // futex: 1 once the collector has read what the kernel tells of the process
  std::atomic<uint64_t> takeovers;    // the counter; a takeover's number is what the counter is afterwards, 1 …
};
inline constexpr uint32_t kNoProcess = UINT32_MAX;

// The thread writes its first half, the collector the second.
struct alignas(128) LaneHeader {
  std::atomic<LaneState> state;       // kStarts: by compare-and-swap from kFree; kUsed: the rest is written
  uint32_t process;                   // ProcessHeader::number
  uint32_t number;                    // no other lane of the process has it
  uint32_t thread;                    // the kernel's number of the thread; 0: events of threads without a lane
  std::atomic<uint32_t> filled;       // blocks that the thread has filled; it writes block `filled` % kBlocksPerLane
  alignas(64) std::atomic<uint32_t> taken;  // futex: blocks that the collector has taken
  std::atomic<uint32_t> thread_waits; // 1: the collector wakes whoever waits for `taken`
};

// A lane's block begins with this; events follow.
struct BlockHeader {
  std::atomic<uint32_t> used;   // bytes of whole events
  std::atomic<uint32_t> number; // of the block in its lane, 0 …; differs from the expected one if it was not begun.
                                // Written after `used`, which is 0 then.
  uint64_t start_ticks;
  uint64_t seen;                // takeovers that the thread has seen, as after a sync
  uint64_t unused;
};
static_assert(sizeof(BlockHeader) == 32);
inline constexpr size_t kEventBytes = kBlockBytes - sizeof(BlockHeader);

inline constexpr size_t kProcessesAt = 4096;
inline constexpr size_t kLanesAt = kProcessesAt + kMostProcesses * sizeof(ProcessHeader);
inline constexpr size_t kBlocksAt = kLanesAt + kMostLanes * sizeof(LaneHeader);
inline constexpr size_t kLaneBytes = kBlocksPerLane * kBlockBytes;
inline constexpr size_t kSharedBytes = kBlocksAt + kMostLanes * kLaneBytes;
static_assert(sizeof(SharedHeader) <= kProcessesAt);
static_assert(sizeof(ProcessHeader) == 128 && sizeof(LaneHeader) == 128);
static_assert(kBlocksAt % 4096 == 0);

}  // namespace acre::record
