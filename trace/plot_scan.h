// The first reading of a recording for a plot: what there is, before anything is drawn. Lanes are read one by one.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "order.h"
#include "plot.h"
#include "plot_axis.h"

namespace acre::trace {

struct PlotThread {
  uint32_t lane, tid;
  std::string name;
  uint64_t bytes;  // allocated
};

struct PlotTag {
  std::string name;
  uint64_t bytes;  // allocated while threads had it in force
};

struct Scan {
  uint32_t process = kNone;
  double from = 0, to = 0;  // seconds
  uint64_t events = 0;      // of blocks, in that time
  uint64_t allocations = 0;
  Axis axis;                         // without what is older than `from`
  std::vector<PlotThread> threads;   // those that allocated most first
  std::unordered_map<uint32_t, uint32_t> thread_of;  // lane → index in threads
  std::vector<PlotTag> tags;         // the same, at most 254
  bool has_runs = false;

  uint32_t thread(uint32_t lane) const {
    const auto found = thread_of.find(lane);
    return found == thread_of.end() ? kOtherThread : found->second;
  }
};

inline bool can_be(uint64_t address, uint64_t size) { return size <= kMostBlock && address <= UINT64_MAX - kMostBlock; }

// The process, and those that it was forked from.
std::set<uint32_t> ancestors_of(const Order& order, uint32_t process);

// The process with the most events; kNone: there are none.
uint32_t largest_process(const Reader& reader);

// progress: called with the bytes of events that were read.
Scan scan(Reader& reader, const Order& order, const Clock& clock, const PlotOptions& options, uint32_t process,
          const std::function<void(uint64_t)>& progress);

}  // namespace acre::trace
