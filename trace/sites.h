// What each call stack of each process allocated, has living, and how long its blocks lived.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "stacks.h"

namespace acre::trace {

// Of sampled blocks: what they stand for, as the profiler weighs them.
struct Amount {
  double blocks = 0, bytes = 0;
  Amount& operator+=(const Amount& other);
  Amount& operator-=(const Amount& other);
};

// every: the file's stack_every. Nothing: a block that no sample was taken of.
std::optional<Amount> amount_of(uint64_t size, uint64_t stack, uint32_t every);

struct SitesOptions {
  std::string path;
  std::optional<uint32_t> process;
  std::optional<double> from, to;  // seconds: blocks from before are left out, and what is behind
  std::optional<double> at;        // when blocks live; otherwise at the end
  // A block is temporary if its thread frees it within so many of its own next allocations, frees and resizes.
  uint64_t within = 1;
};

struct Site {
  Stacks::Frames frames;  // empty: not known
  Amount allocated, temporary;
  Amount inherited;  // what a forked child began with
  Amount live;       // at `at`, inherited blocks too
  Amount most;       // that lived at a time: when they had most bytes
  Amount at_peak;    // when the process had most bytes
  double lifetime = 0;  // seconds, of all its blocks together; those that live do so until the end

  // While events go by: what lives now, and whether that has changed since the process's last peak.
  Amount now;
  uint64_t peak = 0;
};

struct ProcessSites {
  uint32_t process = 0;
  double first = 0, last = 0;  // seconds
  double peak_at = 0;
  Amount peak;
  std::vector<Site> sites;
};

// False: a line has said why. code: the exit code that damage gives.
bool find_sites(const SitesOptions& options, std::vector<ProcessSites>& found, int& code);

// The same as JSON. -> the exit code
int sites(const SitesOptions& options);

}  // namespace acre::trace
