// The options, declared once in the table below. The parser, the defaults, the messages, the ctl nodes opt.* and the
// output of `acre options` follow from it.
//
// Options are read once at start-up, from /etc/acre.conf, jemalloc's malloc_conf and MALLOC_CONF, TCMalloc's variables
// (synonyms.h), ACRE_CONF and the program's acre_conf, in this order. A later setting replaces an earlier one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre {

// Which blocks are filled with a pattern.
enum class Junk : uint8_t { kNone, kBoth, kAllocated, kFreed };

// Transparent huge pages: nowhere, where memory is large and dense (pages/huge_pages.h), or for all chunks.
enum class HugePages : uint8_t { kNone, kAuto, kAll };

// kSummary and kText are for people, the others for programs.
enum class StatsFormat : uint8_t { kSummary, kText, kJson, kOpenMetrics };

// When to check for leaks: never; when the program ends, by one of four sets of rules (leaks/check.h); only on request.
enum class LeakMode : uint8_t { kNone, kMinimal, kNormal, kStrict, kDraconian, kLocal };

// Which blocks lie between guard pages: none, or some at random (guard/guards.h).
enum class Guard : uint8_t { kNone, kAuto };

// The type of a value: the second column of the table. kNames: names of the values 0, 1 …, then an empty one.
enum class OptionType : uint8_t { kBool, kNumber, kBytes, kChoice, kPath };
struct Bool {
  using Value = bool;
  static constexpr OptionType kType = OptionType::kBool;
  static constexpr const char kNames[] = "false\0true\0";
};
struct Number {
  using Value = int64_t;
  static constexpr OptionType kType = OptionType::kNumber;
  static constexpr const char kNames[] = "";
};
struct Bytes {
  using Value = int64_t;
  static constexpr OptionType kType = OptionType::kBytes;
  static constexpr const char kNames[] = "";
};
// The value is the address of a text that is never freed, or 0 for none: path_of().
struct Path {
  using Value = int64_t;
  static constexpr OptionType kType = OptionType::kPath;
  static constexpr const char kNames[] = "";
};
struct JunkChoice {
  using Value = Junk;
  static constexpr OptionType kType = OptionType::kChoice;
  static constexpr const char kNames[] = "false\0true\0alloc\0free\0";
};
struct HugePagesChoice {
  using Value = HugePages;
  static constexpr OptionType kType = OptionType::kChoice;
  static constexpr const char kNames[] = "never\0auto\0always\0";
};
struct LeaksChoice {
  using Value = LeakMode;
  static constexpr OptionType kType = OptionType::kChoice;
  static constexpr const char kNames[] = "none\0minimal\0normal\0strict\0draconian\0local\0";
};
struct GuardChoice {
  using Value = Guard;
  static constexpr OptionType kType = OptionType::kChoice;
  static constexpr const char kNames[] = "false\0auto\0";
};
struct FormatChoice {
  using Value = StatsFormat;
  static constexpr OptionType kType = OptionType::kChoice;
  static constexpr const char kNames[] = "summary\0text\0json\0openmetrics\0";
};

// Whether ctl may change an option while the program runs.
enum class Change : uint8_t { kAtStart, kAnyTime };

inline constexpr int64_t kMostMs = INT64_MAX / 1000000;
inline constexpr int64_t kMostBytes = int64_t{1} << 47;
inline constexpr int64_t kMostRate = int64_t{1} << 50;  // pages/release_rate.h
inline constexpr int64_t kMostPathValue = INT64_MAX - 1;      // an address
inline constexpr int64_t kMostChunkBytes = int64_t{1} << 30;  // pages/window.h: kMostChunk

// X(name, type, default, least, most, change, help): one line for each option.
// clang-format off
#define ACRE_OPTIONS(X) \
  X(stats_print, Bool, 0, 0, 1, kAnyTime, "print statistics to stderr when the program ends") \
  X(stats_format, FormatChoice, 0, 0, 3, kAtStart, "what stats_print prints; docs/statistics.md describes each") \
  X(arenas, Number, 0, 0, 256, kAtStart, "most arenas; 0: one on one processor, else four times the processors") \
  X(dirty_decay_ms, Number, 10000, -1, kMostMs, kAnyTime, "milliseconds in which unused dirty pages are returned; 0: at once; -1: never") \
  X(muzzy_decay_ms, Number, 0, -1, kMostMs, kAnyTime, "not 0: dirty pages become muzzy (MADV_FREE) first, and may stay it for so many milliseconds; -1: for ever") \
  X(release_rate, Bytes, -1, -1, kMostRate, kAnyTime, "so much goes back in a second, in place of the decay times; 0: nothing; -1: the decay times hold") \
  X(background_thread, Bool, 0, 0, 1, kAnyTime, "a thread that returns memory when the program is idle") \
  X(thread_cache_max, Bytes, -1, -1, kMostBytes, kAnyTime, "runs that all threads together may keep beyond their current runs; -1: a quarter of the memory in use, 64 MiB if that is more, or all of it while there is one thread") \
  X(thread_cache_min, Bytes, 0, 0, kMostBytes, kAnyTime, "so much of it each thread may keep, whatever thread_cache_max says") \
  X(unit_table, Bool, 1, 0, 1, kAtStart, "find run headers through the unit table where address space allows") \
  X(chunk, Bytes, 0, 0, kMostChunkBytes, kAtStart, "address space that an arena gets at a time, rounded up to 2 MiB; 0: more, the larger it is") \
  X(huge_pages, HugePagesChoice, 1, 0, 2, kAtStart, "transparent huge pages: never, auto (where an arena is large and dense), or always") \
  X(hard_limit, Bytes, 0, 0, kMostBytes, kAnyTime, "memory beyond which requests are refused; 0: none") \
  X(soft_limit, Bytes, 0, 0, kMostBytes, kAnyTime, "memory beyond which unused memory is returned at once, and the program is called; 0: none") \
  X(cgroup, Bool, 1, 0, 1, kAnyTime, "look at the cgroup's memory limit and processor quota, once a second") \
  X(pressure, Bool, 1, 0, 1, kAnyTime, "look at the system's memory pressure, once a second, and return unused memory at once while there is some") \
  X(mmap, Bool, 1, 0, 1, kAtStart, "memory for the program comes from anonymous mappings") \
  X(sbrk, Bool, 1, 0, 1, kAtStart, "memory for the program comes from sbrk where mappings are refused or switched off") \
  X(name_mappings, Bool, 1, 0, 1, kAtStart, "acre's mappings have names in /proc/PID/maps and smaps, if the kernel knows names") \
  X(file, Path, 0, 0, kMostPathValue, kAtStart, "memory for the program comes from a file in this folder, or from this file, which must be empty") \
  X(file_limit, Bytes, 0, 0, kMostBytes, kAtStart, "so much at most comes from the file; 0: no limit") \
  X(file_private, Bool, 0, 0, 1, kAtStart, "the file is mapped privately: what is written goes to memory and not to the file") \
  X(file_abort, Bool, 0, 0, 1, kAtStart, "the program ends when the file gives no memory; otherwise it gets other memory") \
  X(file_retry, Bool, 0, 0, 1, kAtStart, "after the file gave no memory it is asked again the next time; otherwise a line on stderr says so and it is not") \
  X(device, Path, 0, 0, kMostPathValue, kAtStart, "the device for device_start; /dev/mem if none is named") \
  X(device_start, Bytes, 0, 0, kMostBytes, kAtStart, "memory for the program comes from a device, from this offset on; 0: it does not") \
  X(device_limit, Bytes, 0, 0, kMostBytes, kAtStart, "the offset in the device where that memory ends; 0: no limit") \
  X(junk, JunkChoice, 0, 0, 3, kAtStart, "fill blocks: new ones with 0xa5 (alloc), freed ones with 0x5a (free), or both (true)") \
  X(zero, Bool, 0, 0, 1, kAtStart, "fill new blocks with zeroes") \
  X(prof, Bool, 0, 0, 1, kAtStart, "sample allocations for the heap profile from the start") \
  X(prof_active, Bool, 1, 0, 1, kAtStart, "whether sampling is on at the start, or waits for prof.active") \
  X(prof_sample, Bytes, int64_t{512} << 10, 0, kMostBytes, kAtStart, "bytes from sample to sample, on average; 0: every block is sampled") \
  X(prof_thread_active_init, Bool, 1, 0, 1, kAtStart, "whether threads are sampled from their start, or wait for thread.prof.active") \
  X(prof_python, Bool, 0, 0, 1, kAnyTime, "stacks of the heap profile have the functions of a Python interpreter, CPython 3.11 to 3.14") \
  X(prof_final, Bool, 0, 0, 1, kAnyTime, "write the heap profile to a file when the program ends") \
  X(prof_folder, Path, 0, 0, kMostPathValue, kAtStart, "where heap profiles are written; none: in the current folder") \
  X(prof_signal, Number, 0, 0, 64, kAtStart, "the number of a signal on which the heap profile is written; 0: none") \
  X(prof_interval, Bytes, 0, 0, kMostBytes, kAtStart, "write the heap profile each time about so many bytes more were allocated; 0: not") \
  X(prof_gdump, Bool, 0, 0, 1, kAtStart, "write the heap profile each time more address space is in use than there ever was") \
  X(prof_prefix, Path, 0, 0, kMostPathValue, kAtStart, "what the names of heap profiles begin with, in place of the program's name; with a slash in it, in place of prof_folder, too") \
  X(postmortem, Path, 0, 0, kMostPathValue, kAtStart, "a file in this folder keeps the running profile and statistics, however the program ends") \
  X(final_signals, Bool, 0, 0, 1, kAtStart, "SIGHUP and SIGTERM, where they end the program, do so after the final profile and statistics are written") \
  X(large_alloc_report, Bytes, int64_t{1} << 30, 0, kMostBytes, kAnyTime, "an allocation of so many bytes or more is reported on stderr with its stack, and the next one that is an eighth larger; 0: none is") \
  X(control, Bool, 0, 0, 1, kAtStart, "a thread answers at a socket, so that acre's commands can ask and tell the running process") \
  X(control_on_request, Bool, 1, 0, 1, kAnyTime, "without control: the thread starts when a file in the run folder asks for it") \
  X(leaks, LeaksChoice, 0, 0, 5, kAtStart, "look for leaks when the program ends, by the rules minimal, normal, strict or draconian; local: only where it asks for it") \
  X(leaks_exit_code, Number, 23, 0, 255, kAtStart, "the exit code of a program that has leaks when it ends; 0: its own") \
  X(leaks_process, Number, 0, -1, INT32_MAX, kAtStart, "the process that looks for leaks; 0: each that starts with the option leaks; -1: children of fork too") \
  X(leaks_folder, Path, 0, 0, kMostPathValue, kAtStart, "where reports of leaks are written; none: in the current folder") \
  X(leaks_signal, Number, 0, 0, 64, kAtStart, "the number of a signal on which a report of leaks is written; 0: none") \
  X(utrace, Path, 0, 0, kMostPathValue, kAtStart, "a line for each allocation and each free goes to this new file, in whose path %p is the number of the process") \
  X(record, Path, 0, 0, kMostPathValue, kAtStart, "each allocation and each free goes to the collector of this process and descriptor, as 123/4: acre record sets it") \
  X(xmalloc, Bool, 0, 0, 1, kAnyTime, "out of memory ends the program, where an allocation would fail") \
  X(size_checks, Bool, 1, 0, 1, kAnyTime, "a free that tells a size or an alignment ends the program if the block has another") \
  X(hardened, Bool, 0, 0, 1, kAtStart, "the hardened mode: canaries, zeroed and quarantined free blocks, a random order, guard pages") \
  X(kind_checks, Bool, 1, 0, 1, kAnyTime, "hardened: a free of a block that another kind of function has allocated ends the program") \
  X(alloc_token_max, Number, 0, 0, INT32_MAX, kAtStart, "hardened: what the program was compiled with as -falloc-token-max; 0: without it") \
  X(guard, GuardChoice, 0, 0, 1, kAtStart, "auto: some blocks, drawn at random, lie between pages that cannot be read or written") \
  X(guard_sample, Bytes, int64_t{100} << 20, 0, kMostBytes, kAtStart, "bytes from guarded block to guarded block, on average, of blocks of up to 4 KiB; 0: every such block is one, as long as there is room") \
  X(abort_backtrace, Bool, 0, 0, 1, kAtStart, "a line about misuse is followed by the stack of the call") \
  X(abort, Bool, 0, 0, 1, kAtStart, "whatever acre warns of ends the program; today these are wrong settings") \
  X(abort_conf, Bool, 0, 0, 1, kAtStart, "a wrong setting ends the program")
// clang-format on

struct Options {
#define ACRE_X(name, type, initial, least, most, change, help) type::Value name = static_cast<type::Value>(initial);
  ACRE_OPTIONS(ACRE_X)
#undef ACRE_X
};

// Whether the library is libacre-hardened.so: the option hardened is true there unless a setting says otherwise.
extern const bool kHardenedByDefault;

// The options in force. An option that may change at any time must be read through relaxed_load.
const Options& options();

// --- The table, for code that iterates over it ----------------------------------------------------------------

// No pointers, since each process would have to relocate them.
struct OptionInfo {
  char name[24];
  OptionType type;
  Change change;
  int64_t initial;
  int64_t least;
  int64_t most;
};

inline constexpr OptionInfo kOptionTable[] = {
#define ACRE_X(name, type, initial, least, most, change, help) \
  {#name, type::kType, Change::change, initial, least, most},
    ACRE_OPTIONS(ACRE_X)
#undef ACRE_X
};
inline constexpr unsigned kOptionCount = sizeof kOptionTable / sizeof kOptionTable[0];

enum class Option : unsigned {
#define ACRE_X(name, type, initial, least, most, change, help) name,
  ACRE_OPTIONS(ACRE_X)
#undef ACRE_X
};
constexpr unsigned index_of(Option option) { return static_cast<unsigned>(option); }

const char* option_help(unsigned index);

// The text of a path option with this value; empty if there is none.
inline const char* path_of(int64_t value) { return value == 0 ? "" : reinterpret_cast<const char*>(value); }
inline constexpr size_t kMostPath = 1024;  // bytes, with the 0 at its end

// The name of the option's value; an empty text if it has none.
const char* option_value_name(unsigned index, int64_t value);

enum class OptionSource : uint8_t { kDefault, kFile, kJemalloc, kTcmalloc, kEnvironment, kProgram, kRunTime };
const char* name_of(OptionSource source);

int64_t option_value(unsigned index);
OptionSource option_source(unsigned index);

// Returns false, with nothing changed, if the value is out of range. Any thread, any time. Ignores `change`.
bool set_option(unsigned index, int64_t value, OptionSource source);

// --- Reading ------------------------------------------------------------------------------------------------

struct OptionSources {
  const char* file = nullptr;     // path of a file, or of a symbolic link whose text is the settings
  char** environment = nullptr;   // with ACRE_CONF, MALLOC_CONF and TCMalloc's variables
  const char* program = nullptr;  // text of acre_conf
  bool privileged = false;        // as in set-user-id programs: the environment is not trusted
  const char* jemalloc = nullptr; // text of malloc_conf
};

// Reads the settings. Prints a line for each wrong setting and ignores it; with abort or abort_conf the program ends
// after all are read. Called once, before the program's threads start.
void read_options(const OptionSources& sources);

// The same from the program's real sources, with this environment.
void read_options(char** environment);

}  // namespace acre
