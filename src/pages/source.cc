#include "pages/source.h"

#include <unistd.h>

#include "base/bits.h"
#include "base/fatal.h"
#include "base/text.h"
#include "pages/page_map.h"
#include "tables/options.h"

namespace acre {

namespace {

constinit Source g_by_options;

// alignment 0: a chunk.
window::Chunk anonymous(size_t bytes, size_t alignment) {
  if (alignment == 0) return window::allocate(bytes);
  return {map_anonymous(bytes, alignment), bytes};
}

void say(const char* path, const char* what) {
  Line<1300> line;
  line.add("acre: ").add(path).add(what).add('\n');
  write_all(STDERR_FILENO, line.c_str(), line.size());
}

}  // namespace

// --- The source of the options ----------------------------------------------------------------------------------

constinit Source* Source::g_automatic = nullptr;

void Source::open_automatic() {
  const Options& o = options();
  const OnFailure on_failure = o.file_abort ? OnFailure::kAbort : OnFailure::kFallBack;
  if (o.file != 0) {
    FileSettings settings;
    settings.path = path_of(o.file);
    if (o.file_private) settings.sharing = os::Sharing::kPrivate;
    if (o.file_limit != 0) settings.end = static_cast<uint64_t>(o.file_limit);
    File& file = g_by_options.files_[0];
    file.on_failure = on_failure;
    file.retry = o.file_retry;
    if (!file.source.open(settings)) {
      if (o.file_abort) fatal("the option file names no folder and no empty file that can be had, and file_abort is set");
      say(settings.path, " gives no memory (no folder and no empty file that can be had): other memory is used");
    }
  }
  if (o.device_start != 0) {
    FileSettings settings;
    settings.path = o.device == 0 ? "/dev/mem" : path_of(o.device);
    settings.kind = os::FileKind::kDevice;
    settings.start = static_cast<uint64_t>(o.device_start);
    if (o.device_limit != 0) settings.end = static_cast<uint64_t>(o.device_limit);
    File& device = g_by_options.files_[1];
    device.retry = false;
    if (!device.source.open(settings)) say(settings.path, " gives no memory (it can't be opened): other memory is used");
  }
  if (!g_by_options.is_none()) g_automatic = &g_by_options;
}

constinit std::atomic<bool> Source::g_has_program{false};
constinit std::atomic<uint32_t> Source::g_hook_calls{0};

ACRE_COLD void Source::use_program(const ProgramSource::Function* function) {
  g_by_options.program_.use(function);
  if (function == nullptr) return;
  g_has_program.store(true);
  __atomic_store_n(&g_automatic, &g_by_options, __ATOMIC_RELEASE);
}

ACRE_COLD const void* Source::program_argument() { return g_by_options.program_.argument(); }

ACRE_COLD huge_pages::Range Source::without_program(huge_pages::Range range) {
  return g_by_options.program_.first_to_purge(range);
}

// --- The source of one arena -----------------------------------------------------------------------------------

bool Source::use_file(const FileSettings& settings, OnFailure on_failure) {
  use_none();
  File& file = files_[0];
  file.on_failure = on_failure;
  file.given_up.store(false, std::memory_order_relaxed);
  return file.source.open(settings);
}

void Source::use_hooks(extent_hooks_t* hooks) {
  use_none();
  __atomic_store_n(&hooks_, hooks, __ATOMIC_RELEASE);
}

void Source::use_none() {
  for (File& file : files_) {
    if (file.source.is_open()) file.source.close();
  }
  hooks_ = nullptr;
}

// --- Chunks and huge blocks ------------------------------------------------------------------------------------

// True: other memory may be used.
bool Source::fall_back(File& file) {
  if (file.on_failure == OnFailure::kAbort) fatal("a file gives no more memory, and the program wants to end then (file_abort)");
  if (file.on_failure == OnFailure::kRefuse) return false;
  if (!file.retry && !file.given_up.exchange(true)) say("", "a file or device gives no more memory: other memory is used from now on");
  return true;
}

window::Chunk Source::from_files(size_t bytes, size_t alignment, bool last_try, bool* in_source) {
  for (File& file : files_) {
    if (!file.source.is_open() || file.given_up.load(std::memory_order_relaxed)) continue;
    window::Chunk chunk = anonymous(bytes, alignment == 0 ? 0 : larger(alignment, kHugePageBytes));
    if (chunk.start == 0) return {};
    const FileSource::Put put = file.source.put(chunk.start, chunk.bytes);
    if (put != FileSource::Put::kRefused) {
      chunk.zeroed = put == FileSource::Put::kZeroed;
      *in_source = true;
      return chunk;
    }
    if (alignment == 0) {
      window::release(chunk);
    } else {
      os::unmap(pointer_to(chunk.start), chunk.bytes);
    }
    if (!last_try || !fall_back(file)) return {};
  }
  *in_source = false;
  return anonymous(bytes, alignment);
}

// The result may cross a multiple of kRunReach, which a chunk must not.
window::Chunk Source::from_hooks(size_t bytes, size_t alignment) {
  bool zero = false, commit = true;
  note_hook_call();
  void* memory = hooks_->alloc(hooks_, nullptr, bytes, alignment, &zero, &commit, number_);
  if (memory == nullptr) return {};
  const window::Chunk chunk{address_of(memory), bytes, zero};
  if (commit && is_aligned(chunk.start, alignment) && g_page_map.prepare(chunk.start, bytes)) return chunk;
  release_huge(chunk.start, bytes);
  return {};
}

window::Chunk Source::chunk(size_t bytes, bool last_try) {
  bytes = align_up(bytes, kHugePageBytes);
  if (program_.is_in_use()) return program_.chunk(bytes);
  if (hooks_ == nullptr) {
    bool in_source;
    return from_files(bytes, 0, last_try, &in_source);
  }
  window::Chunk chunk = from_hooks(bytes, kHugePageBytes);
  if (chunk.start == 0 || !window::crosses_reach(chunk.start, bytes)) return chunk;
  release_huge(chunk.start, bytes);
  return from_hooks(bytes, size_t{1} << (floor_log2(bytes - 1) + 1));
}

window::Chunk Source::huge(size_t bytes, size_t alignment, bool* in_source) {
  *in_source = true;
  // Memory of the program's function cannot be given back: the block becomes a run in a chunk if it is not too long.
  if (program_.is_in_use() && larger(bytes, alignment) <= window::kMostChunk) return {};
  if (hooks_ != nullptr) return from_hooks(bytes, larger(alignment, os::page_bytes()));
  return from_files(bytes, alignment, true, in_source);
}

bool Source::release_huge(Address start, size_t bytes) {
  if (hooks_ != nullptr) {
    note_hook_call();
    return hooks_->dalloc != nullptr && !hooks_->dalloc(hooks_, pointer_to(start), bytes, true, number_);
  }
  take_away_from_files(start, bytes);
  os::unmap(pointer_to(start), bytes);
  return true;
}

// Before the range is unmapped: from then on another thread may have memory of a file there.
void Source::take_away_from_files(Address start, size_t bytes) {
  for (File& file : files_) {
    if (file.source.is_open()) file.source.take_away(start, bytes);
  }
}

void Source::release_chunk(const window::Chunk& chunk) {
  if (program_.take_back(chunk)) return;
  if (hooks_ == nullptr) {
    take_away_from_files(chunk.start, chunk.bytes);
    window::release(chunk);
  } else if (!release_huge(chunk.start, chunk.bytes) && hooks_->destroy != nullptr) {
    hooks_->destroy(hooks_, pointer_to(chunk.start), chunk.bytes, true, number_);
  }
}

Holds Source::purge(Run* run, Holds to) {
  void* start = pointer_to(run->base);
  const size_t bytes = run->bytes();
  if (hooks_ != nullptr) {
    note_hook_call();
    const auto purge = [&](extent_purge_t* hook) {
      return hook != nullptr && !hook(hooks_, start, bytes, 0, bytes, number_);
    };
    if (to == Holds::kMuzzy && purge(hooks_->purge_lazy)) return Holds::kMuzzy;
    return purge(hooks_->purge_forced) ? Holds::kClean : run->holds;
  }
  for (File& file : files_) {
    if (file.source.holds_pages(run->base, bytes)) return run->holds;
  }
  if (to == Holds::kMuzzy && os::purge_lazily(start, bytes)) return Holds::kMuzzy;
  return os::purge(start, bytes) ? Holds::kClean : run->holds;
}

// --- Fork -------------------------------------------------------------------------------------------------------

void Source::at_fork(ForkStage stage) {
  for (File& file : files_) file.source.at_fork(stage);
}

// --- Anonymous memory -------------------------------------------------------------------------------------------

Address map_anonymous(size_t bytes, size_t alignment) {
  if (!options().mmap) return 0;
  if (alignment <= os::page_bytes()) return address_of(os::map(bytes, os::MappingUse::kHeap));
  size_t room = bytes + alignment - kPageBytes;
  if (room < bytes) return 0;
  Address start = address_of(os::map(room, os::MappingUse::kHeap));
  if (start == 0) return 0;
  Address base = align_up(start, alignment);
  if (base > start) os::unmap(pointer_to(start), base - start);
  if (base + bytes < start + room) os::unmap(pointer_to(base + bytes), start + room - base - bytes);
  return base;
}

namespace {

void* alloc_by_default(extent_hooks_t*, void* new_addr, size_t size, size_t alignment, bool* zero, bool* commit,
                       unsigned) {
  if (new_addr != nullptr) return nullptr;
  void* memory = pointer_to(map_anonymous(align_up(size, os::page_bytes()), alignment));
  if (memory != nullptr) *zero = *commit = true;
  return memory;
}
void unmap_by_default(extent_hooks_t*, void* addr, size_t size, bool, unsigned) {
  os::unmap(addr, align_up(size, os::page_bytes()));
}
bool dalloc_by_default(extent_hooks_t* hooks, void* addr, size_t size, bool committed, unsigned number) {
  unmap_by_default(hooks, addr, size, committed, number);
  return false;
}
bool commit_by_default(extent_hooks_t*, void*, size_t, size_t, size_t, unsigned) { return false; }
bool decommit_by_default(extent_hooks_t*, void*, size_t, size_t, size_t, unsigned) { return true; }
bool purge_lazily_by_default(extent_hooks_t*, void* addr, size_t, size_t offset, size_t length, unsigned) {
  return !os::purge_lazily(static_cast<char*>(addr) + offset, length);
}
bool purge_by_default(extent_hooks_t*, void* addr, size_t, size_t offset, size_t length, unsigned) {
  return !os::purge(static_cast<char*>(addr) + offset, length);
}
bool split_by_default(extent_hooks_t*, void*, size_t, size_t, size_t, bool, unsigned) { return false; }
bool merge_by_default(extent_hooks_t*, void*, size_t, void*, size_t, bool, unsigned) { return false; }

}  // namespace

// Filled at the first call: pointers in constant data would have to be relocated in every process.
extent_hooks_t* default_hooks() {
  static constinit extent_hooks_t hooks = {};
  static constinit std::atomic<bool> filled{false};
  if (filled.load(std::memory_order_acquire)) return &hooks;
  const extent_hooks_t all = {alloc_by_default,    dalloc_by_default,       unmap_by_default, commit_by_default,
                              decommit_by_default, purge_lazily_by_default, purge_by_default, split_by_default,
                              merge_by_default};
  static constinit Mutex lock{Rank::kMetadata};
  Lock guard(lock);
  hooks = all;
  filled.store(true, std::memory_order_release);
  return &hooks;
}

}  // namespace acre
