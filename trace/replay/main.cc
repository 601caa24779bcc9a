// acre-replay: plays a schedule of `acre-trace schedule` on the malloc that the process has, and prints as JSON what
// that took. `acre replay` and the lab preload an allocator and call it.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "replay/player.h"
#include "replay/text.h"
#include "ticks.h"

namespace acre::trace::replay {

Player g_player;

namespace {

constexpr char kUsage[] = "acre-replay [--touch none|ends|all] [--pace] [--latency] SCHEDULE\n";

[[noreturn]] void refuse() {
  {
    Text text(STDERR_FILENO);
    text << kUsage;
  }
  _exit(2);
}

Options options_of(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    if (strcmp(words[i], "--pace") == 0) {
      options.is_paced = true;
    } else if (strcmp(words[i], "--latency") == 0) {
      options.has_latency = true;
    } else if (strcmp(words[i], "--touch") == 0 && i + 1 < count) {
      ++i;
      if (strcmp(words[i], "none") == 0)
        options.touch = Touch::kNone;
      else if (strcmp(words[i], "ends") == 0)
        options.touch = Touch::kEnds;
      else if (strcmp(words[i], "all") != 0)
        refuse();
    } else if (words[i][0] == '-' || options.path != nullptr) {
      refuse();
    } else {
      options.path = words[i];
    }
  }
  if (options.path == nullptr) refuse();
  return options;
}

template <class T>
const T* read_table(uint64_t offset, uint64_t count) {
  if (count > g_player.file_bytes / sizeof(T)) fail("the schedule is damaged: a table is not there, at", offset);
  T* const table = static_cast<T*>(map_memory(count * sizeof(T)));
  if (!read_at(offset, table, count * sizeof(T))) fail("the schedule is damaged: a table is not there, at", offset);
  return table;
}

void open_schedule() {
  g_player.file = open(g_player.options.path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (g_player.file < 0 || fstat(g_player.file, &status) != 0) fail("the schedule cannot be read");
  g_player.file_bytes = static_cast<uint64_t>(status.st_size);
  Header& header = g_player.header;
  if (!read_at(0, &header, sizeof header) || memcmp(header.magic, kMagic, sizeof kMagic) != 0) {
    fail("this is no schedule of this acre-trace");
  }
  if (header.threads == 0 || header.slots > kMostSlots || header.longest_piece < sizeof(Piece) + sizeof(uint64_t)) {
    fail("the schedule is damaged: its header cannot be true");
  }
  g_player.entries = read_table<ThreadEntry>(header.threads_offset, header.threads);
  g_player.recorded = read_table<Sample>(header.samples_offset, header.samples);
  if (header.longest_piece > g_player.file_bytes || header.slots > header.operations ||
      header.operations > g_player.file_bytes / sizeof(uint64_t)) {
    fail("the schedule is damaged: its header cannot be true");
  }
  for (uint64_t i = 0; i + 1 < header.samples; ++i) {
    if (g_player.recorded[i + 1].time_ns < g_player.recorded[i].time_ns) {
      fail("the schedule is damaged: its time runs backwards, at sample", i + 1);
    }
  }
  g_player.threads = static_cast<Thread*>(map_memory(uint64_t{header.threads} * sizeof(Thread)));
  g_player.slots = static_cast<Slot*>(map_memory(uint64_t{header.slots} * sizeof(Slot)));
  g_player.points = static_cast<Point*>(map_memory(header.samples * sizeof(Point)));
  if (g_player.options.has_latency) g_player.latency = static_cast<Latency*>(map_memory(sizeof(Latency)));
}

struct Costs {
  uint64_t cpu_ns, minor_faults, major_faults;
};

Costs costs_now() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_usec) * 1000;
  };
  return {ns(usage.ru_utime) + ns(usage.ru_stime), static_cast<uint64_t>(usage.ru_minflt),
          static_cast<uint64_t>(usage.ru_majflt)};
}

void write_latency(Text& out, const char* name, const Durations& durations, uint64_t ns, uint64_t ticks) {
  constexpr struct {
    const char* name;
    uint64_t of_10000;
  } kPoints[] = {{"p50", 5000}, {"p90", 9000}, {"p99", 9900}, {"p99.9", 9990}, {"p99.99", 9999}};
  const double rate = ticks != 0 ? static_cast<double>(ns) / static_cast<double>(ticks) : 1;
  const auto in_ns = [&](uint64_t value) { return static_cast<uint64_t>(static_cast<double>(value) * rate); };
  out << "\"" << name << "\":{\"calls\":" << durations.count();
  for (const auto& point : kPoints) {
    out << ",\"" << point.name << "\":" << in_ns(durations.quantile(point.of_10000));
  }
  out << ",\"max\":" << in_ns(durations.longest()) << "}";
}

// Over the time of the recording, so that allocators are compared by the same moments. A point holds until the next.
struct Means {
  uint64_t resident, live;
};
Means means() {
  double resident = 0, live = 0;
  const uint64_t count = g_player.header.samples;
  for (uint64_t i = 0; i + 1 < count; ++i) {
    const auto ns = static_cast<double>(g_player.recorded[i + 1].time_ns - g_player.recorded[i].time_ns);
    resident += ns * static_cast<double>(g_player.points[i].resident_bytes);
    live += ns * static_cast<double>(g_player.points[i].live_bytes);
  }
  const uint64_t all = count != 0 ? g_player.recorded[count - 1].time_ns - g_player.recorded[0].time_ns : 0;
  if (all == 0) return {g_player.points[0].resident_bytes, g_player.points[0].live_bytes};
  return {static_cast<uint64_t>(resident / static_cast<double>(all)),
          static_cast<uint64_t>(live / static_cast<double>(all))};
}

int run(int count, char** words) {
  g_player.options = options_of(count, words);
  open_schedule();
  g_player.own_bytes.fetch_add(others_now());
  g_player.most_own_bytes.store(g_player.own_bytes.load());
  forget_most_resident();
  const Costs before = costs_now();
  const uint64_t ticks = ticks_now();
  play();
  const uint64_t wall_ns = now_ns() - g_player.begin_ns, passed = ticks_now() - ticks;
  const Costs after = costs_now();
  const uint64_t others = resident_now().shared + g_player.most_own_bytes.load();
  uint64_t peak = most_resident();
  peak = peak > others ? peak - others : 0;

  uint64_t operations = 0, sleeps = 0, checksum = 0xcbf29ce484222325;
  for (uint32_t i = 0; i < g_player.header.threads; ++i) {
    operations += g_player.threads[i].operations;
    sleeps += g_player.threads[i].sleeps;
  }
  if (operations != g_player.header.operations) fail("the schedule is damaged: it has fewer operations than it says");
  for (uint64_t i = 0; i < g_player.header.samples; ++i) {
    checksum = (checksum ^ g_player.points[i].live_bytes) * 0x100000001b3;
    if (g_player.points[i].resident_bytes > peak) peak = g_player.points[i].resident_bytes;
  }
  checksum = (checksum ^ operations) * 0x100000001b3;

  Text out(STDOUT_FILENO);
  out << "{\"seconds\":";
  out.nanoseconds(wall_ns) << ",\"cpu_seconds\":";
  out.nanoseconds(after.cpu_ns - before.cpu_ns) << ",\"operations\":" << operations
                                                << ",\"threads\":" << g_player.header.threads
                                                << ",\"sleeps\":" << sleeps;
  const Means mean = means();
  out << ",\"peak_resident_bytes\":" << peak << ",\"mean_resident_bytes\":" << mean.resident
      << ",\"peak_live_bytes\":" << g_player.header.peak_bytes << ",\"mean_live_bytes\":" << mean.live
      << ",\"minor_faults\":" << after.minor_faults - before.minor_faults
      << ",\"major_faults\":" << after.major_faults - before.major_faults << ",\"checksum\":\"";
  out.hex(checksum) << "\"";
  if (g_player.latency != nullptr) {
    out << ",\"latency_ns\":{";
    write_latency(out, "malloc", g_player.latency->malloc, wall_ns, passed);
    out << ",";
    write_latency(out, "free", g_player.latency->free, wall_ns, passed);
    Latency& all = *g_player.latency;
    all.malloc.add(all.free);
    out << ",";
    write_latency(out, "all", all.malloc, wall_ns, passed);
    out << "}";
  }
  out << ",\n\"samples\":[";  // seconds, live and resident bytes; as recorded: seconds, resident bytes
  for (uint64_t i = 0; i < g_player.header.samples; ++i) {
    out << (i == 0 ? "[" : ",\n[");
    out.nanoseconds(g_player.points[i].time_ns) << "," << g_player.points[i].live_bytes << ","
                                                << g_player.points[i].resident_bytes << ",";
    out.nanoseconds(g_player.recorded[i].time_ns) << "," << g_player.recorded[i].resident_bytes << "]";
  }
  out << "]}\n";
  if (!out.flush()) fail("cannot write to stdout");
  return 0;
}

}  // namespace
}  // namespace acre::trace::replay

int main(int count, char** words) { return acre::trace::replay::run(count, words); }
