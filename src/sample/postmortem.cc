#include "sample/postmortem.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "os/os.h"

namespace acre::postmortem {

namespace {

constexpr uint32_t kVersion = 2;
constexpr size_t kRoomStep = size_t{256} << 10;
constexpr size_t kMostOfRow = sizeof(Row) + capture::kMostFrames * sizeof(Address);
constexpr size_t kMostOfPython = python::kMostFrames * (sizeof(PythonFrame) + sizeof(PlaceText) +
                                                        sizeof(python::Description));
static_assert(kRows + profile::kMostStacks * kMostOfRow <= kMostBytes && kMostBytes % kRoomStep == 0);
static_assert(kMostOfRow + kMostOfPython <= kRoomStep);
constexpr unsigned kMostFiles = 1000;  // of one process's number: those of programs that exec replaced
constexpr size_t kMostPathBytes = 1500;
constexpr uint64_t kLongestWaitMs = 1000;
static_assert(sizeof(Head) <= kTexts && sizeof(profile::StackSums) % sizeof(uint64_t) == 0);

constinit const char* g_folder = nullptr;
constinit char g_path[kMostPathBytes] = "";

// Null: there is no file in this process, yet or any more.
constinit std::atomic<Head*> g_head{nullptr};
constinit std::atomic<bool> g_refused{false};
constinit std::atomic<uint32_t> g_making{0};
constinit std::atomic<size_t> g_room_end{0};  // an offset in the file
constinit size_t g_inherited = 0;             // bytes of entries that the parent's file had
constinit std::atomic<uint32_t> g_files{0};   // that this process and its parents made
constinit uint32_t g_files_at_fork = 0;
constinit std::atomic<uint32_t> g_forking{0};  // threads between before_fork() and after_fork…()
constinit std::atomic<long> g_process{0};     // that made the file
constinit uint32_t g_filled = 0;              // the last file into which all stacks were written
constinit std::atomic<uint64_t> g_mean{0};
constinit uint32_t g_text_half = 0, g_text_bytes = 0;

// Leaves the parent's file to the parent. Its memory stays, without the file: a signal handler may have forked in the
// middle of a write, which goes on.
void leave(Head* head) {
  const size_t used = g_making.load() != 0 ? kMostBytes : g_room_end.load();
  g_making.store(0);
  g_inherited = head->rows_end.load() - kRows;
  if (!g_head.compare_exchange_strong(head, nullptr)) return;
  os::unmap(head, kMostBytes);
  os::map_at(address_of(head), used);
}

// Null: there is no file of this process. A child of fork may write before after_fork_in_child(), in another handler.
// The number of the process is compared only then: a child of vfork has the parent's memory, and another number.
Head* own_head() {
  Head* head = g_head.load(std::memory_order_acquire);
  if (ACRE_LIKELY(g_forking.load(std::memory_order_relaxed) == 0) || head == nullptr) return head;
  if (g_process.load(std::memory_order_relaxed) == getpid()) return head;
  leave(head);
  return nullptr;
}

char* at(Head* head, size_t offset) { return reinterpret_cast<char*>(head) + offset; }

// Allocates and maps a part of the file.
bool add_part(Head* head, const os::OpenFile& file, size_t from, size_t to) {
  return os::extend_file(file, to) && os::allocate_in_file(file, from, to - from) &&
         os::map_file_at(at(head, from), to - from, file, from, os::Sharing::kShared);
}

os::OpenFile make_file() {
  os::OpenFile file;
  for (unsigned i = 0; i < kMostFiles; ++i) {
    Text path(g_path, sizeof g_path);
    path.add(g_folder).add('/').add(program_invocation_short_name).add('.').decimal(static_cast<uint64_t>(getpid()));
    path.add('.').decimal(i).add(".postmortem");
    file = os::open_to_map(g_path, os::FileKind::kNew);
    if (file.descriptor >= 0 || file.error != EEXIST) break;
  }
  return file;
}

void fill_head(Head* head, long process) {
  head->version = kVersion;
  head->pid = static_cast<uint64_t>(process);
  head->start_ns = os::wall_clock_ns();
  head->rows_end.store(kRows);
  head->mean.store(g_mean.load());
  strncpy(head->program, program_invocation_name, sizeof head->program - 1);
  memcpy(head->magic, "acrepost", sizeof head->magic);
}

// Descriptors of other threads or of former times are not to be relied on, so the file is opened by its path each time.
void grow(Head* head, size_t by) {
  const long process = getpid();
  const size_t from = g_room_end.load();
  const size_t bytes = smaller(by, kMostBytes - from);
  if (bytes == 0) return head->growth.store(Growth::kAtMost);
  const os::OpenFile file = os::open_to_map(g_path, os::FileKind::kDevice);
  const bool done = file.descriptor >= 0 && !file.is_empty && add_part(head, file, from, from + bytes);
  os::close_file(file);
  if (!done) return head->growth.store(Growth::kRefused);
  if (getpid() == process) g_room_end.store(from + bytes);
}

// With room for the stacks that a child of fork inherits. Returns 0 or an error number.
int make() {
  const long process = getpid();
  void* memory = os::reserve(kMostBytes);
  if (memory == nullptr) return ENOMEM;
  const os::OpenFile file = make_file();
  if (file.descriptor < 0) {
    os::unmap(memory, kMostBytes);
    return file.error;
  }
  auto* head = static_cast<Head*>(memory);
  const bool done = add_part(head, file, 0, kRows + kRoomStep);
  os::close_file(file);
  if (!done) {
    os::remove_file(g_path);
    os::unmap(memory, kMostBytes);
    return ENOSPC;
  }
  fill_head(head, process);
  g_room_end.store(kRows + kRoomStep);
  if (g_inherited != 0) grow(head, align_up(g_inherited, kRoomStep));
  g_files.fetch_add(1);
  g_process.store(process, std::memory_order_relaxed);
  g_head.store(head, std::memory_order_release);
  return 0;
}

char* half_of(Head* head, unsigned text, uint32_t half) { return at(head, kTexts + (2 * text + half) * kHalfBytes); }

void make_whole(TextPlace& place, uint32_t half, uint32_t bytes) {
  place.bytes.store(0);  // a reader of a process that was killed just here finds no text, and none that is mixed
  place.half.store(half);
  place.bytes.store(bytes);
}

}  // namespace

static void before_fork() {
  g_files_at_fork = g_files.load();
  g_forking.fetch_add(1);
}
static void after_fork_in_parent() { g_forking.fetch_sub(1); }

// The file is the parent's, unless another handler was first to write.
static void after_fork_in_child() {
  Head* head = g_head.load();
  g_forking.store(0);
  if (head == nullptr) return g_making.store(0);
  if (g_files.load() == g_files_at_fork || g_process.load() != getpid()) leave(head);
}

bool is_on() { return g_folder != nullptr && !g_refused.load(std::memory_order_relaxed); }

void note_mean(uint64_t mean) {
  g_mean.store(mean);
  if (Head* head = own_head()) head->mean.store(mean);
}

int start(const char* folder) {
  g_folder = folder;
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  const int error = make();
  if (error != 0) g_refused.store(true);
  return error;
}

bool lacks_room() {
  if (!is_on()) return false;
  const Head* head = own_head();
  if (head == nullptr) return true;
  if (head->growth.load(std::memory_order_relaxed) != Growth::kGoesOn) return false;
  const size_t needed = kMostOfRow + (python::is_active() ? kMostOfPython : 0);
  return g_room_end.load() - head->rows_end.load(std::memory_order_relaxed) < needed;
}

// One thread at a time. While it grows the file, others do without their rows. While it makes the file, as at the start of
// a forked child, they wait: the process may end before another sample would bring their rows.
void make_room() {
  if (!is_on()) return;
  if (g_making.exchange(1) != 0) {
    if (g_head.load() == nullptr) os::wait_while(g_making, 1, kLongestWaitMs);
    return;
  }
  Head* head = own_head();
  if (head != nullptr) {
    if (lacks_room()) grow(head, kRoomStep);  // no other thread was faster
  } else if (make() != 0) {
    g_refused.store(true);
  }
  g_making.store(0);
  os::wake(g_making);
}

// --- Entries --------------------------------------------------------------------------------------------------------

// Begins an entry behind the last one, or returns null if there is no room. It becomes the file's with publish().
template <class Any>
static Any* begin_entry(Head* head, EntryKind kind, size_t bytes) {
  const size_t end = head->rows_end.load(std::memory_order_relaxed);
  const size_t whole = align_up(bytes, sizeof(Address));
  if (g_room_end.load(std::memory_order_relaxed) - end < whole) return nullptr;
  auto* entry = reinterpret_cast<Any*>(at(head, end));
  entry->entry = {kind, static_cast<uint32_t>(whole)};
  return entry;
}

// Returns where the entry is in the file.
static size_t publish(Head* head, const Entry& entry) {
  const size_t start = head->rows_end.load(std::memory_order_relaxed);
  head->rows_end.store(start + entry.bytes, std::memory_order_release);
  return start;
}

static bool add_text(Head* head, uint32_t file, const python::Place& place) {
  const python::Function& function = *place.function;
  const size_t name_bytes = strlen(function.name), file_bytes = strlen(function.file);
  auto* text = begin_entry<PlaceText>(head, EntryKind::kPlaceText, sizeof(PlaceText) + name_bytes + file_bytes);
  if (text == nullptr) return false;
  text->line = place.line;
  text->name_bytes = static_cast<uint16_t>(name_bytes);
  text->file_bytes = static_cast<uint16_t>(file_bytes);
  auto* letters = reinterpret_cast<char*>(text + 1);
  memcpy(letters, function.name, name_bytes);
  memcpy(letters + name_bytes, function.file, file_bytes);
  place.text = static_cast<uint32_t>(publish(head, text->entry));
  place.text_file = file;
  return true;
}

static bool add_row(Head* head, uint32_t file, profile::Stack& stack) {
  const python::Frame* frames = stack.python_frames();
  for (unsigned i = 0; i < stack.python_count; ++i) {
    const python::Place& place = frames[i].place();
    if (place.text_file != file && !add_text(head, file, place)) return false;
  }
  const size_t native_bytes = stack.count * sizeof(Address);
  auto* row = begin_entry<Row>(head, EntryKind::kRow,
                               sizeof(Row) + native_bytes + stack.python_count * sizeof(PythonFrame));
  if (row == nullptr) return false;
  row->frames = static_cast<uint16_t>(stack.count);
  row->python_frames = stack.python_count;
  row->truncated = stack.truncated;
  row->peak = stack.peak;
  row->sums = stack.sums;
  auto* native = reinterpret_cast<char*>(row + 1);
  memcpy(native, stack.frames(), native_bytes);
  auto* python = reinterpret_cast<PythonFrame*>(native + native_bytes);
  for (unsigned i = 0; i < stack.python_count; ++i) python[i] = {frames[i].place().text, frames[i].native()};
  stack.row = publish(head, row->entry);
  return true;
}

// Stacks that are left out for good have row 0.
static void write_row(Head* head, profile::Stack& stack) {
  const uint32_t file = g_files.load(std::memory_order_relaxed);
  if (stack.row_file == file) {
    if (stack.row == 0) return;
    auto* row = reinterpret_cast<Row*>(at(head, stack.row));
    row->peak = stack.peak;
    row->sums = stack.sums;
    return;
  }
  if (!add_row(head, file, stack)) {
    if (head->growth.load(std::memory_order_relaxed) == Growth::kGoesOn) return;
    stack.row = 0;
    head->left_out.fetch_add(1, std::memory_order_relaxed);
  }
  stack.row_file = file;
}

void write_all(profile::Stack* first) {
  Head* head = own_head();
  if (head == nullptr) return;
  for (profile::Stack* stack = first; stack != nullptr; stack = stack->next) write_row(head, *stack);
}

void write(profile::Stack& stack, uint64_t last_peak, profile::Stack* first) {
  Head* head = own_head();
  if (head == nullptr) return;
  if (g_filled != g_files.load()) {
    g_filled = g_files.load();
    write_all(first);
  }
  write_row(head, stack);
  head->peak.store(last_peak, std::memory_order_relaxed);
}

// --- Texts ----------------------------------------------------------------------------------------------------------

void begin_statistics() {
  if (own_head() == nullptr) make_room();
  Head* head = own_head();
  g_text_half = head == nullptr ? 0 : 1 - head->statistics.half.load();
  g_text_bytes = 0;
}

void add_statistics(const char* text) {
  Head* head = own_head();
  if (head == nullptr) return;
  const size_t bytes = smaller(strlen(text), kHalfBytes - g_text_bytes);
  memcpy(half_of(head, 0, g_text_half) + g_text_bytes, text, bytes);
  g_text_bytes += static_cast<uint32_t>(bytes);
}

void end_statistics() {
  Head* head = own_head();
  if (head == nullptr) return;
  make_whole(head->statistics, g_text_half, g_text_bytes);
  head->statistics_ns.store(os::wall_clock_ns());
}

void copy_mappings() {
  Head* head = own_head();
  const long maps = head == nullptr ? -1 : os::open_file("/proc/thread-self/maps");
  if (maps < 0) return;
  const uint32_t half = 1 - head->mappings.half.load();
  size_t bytes = 0;
  for (long got; bytes < kHalfBytes; bytes += static_cast<size_t>(got)) {
    got = os::read_some(static_cast<int>(maps), half_of(head, 1, half) + bytes, kHalfBytes - bytes);
    if (got <= 0) break;
  }
  os::close_file(static_cast<int>(maps));
  make_whole(head->mappings, half, static_cast<uint32_t>(bytes));
}

void end(uint32_t written) {
  Head* head = own_head();
  if (head == nullptr) return;
  head->written.store(written);
  head->state.store(State::kEnded);
}

}  // namespace acre::postmortem
