// Runs of pages while they are in use, where the recorder writes them down, and who keeps nearly empty ones from going
// back: at some moments, the call sites that have blocks in them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plot_output.h"
#include "plot_scan.h"
#include "plot_sites.h"

namespace acre::trace {

class Runs {
 public:
  struct Run {
    uint64_t pages, block;  // bytes of its blocks; 0: it is one
    double from;
  };
  using Map = std::map<uint64_t, Run>;  // by address

  explicit Runs(double from) : from_(from) {}
  void inherit(const Map& parents) { map_ = parents; }
  void is(uint64_t address, uint64_t pages, uint64_t block, double when);
  void gone(uint64_t address, double when);
  const Map& map() const { return map_; }
  // Closes those that are in use.
  void finish();
  void write(PlotLines& lines) const;

 private:
  static constexpr size_t kMost = 100000;
  struct Ended {
    uint64_t address;
    Run run;
    double to;
    double area;
  };
  void end(uint64_t address, const Run& run, double to, double until);
  void keep();

  const double from_;
  double last_ = 0;
  Map map_;
  std::vector<Ended> ended_;
};

class Holders {
 public:
  static constexpr uint32_t kMoments = 64;
  static constexpr double kNearlyEmpty = 0.25;
  struct Block {
    uint64_t address, size;  // size: 1 at least
    uint32_t site;
  };

  explicit Holders(const Scan& scan);

  bool is_due(double when) const { return when >= next_; }
  // when: behind the end for the last one. False: the `count` blocks that live are too many for another moment. True:
  // moment() has to follow.
  bool begin(double when, uint64_t count);
  // runs: those in use; if the recording has none, units of the axis stand for them.
  void moment(const std::vector<Block>& blocks, const Runs::Map& runs);
  void write(PlotLines& lines, const Sites& sites) const;

 private:
  struct Held {
    uint32_t moment, site, units;
    double bytes;
  };

  const Scan& scan_;
  const double step_;
  double next_;
  uint64_t visits_ = 0;  // of blocks
  std::vector<double> moments_;
  std::vector<Held> held_;
};

}  // namespace acre::trace
