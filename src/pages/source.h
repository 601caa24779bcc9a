// Memory sources: where an arena's chunks and huge blocks come from, if not from anonymous memory: a file, a device, or
// functions of the program. The options, or the program (program_source.h), can set one for all arenas without their
// own. A manual arena can have its own.
#pragma once

#include "base/mutex.h"
#include "acre/extent_hooks.h"
#include "pages/file_source.h"
#include "pages/program_source.h"
#include "pages/run.h"
#include "pages/window.h"
#include "tables/options.h"

namespace acre {

enum class OnFailure : uint8_t { kRefuse, kFallBack, kAbort };

class Source {
 public:
  // The source of arenas without their own, or null.
  static Source* automatic() { return __atomic_load_n(&g_automatic, __ATOMIC_ACQUIRE); }
  // Opens what the options name, once. A failure ends the program or prints a line, as the options say.
  static void start_automatic() {
    if (ACRE_UNLIKELY(options().file != 0 || options().device_start != 0)) open_automatic();
  }

  // From now on chunks of arenas without a source of their own come from this function, and not from a file or device.
  // Null: no longer. Must not run while the process forks.
  static void use_program(const ProgramSource::Function* function);
  // The function's argument, or null.
  static const void* program_argument();
  // has_program: whether there may be memory of such a function, which must be neither purged nor unmapped.
  // first_to_purge: the first part of a range without such memory. Neither takes a lock.
  static bool has_program() { return g_has_program.load(std::memory_order_relaxed); }
  static huge_pages::Range first_to_purge(huge_pages::Range range) {
    return ACRE_UNLIKELY(has_program()) ? without_program(range) : range;
  }

  // For hooks: the arena's number.
  void set_number(unsigned number) { number_ = number; }

  // Each replaces the former source. False: the file cannot be opened, and there is no source.
  bool use_file(const FileSettings& settings, OnFailure on_failure);
  void use_hooks(extent_hooks_t* hooks);
  void use_none();
  bool is_none() const { return hooks_ == nullptr && !files_[0].source.is_open() && !files_[1].source.is_open(); }
  extent_hooks_t* hooks() const { return hooks_; }

  // As window::allocate. last_try: after a refusal the caller does not ask for less.
  window::Chunk chunk(size_t bytes, bool last_try);

  // How often hooks of the program were called. A hook may have allocated from other arenas.
  static uint32_t hook_calls() { return g_hook_calls.load(std::memory_order_relaxed); }

  // Memory for a huge block. bytes: a multiple of granularity(). *in_source: it goes back by release_huge().
  size_t granularity() const { return hooks_ != nullptr ? os::page_bytes() : kHugePageBytes; }
  window::Chunk huge(size_t bytes, size_t alignment, bool* in_source);

  // False: the arena has to keep the memory.
  bool release_huge(Address start, size_t bytes);
  void release_chunk(const window::Chunk& chunk);

  // Purges a dirty or muzzy run. Returns what its pages hold now.
  Holds purge(Run* run, Holds to);

  void at_fork(ForkStage stage);

 private:
  struct File {
    FileSource source;
    OnFailure on_failure = OnFailure::kFallBack;
    bool retry = true;          // false: a message is printed once, and the file or device is not asked again
    std::atomic<bool> given_up{false};
  };

  // alignment 0: for a chunk.
  window::Chunk from_files(size_t bytes, size_t alignment, bool last_try, bool* in_source);
  static bool fall_back(File& file);
  ACRE_HIDDEN static void open_automatic();
  ACRE_HIDDEN static Source* g_automatic;
  ACRE_HIDDEN static std::atomic<bool> g_has_program;
  ACRE_HIDDEN static std::atomic<uint32_t> g_hook_calls;
  static void note_hook_call() { g_hook_calls.fetch_add(1, std::memory_order_relaxed); }
  static huge_pages::Range without_program(huge_pages::Range range);

  window::Chunk from_hooks(size_t bytes, size_t alignment);
  void take_away_from_files(Address start, size_t bytes);

  File files_[2];               // a file; a device
  extent_hooks_t* hooks_ = nullptr;
  ProgramSource program_;       // used only in the source that arenas share
  unsigned number_ = 0;
};

// Returns a mapping of anonymous memory, or 0.
Address map_anonymous(size_t bytes, size_t alignment);

// Hooks over anonymous memory, for hooks of a program that call the ones they replace.
extent_hooks_t* default_hooks();

}  // namespace acre
