#include "faces/tcmalloc/profile.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

namespace {

// An entry of the array, which says how long it is itself.
class Entry {
 public:
  explicit Entry(void* const* at) : at_(at) {}
  bool is_end() const { return at_ == nullptr || count() == 0; }
  uintptr_t count() const { return reinterpret_cast<uintptr_t>(at_[0]); }
  uintptr_t bytes() const { return reinterpret_cast<uintptr_t>(at_[1]); }
  uintptr_t depth() const { return reinterpret_cast<uintptr_t>(at_[2]); }
  const void* address(uintptr_t i) const { return at_[3 + i]; }
  Entry next() const { return Entry(at_ + 3 + depth()); }

 private:
  void* const* at_;
};

// The second pair of numbers, in brackets, is of all that was ever allocated. What is sampled is what lives.
void append_numbers(std::string& to, uintptr_t count, uintptr_t bytes) {
  char text[120];
  snprintf(text, sizeof text, "%6zu: %8zu [%6zu: %8zu] @", count, bytes, count, bytes);
  to += text;
}

void append_entry(std::string& to, const Entry& entry) {
  append_numbers(to, entry.count(), entry.bytes());
  for (uintptr_t i = 0; i < entry.depth(); ++i) {
    char text[32];
    snprintf(text, sizeof text, " %p", entry.address(i));
    to += text;
  }
  to += '\n';
}

void append_mappings(std::string& to) {
  to += "\nMAPPED_LIBRARIES:\n";
  const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char text[4096];
  for (ssize_t got; (got = read(fd, text, sizeof text)) > 0;) to.append(text, static_cast<size_t>(got));
  close(fd);
}

void append_profile(std::string& to, void* const* entries, const std::string& kind) {
  uintptr_t count = 0, bytes = 0;
  for (Entry entry(entries); !entry.is_end(); entry = entry.next()) {
    count += entry.count();
    bytes += entry.bytes();
  }
  to += "heap profile: ";
  append_numbers(to, count, bytes);
  to += ' ' + kind + '\n';
  for (Entry entry(entries); !entry.is_end(); entry = entry.next()) append_entry(to, entry);
  append_mappings(to);
}

}  // namespace

void append_heap_sample(std::string& to, void* const* entries, int period) {
  if (period == 0) to += "%warn\n%warn This profile is empty: no allocations are sampled.\n%warn\n";
  append_profile(to, entries, "heap_v2/" + std::to_string(period));
}

void append_heap_growth(std::string& to, void* const* entries) { append_profile(to, entries, "growth"); }
