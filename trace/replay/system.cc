// What the player asks of the system, without the C library's streams.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>

#include "replay/player.h"
#include "replay/text.h"

namespace acre::trace::replay {

namespace {

// A number behind a name, or behind so many others if there is no name. 0: it is not there.
uint64_t number_in(const char* text, const char* name, unsigned skip) {
  if (name != nullptr) {
    text = strstr(text, name);
    if (text == nullptr) return 0;
    text += strlen(name);
  }
  for (;; --skip) {
    while (*text == ' ' || *text == '\t') ++text;
    uint64_t value = 0;
    while (*text >= '0' && *text <= '9') value = value * 10 + static_cast<uint64_t>(*text++ - '0');
    if (skip == 0) return value;
  }
}

bool read_text(const char* path, char* text, size_t bytes) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t got = read(file, text, bytes - 1);
  close(file);
  text[got > 0 ? got : 0] = 0;
  return got > 0;
}

// Of threads that fail at the same time the first one goes on.
void one_says() {
  static std::atomic<bool> has_failed{false};
  while (has_failed.exchange(true)) ::pause();
}

}  // namespace

void fail(const char* what) {
  one_says();
  {
    Text text(STDERR_FILENO);
    text << "acre replay: " << what << "\n";
  }
  _exit(1);
}

void fail(const char* what, uint64_t number, const char* more) {
  one_says();
  {
    Text text(STDERR_FILENO);
    text << "acre replay: " << what << " " << number << more << "\n";
  }
  _exit(1);
}

uint64_t now_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

Resident resident_now() {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  char text[256];
  if (!read_text("/proc/self/statm", text, sizeof text)) return {0, 0};
  return {number_in(text, nullptr, 1) * page, number_in(text, nullptr, 2) * page};
}

uint64_t others_now() {
  const int file = open("/proc/self/smaps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  uint64_t bytes = 0;
  bool is_other = false;
  char text[8192];
  size_t used = 0;
  ssize_t got;
  while ((got = read(file, text + used, sizeof text - 1 - used)) > 0) {
    used += static_cast<size_t>(got);
    text[used] = 0;
    char* line = text;
    for (char* end; (end = strchr(line, '\n')) != nullptr; line = end + 1) {
      *end = 0;
      if (line[0] >= 'A' && line[0] <= 'Z') {
        if (is_other && strncmp(line, "Anonymous:", 10) == 0) bytes += number_in(line, "Anonymous:", 0) * 1024;
      } else {
        is_other = strchr(line, '/') != nullptr || strstr(line, "[stack]") != nullptr;
      }
    }
    used = strlen(line);
    if (used == sizeof text - 1) used = 0;  // no line is that long
    memmove(text, line, used);
  }
  close(file);
  return bytes;
}

uint64_t most_resident() {
  char text[4096];
  return read_text("/proc/self/status", text, sizeof text) ? number_in(text, "VmHWM:", 0) * 1024 : 0;
}

void forget_most_resident() {
  const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = write(file, "5", 1);
  close(file);
}

void* map_memory(uint64_t bytes) {
  if (bytes == 0) bytes = 1;
  void* const memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) fail("there is no memory for its own tables, bytes:", bytes);
  const uint64_t own = g_player.own_bytes.fetch_add((bytes + 4095) & ~uint64_t{4095}) + bytes;
  uint64_t most = g_player.most_own_bytes.load();
  while (own > most && !g_player.most_own_bytes.compare_exchange_weak(most, own)) {
  }
  return memory;
}

void unmap_memory(void* memory, uint64_t bytes) {
  munmap(memory, bytes);
  g_player.own_bytes.fetch_sub((bytes + 4095) & ~uint64_t{4095});
}

bool read_at(uint64_t offset, void* to, uint64_t bytes) {
  if (offset > g_player.file_bytes || bytes > g_player.file_bytes - offset) return false;
  for (uint64_t at = 0; at < bytes;) {
    const ssize_t got =
        pread(g_player.file, static_cast<char*>(to) + at, bytes - at, static_cast<off_t>(offset + at));
    if (got <= 0) return false;
    at += static_cast<uint64_t>(got);
  }
  return true;
}

void futex_wait(std::atomic<uint32_t>& word, uint32_t value) {
  const timespec second{1, 0};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &second, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace acre::trace::replay
