// Threads that each do a numbered part of the work, and what a process has resident.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <system_error>
#include <thread>
#include <vector>

namespace bench {

// Starts part(0) … part(count - 1), each in a thread of its own. -> the sum of what they return
template <typename Part>
std::uint64_t in_threads(unsigned count, const Part& part) {
  std::vector<std::uint64_t> sums(count);
  std::vector<std::thread> threads;
  threads.reserve(count);
  try {
    for (unsigned t = 0; t < count; ++t) threads.emplace_back([&, t] { sums[t] = part(t); });
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "%zu of %u threads started: %s\n", threads.size(), count, error.what());
    std::_Exit(1);
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t total = 0;
  for (std::uint64_t sum : sums) total += sum;
  return total;
}

// What is resident now. Nothing is allocated for the answer.
inline double resident_bytes() {
  char text[128];
  const int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  const ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0) close(file);
  text[length < 0 ? 0 : length] = 0;
  char* rest = text;
  std::strtoul(text, &rest, 10);  // pages of address space
  return static_cast<double>(std::strtoul(rest, nullptr, 10)) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

inline double peak_resident_bytes() {
  rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<double>(usage.ru_maxrss) * 1024 : 0;
}

inline constexpr double kMiB = 1024 * 1024;

}  // namespace bench
