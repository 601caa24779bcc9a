// Processes: how they begin and end, what memory they have.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "collector.h"
#include "say.h"
#include "ticks.h"

namespace acre::trace {

using record::ProcessHeader;
using record::ProcessState;

namespace {

constexpr uint64_t kSecond = 1000000000;
constexpr uint64_t kPatience = kSecond / 4;

ChunkHeader chunk_of(ChunkType type, uint32_t process) {
  ChunkHeader chunk;
  chunk.type = type;
  chunk.process = process;
  chunk.first_ticks = chunk.last_ticks = ticks_now();
  return chunk;
}

std::string program_path(pid_t pid) {
  char path[4096];
  const ssize_t length = readlink(proc_file(pid, "exe").c_str(), path, sizeof path);
  return length < 0 ? std::string() : std::string(path, static_cast<size_t>(length));
}

const char* ticks_name() {
#if defined(__x86_64__)
  return "tsc";
#elif defined(__aarch64__)
  return "cntvct";
#else
  return "monotonic";
#endif
}

}  // namespace

// A thread that sleeps until one of the processes ends, and then wakes the collector, which sleeps for the programs'.
void Collector::watch_ends() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  if (epoll_ < 0) return;  // then ends are seen at the next housekeeping
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  watcher_ = std::thread([this] {
    epoll_event events[16];
    for (;;) {
      const int count = epoll_wait(epoll_, events, 16, -1);
      if (count < 0 && errno != EINTR) return;
      for (int i = 0; i < count; ++i) {
        if (events[i].data.fd == -1) return;
      }
      if (count <= 0) continue;
      look_for_ends_.store(true);
      interrupt();
    }
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Collector::~Collector() {
  if (watcher_.joinable()) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) == 0) {
      close(ends[1]);
      epoll_event event{};
      event.events = EPOLLIN | EPOLLHUP;
      event.data.fd = -1;
      epoll_ctl(epoll_, EPOLL_CTL_ADD, ends[0], &event);
      watcher_.join();
      close(ends[0]);
    } else {
      watcher_.detach();
    }
  }
  for (auto& [number, process] : processes_) {
    if (process.pidfd >= 0) close(process.pidfd);
  }
  if (epoll_ >= 0) close(epoll_);
}

bool Collector::look_for_processes() {
  bool found = false;
  for (unsigned slot = 0; slot < record::kMostProcesses; ++slot) {
    const ProcessHeader& header = shared_.process(slot);
    const ProcessState state = header.state.load(std::memory_order_acquire);
    if (state != ProcessState::kRecords && state != ProcessState::kEnded) continue;
    if (number_in_slot_[slot] == header.number) continue;
    begin_process(slot);
    found = true;
  }
  return found;
}

void Collector::begin_process(unsigned slot) {
  ProcessHeader& header = shared_.process(slot);
  const auto pid = static_cast<pid_t>(header.pid);
  for (auto& [number, process] : processes_) {
    const bool is_same_program = header.program != 0 && header.program == process.program;  // which has acre twice
    if (process.pid == pid && !is_same_program) {  // an exec: the program before has ended
      end_process(process, process.gone_since_ns != 0 ? Ending::kUnknown : Ending::kExec, 0);
      break;
    }
  }
  number_in_slot_[slot] = header.number;
  Process& process = processes_[header.number];
  process.slot = slot;
  process.number = header.number;
  process.parent = header.parent;
  process.pid = pid;
  process.start_ticks = header.start_ticks;
  process.program = header.program;
  process.identity = identity_of(pid).value_or(Identity{});
  process.pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (++processes_seen_ == 1 && options_.attach) begin_time();
  if (process.pidfd >= 0 && epoll_ >= 0) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLONESHOT;
    event.data.fd = process.pidfd;
    epoll_ctl(epoll_, EPOLL_CTL_ADD, process.pidfd, &event);
  }
  const Process* const parent = find(process.parent);
  if (parent != nullptr) process.stacks = parent->stacks;

  utsname kernel{};
  uname(&kernel);
  process.exe = json_string(program_path(pid));
  std::string words = read_all(proc_file(pid, "cmdline"));
  for (size_t at = 0; at < words.size();) {
    const size_t end = std::min(words.find('\0', at), words.size());
    (process.arguments += process.arguments.empty() ? "" : ",") += json_string(std::string_view(words).substr(at, end - at));
    at = end + 1;
  }
  if (words.empty() && parent != nullptr) {  // a child that has ended already: it was what its parent is
    process.exe = parent->exe;
    process.arguments = parent->arguments;
  }
  process.about =
      "{\"pid\":" + std::to_string(pid) +
      ",\"parent\":" + (process.parent == kNone ? "null" : std::to_string(process.parent)) +
      ",\"exe\":" + process.exe + ",\"argv\":[" + process.arguments +
      "],\"start_ticks\":" + std::to_string(header.start_ticks) + ",\"start_ns\":" + std::to_string(header.start_ns) +
      ",\"ticks\":\"" + ticks_name() +
      "\",\"kernel\":" + json_string(std::string(kernel.sysname) + ' ' + kernel.release + ' ' + kernel.machine) +
      ",\"page_size\":" + std::to_string(sysconf(_SC_PAGESIZE)) + '}';
  write_about(process);
  write_mappings(process, true);
  if (process.mappings.empty() && parent != nullptr) {
    process.mappings = parent->mappings;
    output_.write(chunk_of(ChunkType::kMappings, process.number), process.mappings);
  }
  header.is_known.store(1);
  futex_wake_all(header.is_known);
  sample(process, nanoseconds_of(CLOCK_MONOTONIC));
}

void Collector::write_about(Process& process) {
  ChunkHeader chunk = chunk_of(ChunkType::kProcessStart, process.number);
  chunk.lane = process.parent;
  chunk.first_ticks = process.start_ticks;
  output_.write(chunk, process.about);
}

void Collector::write_thread(Process& process, uint32_t lane) {
  ChunkHeader chunk = chunk_of(ChunkType::kThread, process.number);
  chunk.lane = lane;
  chunk.block = process.threads[lane].first;
  output_.write(chunk, process.threads[lane].second);
}

void Collector::write_mappings(Process& process, bool even_if_the_same) {
  const uint64_t before = nanoseconds_of(CLOCK_MONOTONIC);
  const std::string maps = read_all(proc_file(process.pid, "maps"));
  if (!maps.empty()) {
    std::string executable = executable_lines(maps);
    if (executable != process.executable || even_if_the_same) {
      process.executable = std::move(executable);
      process.mappings = mappings_of(process.pid, maps);
      output_.write(chunk_of(ChunkType::kMappings, process.number), process.mappings);
    }
  }
  const uint64_t after = nanoseconds_of(CLOCK_MONOTONIC);
  process.next_mappings_ns = after + std::max<uint64_t>(kSecond, (after - before) * 100);  // a hundredth of a processor
}

void Collector::begin_time() {
  began_ns_ = nanoseconds_of(CLOCK_MONOTONIC);
  write_clock();
}

void Collector::write_clock() {
  if (!has_begun()) return;
  ClockPair pair{};
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 3; ++i) {  // the one with the least between its two readings
    const uint64_t before = ticks_now();
    const uint64_t monotonic = nanoseconds_of(CLOCK_MONOTONIC), realtime = nanoseconds_of(CLOCK_REALTIME);
    const uint64_t after = ticks_now();
    if (after - before >= best) continue;
    best = after - before;
    pair = {before + (after - before) / 2, monotonic, realtime};
  }
  ChunkHeader chunk = chunk_of(ChunkType::kClock, kNone);
  chunk.first_ticks = chunk.last_ticks = pair.ticks;
  output_.write(chunk, std::span<const uint8_t>{reinterpret_cast<const uint8_t*>(&pair), sizeof pair});
}

void Collector::checkpoint() {
  write_clock();
  for (auto& [number, process] : processes_) {
    write_about(process);
    for (const auto& [lane, thread] : process.threads) write_thread(process, lane);
    if (!process.mappings.empty()) output_.write(chunk_of(ChunkType::kMappings, number), process.mappings);
    if (!process.stacks.empty()) output_.write(chunk_of(ChunkType::kStacks, number), process.stacks);
  }
}

void Collector::housekeeping() {
  const uint64_t now = nanoseconds_of(CLOCK_MONOTONIC);
  for (auto& [number, process] : processes_) {
    if (now >= process.next_mappings_ns) write_mappings(process, false);
  }
  if (now >= next_clock_ns_) {
    write_clock();
    next_clock_ns_ = now + kSecond;
  }
}

void Collector::program_ended(int status) {
  statuses_[program_] = status;
  program_ = 0;
  look_for_ends_.store(true);
}

void Collector::look_for_ends() {
  std::vector<pollfd> polled;
  std::vector<uint32_t> numbers;
  for (auto& [number, process] : processes_) {
    polled.push_back({process.pidfd, POLLIN, 0});
    numbers.push_back(number);
  }
  if (polled.empty()) return;
  poll(polled.data(), polled.size(), 0);
  const uint64_t now = nanoseconds_of(CLOCK_MONOTONIC);
  for (size_t i = 0; i < polled.size(); ++i) {
    Process& process = *find(numbers[i]);
    const bool is_gone = process.pidfd < 0 ? kill(process.pid, 0) != 0 && errno == ESRCH : polled[i].revents != 0;
    if (is_gone) {
      if (process.pid == program_) continue;  // its status comes in a moment
      end_by_status(process, now);
      continue;
    }
    const auto identity = identity_of(process.pid);
    if (identity && identity->start_stack != process.identity.start_stack && identity->start_stack != 0 &&
        process.identity.start_stack != 0) {
      end_process(process, Ending::kExec, 0);
      continue;
    }
    // It has stopped to record. A thread that was writing an event has come to its end in a second.
    if (shared_.process(process.slot).state.load() == ProcessState::kEnded) {
      if (process.kept_since_ns == 0) {
        process.kept_since_ns = now;
        write_mappings(process, false);
      }
      if (now - process.kept_since_ns > kSecond) end_process(process, Ending::kStopped, 0);
    }
  }
}

void Collector::end_by_status(Process& process, uint64_t now) {
  std::optional<int> status;
  if (const auto known = statuses_.find(process.pid); known != statuses_.end()) {
    status = known->second;
    statuses_.erase(known);
  } else if (process.pidfd >= 0) {
    status = status_by_pidfd(process.pidfd);
  }
  if (!status) {
    // The system tells once its parent has asked.
    if (process.gone_since_ns == 0) process.gone_since_ns = now;
    if (process.pidfd >= 0 && now - process.gone_since_ns < kPatience) return;
    return end_process(process, Ending::kUnknown, kNone);
  }
  if (WIFSIGNALED(*status)) return end_process(process, Ending::kSignal, static_cast<uint32_t>(WTERMSIG(*status)));
  end_process(process, Ending::kExit, static_cast<uint32_t>(WEXITSTATUS(*status)));
}

void Collector::end_process(Process& process, Ending ending, uint32_t status) {
  const uint32_t number = process.number;
  for (unsigned i = 0; i < record::kMostLanes; ++i) {
    record::LaneHeader& lane = shared_.lane(i);
    const record::LaneState state = lane.state.load(std::memory_order_acquire);
    if ((state != record::LaneState::kUsed && state != record::LaneState::kEnds) || lane.process != number) continue;
    take_blocks(i);
    if (lane.state.load() != record::LaneState::kUsed) continue;
    take_last_block(i);
    free_lane(i);
  }
  write_samples(process);
  ChunkHeader chunk = chunk_of(ChunkType::kProcessEnd, number);
  chunk.lane = static_cast<uint32_t>(ending);
  chunk.block = status;
  output_.write(chunk, std::string_view());
  if (process.pidfd >= 0) close(process.pidfd);
  ProcessHeader& header = shared_.process(process.slot);
  number_in_slot_[process.slot] = kNone;
  header.state.store(ProcessState::kFree, std::memory_order_release);
  processes_.erase(number);
}

}  // namespace acre::trace
