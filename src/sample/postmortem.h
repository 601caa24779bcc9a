// A file with the running heap profile and the last statistics, which outlives the process. However the process ends
// (SIGKILL, a crash, _exit, exec), the kernel keeps what was written to a mapping of the file. `acre run` and `acre
// heap` read it (cli/heap_profile/postmortem.py has the same layout).
//
// The file, in the machine's byte order: Head; two halves for statistics and two for /proc/self/maps, of which Head
// says which one is whole; from kRows on entries, one behind the other, up to Head::rows_end: a Row for each stack, and
// a PlaceText for each Python function and line, before the first row that has it. An entry is whole before rows_end
// is moved behind it, and later only the sums in a row change. So a process that is killed while it writes leaves at
// most one row of which a part is new, and it never leaves a part of an entry.
//
// Space is allocated before it is mapped, since a write to a mapping without space behind it ends the program. Once
// the file system refuses, or the file is kMostBytes long, further stacks are left out, and Head says how many.
//
// A child of fork makes a file of its own when it is first to write.
#pragma once

#include "sample/stacks.h"

namespace acre::postmortem {

inline constexpr size_t kHalfBytes = size_t{240} << 10;
inline constexpr size_t kTexts = size_t{64} << 10;  // where the halves begin: statistics, then mappings
inline constexpr size_t kRows = size_t{1} << 20;
static_assert(kTexts + 4 * kHalfBytes <= kRows);
inline constexpr size_t kMostBytes = size_t{96} << 20;  // of the file, and of the address space that it takes

enum class State : uint32_t { kRunning, kEnded };
enum class Growth : uint32_t { kGoesOn, kRefused, kAtMost };  // of the file; all but the first are final

struct TextPlace {
  std::atomic<uint32_t> half;   // the one that is whole
  std::atomic<uint32_t> bytes;  // 0: there is none yet
};

struct Head {
  char magic[8];                // "acrepost"
  uint32_t version;
  std::atomic<State> state;
  uint64_t pid;
  uint64_t start_ns;            // since 1970, as statistics_ns
  std::atomic<uint64_t> mean;   // bytes between samples
  std::atomic<uint64_t> peak;   // the number of the last peak (Row::peak)
  std::atomic<uint64_t> rows_end;
  std::atomic<uint64_t> statistics_ns;  // when they were written
  TextPlace statistics;
  TextPlace mappings;
  std::atomic<uint32_t> written;  // at the end: kProfileWritten, kStatisticsPrinted
  std::atomic<Growth> growth;
  std::atomic<uint32_t> left_out;  // stacks without a row
  char program[256];
};
inline constexpr uint32_t kProfileWritten = 1, kStatisticsPrinted = 2;

enum class EntryKind : uint32_t { kRow, kPlaceText };
struct Entry {
  EntryKind kind;
  uint32_t bytes;  // with this, and with what follows; a multiple of 8
};

// The native frames follow, then PythonFrames; both innermost first.
struct Row {
  Entry entry;
  uint16_t frames;
  uint16_t python_frames;
  uint32_t truncated;
  uint64_t peak;  // live_at_peak belongs to this peak; if it is not the last one, what is live was live at the peak
  profile::StackSums sums;
};

struct PythonFrame {
  uint32_t place;   // where its PlaceText is in the file
  uint32_t native;  // as python::Frame::native()
};

// The function's name follows, then the file's; both are UTF-8 without a 0.
struct PlaceText {
  Entry entry;
  uint32_t line;
  uint16_t name_bytes;
  uint16_t file_bytes;
};

// From now on. The folder's text must stay. Returns 0 or an error number.
int start(const char* folder);
bool is_on();

// The average bytes between samples from now on.
void note_mean(uint64_t mean);

// --- The profile's rows. The caller holds the profile's lock, except for make_room(). -------------------------------

// Whether make_room() has to be called before the next new stack. A stack that finds no room gets its row later, when
// there is some.
bool lacks_room();
void make_room();
// Writes the stack's row; a new stack gets one if there is room. Into a new file all stacks are written, from `first` on.
void write(profile::Stack& stack, uint64_t last_peak, profile::Stack* first);
void write_all(profile::Stack* first);  // the rows of all stacks, from the first one on

// --- Texts. One thread at a time. ------------------------------------------------------------------------------------

// Begins new statistics, adds a part, and makes them the file's. What is too long is cut off.
void begin_statistics();
void add_statistics(const char* text);
void end_statistics();
// Copies /proc/self/maps.
void copy_mappings();

// The process ends as it should. written: what has gone to other files.
void end(uint32_t written);

}  // namespace acre::postmortem
