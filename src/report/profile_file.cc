#include "report/profile_file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "base/text.h"
#include "os/mapped.h"
#include "pages/metadata.h"
#include "report/mappings.h"
#include "report/pprof.h"
#include "sample/profile.h"
#include "tables/options.h"

namespace acre::report {

namespace {

constexpr size_t kMostBytesOfPath = kMostPath + 300;  // a folder, and a name with the program's in it
constexpr size_t kMostBytesOfPart = kMostBytesOfPath + 50;  // a process's number, another and .part after it
constinit std::atomic<unsigned> g_written{0};
constinit std::atomic<const char*> g_prefix{nullptr};

const char* prefix() {
  const char* prefix = g_prefix.load();
  return prefix != nullptr ? prefix : path_of(options().prof_prefix);
}

constexpr char kEndsOfNames[][14] = {"live.pb.gz", "peak.pb.gz", "growth.pb.gz", "heap"};  // by Kind

// --- The legacy text ----------------------------------------------------------------------------------------------

void add_sums(Text& text, const profile::Sums& live, const profile::Sums& allocated) {
  text.right(live.blocks, 6).add(": ").right(live.bytes, 8).add(" [").right(allocated.blocks, 6).add(": ");
  text.right(allocated.bytes, 8).add("] @");
}

void write_stack(Output& to, const profile::Stack* stack) {
  constexpr size_t kMostOfFrame = 20;
  const profile::StackSums sums = profile::sums_of(stack);
  if (sums.allocated.blocks == 0) return;
  Line<120> line;
  add_sums(line, sums.live, sums.allocated);
  to.add(line.c_str());
  const Address* frames;
  const unsigned count = profile::frames_of(stack, &frames);
  for (unsigned i = 0; i < count; ++i) {
    Line<kMostOfFrame> frame;
    frame.add(' ').hex(frames[i]);
    to.add(frame.c_str());
  }
  to.add("\n");
}

// Sampled blocks as they are: those who read it scale them by the rate.
void write_legacy(Output& to, char* buffer, size_t capacity) {
  const profile::Totals totals = profile::totals();
  Line<160> head;
  head.add("heap profile: ");
  add_sums(head, totals.live, totals.allocated);
  head.add(" heap_v2/").decimal(larger<uint64_t>(profile::mean(), 1)).add('\n');
  to.add(head.c_str());
  for (const profile::Stack* stack = nullptr; (stack = profile::next(stack)) != nullptr;) write_stack(to, stack);
  to.add("\nMAPPED_LIBRARIES:\n");
  const long maps = os::open_file("/proc/thread-self/maps");
  if (maps < 0) return;
  for (long got; (got = os::read_some(static_cast<int>(maps), buffer, capacity)) > 0;) {
    to.add(buffer, static_cast<size_t>(got));
  }
  os::close_file(static_cast<int>(maps));
}

struct Buffers {
  char of_file[64 << 10];
  char of_block[32 << 10];
};

// Writes one to a file of this name, to an open file, or to a sink.
template <class Target>
int write_to(Target target, Kind kind) {
  const os::Mapped<Buffers> buffers;
  if (buffers.get() == nullptr) return EAGAIN;
  Output to(target, buffers->of_file, sizeof buffers->of_file);
  if (kind == Kind::kLegacy) {
    write_legacy(to, buffers->of_block, sizeof buffers->of_block);
  } else {
    Gzip gzip(to, buffers->of_block, sizeof buffers->of_block);
    if (const int error = write_pprof(gzip, kind)) to.fail(error);
    gzip.finish();
  }
  return to.finish();
}

// One such name at a time for each: threads may write to one path at once.
bool name_part(const char* path, Line<kMostBytesOfPart>* part) {
  static constinit std::atomic<unsigned> parts{0};
  if (strlen(path) > kMostBytesOfPath) return false;
  part->add(path).add('.').decimal(static_cast<uint64_t>(getpid())).add('.');
  part->decimal(parts.fetch_add(1, std::memory_order_relaxed)).add(".part");
  return true;
}

}  // namespace

// A file without a name until it is whole. Where one of its path is there already, it gets another name for the moment
// before it takes that one's place. False: no such file can be made or named here.
static bool write_unnamed(const char* path, const char* part, Kind kind, int* error) {
  const long opened = os::create_unnamed_file(path);
  if (opened < 0) return false;
  const int file = static_cast<int>(opened);
  *error = write_to(file, kind);
  int not_named = *error == 0 ? os::name_file(file, path) : 0;
  if (not_named == EEXIST && (not_named = os::name_file(file, part)) == 0) {
    not_named = os::rename_file(part, path);
    if (not_named != 0) os::remove_file(part);
  }
  os::close_file(file);
  return not_named == 0;
}

// Without a name or under another one first, so that none is ever there in part. A link, a pipe or a device is written to as it is, and
// so is a file where no other one can be made or put in its place.
static int write_whole(const char* path, Kind kind) {
  Line<kMostBytesOfPart> part;
  if (!os::is_file_or_nothing(path) || !name_part(path, &part)) return write_to(path, kind);
  int error = 0;
  if (write_unnamed(path, part.c_str(), kind, &error)) return error;
  error = write_to(part.c_str(), kind);
  if (error == 0) error = os::rename_file(part.c_str(), path);
  if (error == 0) return 0;
  os::remove_file(part.c_str());
  return error == EACCES || error == EPERM || error == ENAMETOOLONG ? write_to(path, kind) : error;
}

int write_profile(const char* path, Kind kind) {
  if (!profile::is_prepared()) return ENOENT;
  const int error = write_whole(path, kind);
  WrittenHook* hook = g_on_written.load(std::memory_order_relaxed);
  if (error == 0 && hook != nullptr) hook(path);
  return error;
}

int write_profile(Sink sink, Kind kind) { return profile::is_prepared() ? write_to(sink, kind) : ENOENT; }

// A text that was set before may be in use by a thread that writes: it stays.
bool set_prefix(const char* prefix) {
  if (prefix == nullptr) {
    g_prefix.store(nullptr);
    return true;
  }
  const size_t bytes = strlen(prefix) + 1;
  if (bytes > kMostPath) return false;
  auto* copy = static_cast<char*>(metadata::allocate(bytes));
  if (copy == nullptr) return false;
  memcpy(copy, prefix, bytes);
  g_prefix.store(copy);
  return true;
}

int write_profile(Kind kind, Naming naming) {
  Line<kMostBytesOfPath> path;
  const char* folder = path_of(options().prof_folder);
  const char* name = prefix();
  if (folder[0] != '\0' && strchr(name, '/') == nullptr) path.add(folder).add('/');
  path.add(name[0] == '\0' ? program_invocation_short_name : name);
  path.add('.').decimal(static_cast<uint64_t>(getpid())).add('.');
  if (naming == Naming::kNumbered) path.decimal(g_written.fetch_add(1, std::memory_order_relaxed)).add('.');
  path.add(kEndsOfNames[static_cast<unsigned>(kind)]);
  return write_profile(path.c_str(), kind);
}

}  // namespace acre::report
