// Memory sources: where the chunks and huge blocks of an arena come from, if not from the system's anonymous memory
// (window.h, huge.h): a file, a device, or functions of the program's.
//
// There is one for all arenas that have none of their own, if the options ask for it or the program gave a function
// (program_source.h), and one for each manual arena that was made with it.
#pragma once

#include "acre/extent_hooks.h"
#include "pages/file_source.h"
#include "pages/program_source.h"
#include "pages/run.h"
#include "pages/window.h"
#include "tables/options.h"

namespace acre {

// What to do when a file or a device gives no memory.
enum class OnFailure : uint8_t { kRefuse, kFallBack, kAbort };

class Source {
 public:
  // The one for arenas without their own, or null.
  static Source* automatic() { return __atomic_load_n(&g_automatic, __ATOMIC_ACQUIRE); }
  // By the options, once. A file that cannot be had ends the program or costs a line on stderr, as the options say.
  static void start_automatic() {
    if (ACRE_UNLIKELY(options().file != 0 || options().device_start != 0)) open_automatic();
  }

  // From now on chunks for these arenas come from this function, before a file or a device; null: no longer. Not while the
  // process forks.
  static void use_program(const ProgramSource::Function* function);
  // Whether there may be memory of such a function's, which must be neither purged nor unmapped, and the first part of these
  // addresses that is none. Takes no lock.
  static bool has_program() { return g_has_program.load(std::memory_order_relaxed); }
  static huge_pages::Range first_to_purge(huge_pages::Range range) {
    return ACRE_UNLIKELY(has_program()) ? without_program(range) : range;
  }

  // An arena's number, for hooks.
  void set_number(unsigned number) { number_ = number; }

  // Each replaces what was there before. False: the file cannot be had, and there is no source.
  bool use_file(const FileSettings& settings, OnFailure on_failure);
  void use_hooks(extent_hooks_t* hooks);
  void use_none();
  bool is_none() const { return hooks_ == nullptr && !files_[0].source.is_open() && !files_[1].source.is_open(); }
  extent_hooks_t* hooks() const { return hooks_; }

  // As window::allocate. last_try: if refused, less will not be asked for.
  window::Chunk chunk(size_t bytes, bool last_try);

  // Memory for a huge block; bytes is a multiple of the granularity. in_source: it is release_huge()'s to return, and
  // otherwise a plain mapping.
  size_t granularity() const { return hooks_ != nullptr ? os::page_bytes() : kHugePageBytes; }
  window::Chunk huge(size_t bytes, size_t alignment, bool* in_source);

  // False: the arena has to keep it.
  bool release_huge(Address start, size_t bytes);
  void release_chunk(const window::Chunk& chunk);

  // What the pages of a run, which are dirty or muzzy, hold when this returns: what they did if it is refused.
  Holds purge(Run* run, Holds to);

  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();

 private:
  struct File {
    FileSource source;
    OnFailure on_failure = OnFailure::kFallBack;
    bool retry = true;          // not told once that it has refused
    std::atomic<bool> given_up{false};
  };

  // alignment 0: a chunk, otherwise a mapping for a huge block.
  window::Chunk from_files(size_t bytes, size_t alignment, bool last_try, bool* in_source);
  static bool fall_back(File& file);
  ACRE_HIDDEN static void open_automatic();
  ACRE_HIDDEN static Source* g_automatic;
  ACRE_HIDDEN static std::atomic<bool> g_has_program;
  static huge_pages::Range without_program(huge_pages::Range range);

  window::Chunk from_hooks(size_t bytes, size_t alignment);

  File files_[2];               // a file; a device
  extent_hooks_t* hooks_ = nullptr;
  ProgramSource program_;       // of the automatic one
  unsigned number_ = 0;
};

// A mapping of anonymous memory, or 0.
Address map_anonymous(size_t bytes, size_t alignment);

// Hooks over the system's memory, for programs whose own call the ones that they replace.
extent_hooks_t* default_hooks();

}  // namespace acre
