#include "proc.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <linux/types.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <vector>

namespace acre::trace {

std::string read_all(const std::string& path) {
  std::string text;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char part[16384];
  ssize_t got;
  while ((got = read(file, part, sizeof part)) > 0) text.append(part, static_cast<size_t>(got));
  close(file);
  return text;
}

std::string proc_file(pid_t pid, const char* name) { return "/proc/" + std::to_string(pid) + "/" + name; }

namespace {

// The length of the UTF-8 sequence at the beginning; 0: there is none.
size_t utf8_length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = at(0);
  const size_t length = first < 0x80                    ? 1
                        : first >= 0xc2 && first < 0xe0 ? 2
                        : first >= 0xe0 && first < 0xf0 ? 3
                        : first >= 0xf0 && first < 0xf5 ? 4
                                                        : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
  }
  if ((first == 0xe0 && at(1) < 0xa0) || (first == 0xed && at(1) > 0x9f) || (first == 0xf0 && at(1) < 0x90) ||
      (first == 0xf4 && at(1) > 0x8f)) {
    return 0;
  }
  return length;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  char escape[16];
  while (!text.empty()) {
    const auto first = static_cast<unsigned char>(text[0]);
    const size_t length = utf8_length(text);
    if (first == '"' || first == '\\') {
      out += {'\\', text[0]};
    } else if (first < 0x20 || first == 0x7f || length == 0) {
      snprintf(escape, sizeof escape, "\\u%04x", length == 0 ? 0xdc00u | first : first);
      out += escape;
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return out + '"';
}

std::optional<Statm> statm_of(pid_t pid) {
  static const auto kPage = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  uint64_t mapped, resident, shared;
  if (sscanf(read_all(proc_file(pid, "statm")).c_str(), "%" SCNu64 " %" SCNu64 " %" SCNu64, &mapped, &resident,
             &shared) != 3) {
    return {};
  }
  return Statm{mapped * kPage, resident * kPage, shared * kPage};
}

uint64_t others_in(std::string_view smaps) {
  uint64_t bytes = 0, named_end = 0;
  bool is_other = false;
  while (!smaps.empty()) {
    const std::string line(smaps.substr(0, smaps.find('\n')));
    smaps.remove_prefix(std::min(line.size() + 1, smaps.size()));
    uint64_t begin, end, kib;
    int name = 0;
    if (sscanf(line.c_str(), "%" SCNx64 "-%" SCNx64 " %*s %*s %*s %*s %n", &begin, &end, &name) == 2) {
      const bool is_named = name != 0 && line[static_cast<size_t>(name)] != 0 && line.find("[anon:acre:") == std::string::npos;
      is_other = is_named || begin == named_end;
      if (is_named) named_end = end;
    } else if (is_other && sscanf(line.c_str(), "Anonymous: %" SCNu64, &kib) == 1) {
      bytes += kib * 1024;
    }
  }
  return bytes;
}

std::optional<Identity> identity_of(pid_t pid) {
  const std::string stat = read_all(proc_file(pid, "stat"));
  const size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return {};
  Identity found;
  found.state = stat[name_end + 2];
  const char* at = stat.c_str() + name_end + 2;
  for (int field = 3; *at != 0; ++field) {  // the state is the third
    if (field == 22) found.start_time = strtoull(at, nullptr, 10);
    if (field == 28) found.start_stack = strtoull(at, nullptr, 10);
    at = strchr(at, ' ');
    if (at == nullptr) break;
    ++at;
  }
  return found;
}

namespace {

std::vector<Elf64_Phdr> program_headers(int file) {
  Elf64_Ehdr head;
  if (pread(file, &head, sizeof head, 0) != sizeof head || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr)) {
    return {};
  }
  std::vector<Elf64_Phdr> parts(head.e_phnum);
  const size_t bytes = parts.size() * sizeof(Elf64_Phdr);
  if (pread(file, parts.data(), bytes, static_cast<off_t>(head.e_phoff)) != static_cast<ssize_t>(bytes)) return {};
  return parts;
}

int open_file(const std::string& path) { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }

}  // namespace

std::vector<CodeOfFile> code_of(const std::string& path) {
  const int file = open_file(path);
  if (file < 0) return {};
  std::vector<CodeOfFile> found;
  for (const Elf64_Phdr& part : program_headers(file)) {
    const bool is_code = part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0;
    if (is_code) found.push_back({part.p_offset, part.p_vaddr, part.p_memsz});
  }
  close(file);
  return found;
}

std::string build_id_of(const std::string& path) {
  const int file = open_file(path);
  if (file < 0) return {};
  std::string id;
  for (const Elf64_Phdr& part : program_headers(file)) {
    if (part.p_type != PT_NOTE || part.p_filesz > 1 << 16 || !id.empty()) continue;
    std::string notes(part.p_filesz, '\0');
    if (pread(file, notes.data(), notes.size(), static_cast<off_t>(part.p_offset)) !=
        static_cast<ssize_t>(notes.size())) {
      continue;
    }
    for (size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
      Elf64_Nhdr note;
      memcpy(&note, notes.data() + at, sizeof note);
      const size_t name = at + sizeof note, what = name + ((size_t{note.n_namesz} + 3) & ~size_t{3});
      if (what + note.n_descsz > notes.size()) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes.data() + name, "GNU", 4) == 0) {
        char hex[3];
        for (size_t i = 0; i < note.n_descsz; ++i) {
          snprintf(hex, sizeof hex, "%02x", static_cast<unsigned char>(notes[what + i]));
          id += hex;
        }
        break;
      }
      at = what + ((size_t{note.n_descsz} + 3) & ~size_t{3});
    }
  }
  close(file);
  return id;
}

namespace {

template <class F>
void each_line(std::string_view text, F f) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    f(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

bool is_executable(std::string_view line) {
  const size_t blank = line.find(' ');
  return blank != std::string_view::npos && line.size() > blank + 3 && line[blank + 3] == 'x';
}

}  // namespace

std::string executable_lines(const std::string& maps) {
  std::string out;
  each_line(maps, [&](std::string_view line) {
    if (is_executable(line)) (out += line) += '\n';
  });
  return out;
}

std::string mappings_of(pid_t pid, const std::string& maps) {
  static std::map<std::string, std::string, std::less<>> known;  // "device inode path" → build id
  std::string out;
  std::set<std::string_view> with_code;
  each_line(maps, [&](std::string_view line) {
    const size_t slash = line.find('/');
    if (slash == std::string_view::npos) return;
    (out += line) += '\n';
    if (!is_executable(line)) return;
    size_t device = 0;  // behind addresses, permissions and offset
    for (int blanks = 0; blanks < 3; ++blanks) device = line.find(' ', device) + 1;
    if (device < slash) with_code.insert(line.substr(device));
  });
  for (const std::string_view file : with_code) {
    const std::string path(file.substr(file.find('/')));
    auto id = known.find(file);
    if (id == known.end()) {
      std::string found = build_id_of(proc_file(pid, "root") + path);  // as the process sees it
      if (found.empty()) found = build_id_of(path);
      id = known.emplace(file, std::move(found)).first;
    }
    if (!id->second.empty()) out += "build-id " + id->second + ' ' + path + '\n';
  }
  return out;
}

std::optional<int> status_by_pidfd(int pidfd) {
  struct {
    uint64_t mask, cgroup;
    uint32_t ids[11];
    int32_t exit_code;
  } info{};
  constexpr uint64_t kInfoExit = 1 << 3;
  info.mask = kInfoExit;
  if (ioctl(pidfd, _IOWR(0xFF, 11, info), &info) != 0 || (info.mask & kInfoExit) == 0) return {};
  return info.exit_code;
}

bool a_program_may_come(std::string_view setting, ino_t inode, double age_s, pid_t except) {
  timespec now;
  clock_gettime(CLOCK_BOOTTIME, &now);
  const double now_s = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  static const auto kRate = static_cast<double>(sysconf(_SC_CLK_TCK));
  DIR* const entries = opendir("/proc");
  if (entries == nullptr) return false;
  bool found = false;
  while (const dirent* entry = found ? nullptr : readdir(entries)) {
    const auto pid = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
    if (pid <= 0 || pid == except || pid == getpid()) continue;
    struct stat status;
    if (fstatat(dirfd(entries), entry->d_name, &status, 0) != 0 || status.st_uid != geteuid()) continue;
    const auto identity = identity_of(pid);
    if (!identity || identity->state == 'Z' || identity->state == 'X') continue;
    if (now_s - static_cast<double>(identity->start_time) / kRate > age_s) continue;
    const std::string environment = read_all(proc_file(pid, "environ"));
    if (!setting.empty() && environment.find(setting) != std::string::npos) found = true;
    if (!found) {
      const std::string maps = read_all(proc_file(pid, "maps"));
      found = maps.find(' ' + std::to_string(inode) + " ") != std::string::npos &&
              maps.find("/memfd:acre-record") != std::string::npos;
    }
  }
  closedir(entries);
  return found;
}

}  // namespace acre::trace
