#include "os/cgroup.h"

#include <errno.h>
#include <string.h>

#include <atomic>
#include <initializer_list>

#include "base/text.h"
#include "base/units.h"
#include "os/os.h"

namespace acre::os {

namespace {

constexpr uint64_t kNone = UINT64_MAX;
constexpr uint64_t kLeastNone = uint64_t{1} << 62;  // version 1 writes about this number for "none"

using Path = Line<512>;

#if ACRE_TESTING
std::atomic<const char*> g_folder{nullptr};
const char* folder() { return g_folder.load() == nullptr ? "" : g_folder.load(); }
#else
constexpr const char* folder() { return ""; }
#endif

// The beginning of a file, as a string.
struct FileText {
  char text[2048];
  bool read(const char* path) {
    long size = read_file(path, text, sizeof text - 1);
    if (size == kTooLong) size = sizeof text - 1;
    text[size < 0 ? 0 : size] = '\0';
    return size >= 0;
  }
};

// The number at the start of a text. kNone: "max", a negative number or anything else.
uint64_t number_at(const char* text) {
  uint64_t n = 0;
  if (*text < '0' || *text > '9') return kNone;
  for (; *text >= '0' && *text <= '9' && n < kLeastNone / 10; ++text) n = n * 10 + static_cast<uint64_t>(*text - '0');
  return *text >= '0' && *text <= '9' ? kNone : n;
}

// The number after a word at the start of a line, or kNone.
uint64_t number_after(const char* text, const char* word) {
  const size_t size = strlen(word);
  for (; text != nullptr; text = strchr(text, '\n')) {
    text += *text == '\n';
    if (strncmp(text, word, size) == 0) return number_at(text + size);
  }
  return kNone;
}

uint64_t number_in(const char* path) {
  FileText content;
  return content.read(path) ? number_at(content.text) : kNone;
}

// A line of /proc/self/cgroup, NUMBER:CONTROLLERS:PATH; version 2 has no controllers there.
struct GroupLine {
  const char* controllers;
  size_t controllers_size;
  const char* path;
  size_t path_size;

  bool has(const char* controller) const {
    const size_t size = strlen(controller);
    if (size == 0) return controllers_size == 0;
    for (size_t at = 0; at + size <= controllers_size; ++at) {
      const bool begins = at == 0 || controllers[at - 1] == ',';
      const bool ends = at + size == controllers_size || controllers[at + size] == ',';
      if (begins && ends && memcmp(controllers + at, controller, size) == 0) return true;
    }
    return false;
  }
};

// Returns the next line, or null if there is no further line of this form.
const char* read_line(const char* text, GroupLine* line) {
  const char* first = strchr(text, ':');
  const char* second = first == nullptr ? nullptr : strchr(first + 1, ':');
  const char* end = second == nullptr ? nullptr : strchr(second, '\n');
  if (end == nullptr) return nullptr;
  *line = {first + 1, static_cast<size_t>(second - first - 1), second + 1, static_cast<size_t>(end - second - 1)};
  return end + 1;
}

// A cgroup in one hierarchy: first the process's own, then those above it.
class Group {
 public:
  // controller: of version 1; "" for version 2. False: there is no such hierarchy, or it is not at `mount`.
  bool find(const char* controller, const char* mount) {
    mount_ = mount;
    if (!exists()) return false;
    FileText groups;
    Path list;
    if (!groups.read(list.add(folder()).add("/proc/self/cgroup").c_str())) return false;
    GroupLine line;
    for (const char* rest = groups.text; (rest = read_line(rest, &line)) != nullptr;) {
      if (!line.has(controller)) continue;
      const size_t size = line.path_size == 1 ? 0 : line.path_size;  // "/"
      if (size >= sizeof below_) return false;
      memcpy(below_, line.path, size);
      below_[size] = '\0';
      if (!exists()) below_[0] = '\0';
      return true;
    }
    return false;
  }

  // False: there is no group above.
  bool go_up() {
    char* slash = strrchr(below_, '/');
    if (slash != nullptr) *slash = '\0';
    return slash != nullptr;
  }

  Path path(const char* file) const {
    Path whole;
    whole.add(folder()).add(mount_).add(below_).add('/').add(file);
    return whole;
  }
  uint64_t number(const char* file) const { return number_in(path(file).c_str()); }

 private:
  bool exists() const {
    char some;
    return read_file(path("cgroup.procs").c_str(), &some, sizeof some) != -ENOENT;
  }

  const char* mount_ = nullptr;
  char below_[256] = {};
};

bool find_unified(Group* group) { return group->find("", "/sys/fs/cgroup") || group->find("", "/sys/fs/cgroup/unified"); }

size_t used_by(const Group& group, const char* usage, const char* inactive, const char* active) {
  const uint64_t used = group.number(usage);
  FileText stat;
  if (used == kNone || !stat.read(group.path("memory.stat").c_str())) return 0;
  uint64_t files = 0;
  for (const char* word : {inactive, active}) {
    const uint64_t bytes = number_after(stat.text, word);
    if (bytes != kNone) files += bytes;
  }
  return used - smaller(used, files);
}

CgroupMemory memory_of_version_1(Group group) {
  CgroupMemory memory;
  do {
    const uint64_t most = group.number("memory.limit_in_bytes");
    if (most == kNone || most >= memory.most) continue;
    memory.most = most;
    memory.used = used_by(group, "memory.usage_in_bytes", "total_inactive_file ", "total_active_file ");
  } while (group.go_up());
  return memory;
}

CgroupMemory memory_of_version_2(Group group) {
  CgroupMemory memory;
  do {
    const uint64_t most = group.number("memory.max");
    const uint64_t high = group.number("memory.high");
    if (smaller(most, high) < smaller(memory.most, memory.high)) {
      memory.used = used_by(group, "memory.current", "inactive_file ", "active_file ");
    }
    memory.most = smaller<size_t>(memory.most, most);
    memory.high = smaller<size_t>(memory.high, high);
  } while (group.go_up());
  return memory;
}

unsigned processors_for(uint64_t quota, uint64_t period) {
  if (quota == kNone || period == kNone || period == 0) return 0;
  return static_cast<unsigned>(smaller<uint64_t>(larger<uint64_t>(1, (quota + period - 1) / period), 1u << 16));
}

unsigned less_of(unsigned a, unsigned b) { return a == 0 || (b != 0 && b < a) ? b : a; }

}  // namespace

CgroupMemory cgroup_memory() {
  Group group;
  if (group.find("memory", "/sys/fs/cgroup/memory")) return memory_of_version_1(group);
  return find_unified(&group) ? memory_of_version_2(group) : CgroupMemory{};
}

unsigned cgroup_processors() {
  Group group;
  unsigned least = 0;
  if (group.find("cpu", "/sys/fs/cgroup/cpu")) {
    do {
      least = less_of(least, processors_for(group.number("cpu.cfs_quota_us"), group.number("cpu.cfs_period_us")));
    } while (group.go_up());
    return least;
  }
  if (!find_unified(&group)) return 0;
  do {
    FileText content;
    if (!content.read(group.path("cpu.max").c_str())) continue;
    const char* period = strchr(content.text, ' ');
    if (period != nullptr) least = less_of(least, processors_for(number_at(content.text), number_at(period + 1)));
  } while (group.go_up());
  return least;
}

uint64_t memory_stall_us() {
  Group group;
  FileText content;
  Path of_machine;
  if ((!find_unified(&group) || !content.read(group.path("memory.pressure").c_str())) &&
      !content.read(of_machine.add(folder()).add("/proc/pressure/memory").c_str())) {
    return kNoPressure;
  }
  const char* total = strstr(content.text, "total=");  // in the first line, "some"
  return total == nullptr ? kNoPressure : number_at(total + strlen("total="));
}

size_t anonymous_bytes() {
  FileText content;
  Path path;
  if (!content.read(path.add(folder()).add("/proc/thread-self/statm").c_str())) return 0;
  uint64_t pages[3] = {};  // address space, resident, of files
  const char* at = content.text;
  for (uint64_t& number : pages) {
    number = number_at(at);
    at = strchr(at, ' ');
    if (number == kNone || at == nullptr) return 0;
    ++at;
  }
  return static_cast<size_t>(pages[1] - smaller(pages[1], pages[2])) * page_bytes();
}

#if ACRE_TESTING
namespace testing {
void use_files_below(const char* folder) { g_folder.store(folder); }
}  // namespace testing
#endif

}  // namespace acre::os
