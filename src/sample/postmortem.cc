#include "sample/postmortem.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "os/os.h"

namespace acre::postmortem {

namespace {

constexpr uint32_t kVersion = 1;
constexpr size_t kRoomStep = size_t{256} << 10;
constexpr size_t kMostOfRow = sizeof(Row) + capture::kMostFrames * sizeof(Address);
constexpr size_t kMostBytes = kRows + align_up(profile::kMostStacks * kMostOfRow, kRoomStep);
constexpr unsigned kMostFiles = 1000;  // of one process's number: those of programs that exec replaced
constexpr size_t kMostPathBytes = 1500;
static_assert(sizeof(Head) <= kTexts && sizeof(profile::StackSums) % sizeof(uint64_t) == 0);

constinit const char* g_folder = nullptr;
constinit char g_path[kMostPathBytes] = "";

// Null: there is no file in this process, yet or any more.
constinit std::atomic<Head*> g_head{nullptr};
constinit std::atomic<bool> g_refused{false};
constinit std::atomic<uint32_t> g_making{0};
constinit std::atomic<size_t> g_room_end{0};  // an offset in the file
constinit std::atomic<uint32_t> g_files{0};   // that this process and its parents made
constinit uint32_t g_filled = 0;              // the last file into which all stacks were written
constinit std::atomic<uint64_t> g_mean{0};
constinit uint32_t g_text_half = 0, g_text_bytes = 0;

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

void fill_head(Head* head) {
  head->version = kVersion;
  head->pid = static_cast<uint64_t>(getpid());
  head->start_ns = os::wall_clock_ns();
  head->rows_end.store(kRows);
  head->mean.store(g_mean.load());
  strncpy(head->program, program_invocation_name, sizeof head->program - 1);
  memcpy(head->magic, "acrepost", sizeof head->magic);
}

// Returns 0 or an error number.
int make() {
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
  fill_head(head);
  g_room_end.store(kRows + kRoomStep);
  g_files.fetch_add(1);
  g_head.store(head, std::memory_order_release);
  return 0;
}

// Descriptors of other threads or of former times are not to be relied on, so the file is opened by its path each time.
bool grow(Head* head) {
  const size_t from = g_room_end.load();
  if (from + kRoomStep > kMostBytes) return false;
  const os::OpenFile file = os::open_to_map(g_path, os::FileKind::kMemory);
  const bool done = file.descriptor >= 0 && !file.is_empty && add_part(head, file, from, from + kRoomStep);
  os::close_file(file);
  if (done) g_room_end.store(from + kRoomStep);
  return done;
}

char* half_of(Head* head, unsigned text, uint32_t half) { return at(head, kTexts + (2 * text + half) * kHalfBytes); }

void make_whole(TextPlace& place, uint32_t half, uint32_t bytes) {
  place.bytes.store(0);  // a reader of a process that was killed just here finds no text, and none that is mixed
  place.half.store(half);
  place.bytes.store(bytes);
}

}  // namespace

// The file is the parent's.
static void after_fork_in_child() {
  Head* head = g_head.load();
  g_making.store(0);
  g_head.store(nullptr);
  if (head != nullptr) os::unmap(head, kMostBytes);
}

bool is_on() { return g_folder != nullptr && !g_refused.load(std::memory_order_relaxed); }

void note_mean(uint64_t mean) {
  g_mean.store(mean);
  if (Head* head = g_head.load()) head->mean.store(mean);
}

int start(const char* folder) {
  g_folder = folder;
  pthread_atfork(nullptr, nullptr, after_fork_in_child);
  const int error = make();
  if (error != 0) g_refused.store(true);
  return error;
}

bool lacks_room() {
  if (!is_on()) return false;
  const Head* head = g_head.load(std::memory_order_acquire);
  return head == nullptr || g_room_end.load() - head->rows_end.load(std::memory_order_relaxed) < kMostOfRow;
}

// One thread at a time; others do without their rows meanwhile.
void make_room() {
  if (!is_on() || g_making.exchange(1) != 0) return;
  Head* head = g_head.load();
  const bool done = head == nullptr ? make() == 0 : grow(head);
  if (!done) g_refused.store(true);
  g_making.store(0);
}

static void write_row(Head* head, profile::Stack& stack) {
  const uint32_t file = g_files.load(std::memory_order_relaxed);
  const size_t end = head->rows_end.load(std::memory_order_relaxed);
  const size_t bytes = sizeof(Row) + stack.count * sizeof(Address);
  const bool is_new = stack.row_file != file;
  if (is_new && g_room_end.load(std::memory_order_relaxed) - end < bytes) return;
  if (is_new) stack.row = end;
  auto* row = reinterpret_cast<Row*>(at(head, stack.row));
  row->peak = stack.peak;
  row->sums = stack.sums;
  if (!is_new) return;
  stack.row_file = file;
  row->frames = stack.count;
  row->truncated = stack.truncated;
  memcpy(at(head, stack.row) + sizeof(Row), stack.frames(), stack.count * sizeof(Address));
  head->rows_end.store(end + bytes, std::memory_order_release);
}

void write_all(profile::Stack* first) {
  Head* head = g_head.load(std::memory_order_acquire);
  if (head == nullptr) return;
  for (profile::Stack* stack = first; stack != nullptr; stack = stack->next) write_row(head, *stack);
}

void write(profile::Stack& stack, uint64_t last_peak, profile::Stack* first) {
  Head* head = g_head.load(std::memory_order_acquire);
  if (head == nullptr) return;
  if (g_filled != g_files.load()) {
    g_filled = g_files.load();
    write_all(first);
  }
  write_row(head, stack);
  head->peak.store(last_peak, std::memory_order_relaxed);
}

void begin_statistics() {
  if (g_head.load() == nullptr) make_room();
  Head* head = g_head.load();
  g_text_half = head == nullptr ? 0 : 1 - head->statistics.half.load();
  g_text_bytes = 0;
}

void add_statistics(const char* text) {
  Head* head = g_head.load();
  if (head == nullptr) return;
  const size_t bytes = smaller(strlen(text), kHalfBytes - g_text_bytes);
  memcpy(half_of(head, 0, g_text_half) + g_text_bytes, text, bytes);
  g_text_bytes += static_cast<uint32_t>(bytes);
}

void end_statistics() {
  Head* head = g_head.load();
  if (head == nullptr) return;
  make_whole(head->statistics, g_text_half, g_text_bytes);
  head->statistics_ns.store(os::wall_clock_ns());
}

void copy_mappings() {
  Head* head = g_head.load();
  const long maps = head == nullptr ? -1 : os::open_file("/proc/self/maps");
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
  Head* head = g_head.load();
  if (head == nullptr) return;
  head->written.store(written);
  head->state.store(State::kEnded);
}

}  // namespace acre::postmortem
