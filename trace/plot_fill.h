// The second reading of a recording for a plot: events in order, which fill curves, image and tables.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "blocks.h"
#include "plot_curves.h"
#include "plot_kept.h"
#include "plot_ranges.h"
#include "plot_runs.h"
#include "plot_scan.h"
#include "plot_sites.h"
#include "plot_sweep.h"
#include "plot_tags.h"

namespace acre::trace {

struct PlotMark {
  double when;
  const char* kind;
  std::string text;
  uint32_t thread;  // index
};

struct PlotParts {
  Curves& curves;
  Sweep& sweep;
  KeptBlocks& kept;
  Sites& sites;
  Ranges& ranges;
  Runs& runs;
  Holders& holders;
};

class Fill {
 public:
  static constexpr size_t kMostMarks = 10000;

  Fill(const Scan& scan, unsigned columns_log2, const PlotParts& parts);

  // progress: called now and then with the time that was come to.
  void run(Reader& reader, Order& order, const Clock& clock, const std::function<void(double)>& progress);

  std::vector<PlotMark> marks;
  uint64_t marks_left_out = 0;
  uint64_t earlier = 0;  // frees and resizes of blocks that are not known
  uint64_t again = 0;    // blocks that were given out while they lived, as far as the file says
  uint64_t lost = 0;     // events that were not recorded

 private:
  struct Live {
    double allocated;
    double from;  // its allocation, or where it was resized last
    uint64_t size;
    uint64_t events;  // of its thread, before it
    uint32_t site, thread;
    uint8_t tag;
  };

  static void note_run(const Event& event, Runs::Map& runs, double when);
  void begin(uint32_t process, uint32_t parent);
  void start(Blocks<Live>& blocks);
  void on(const Merged& merged, Blocks<Live>& blocks, double when);
  void other(const Merged& merged, double when);
  void mark(double when, const char* kind, std::string text, uint32_t thread);
  // A realloc of the block there has given it this tag.
  void set_tag(Live* block, uint8_t tag, bool is_drawn, double when);
  void appear(uint64_t address, const Live& live, double when);
  void vanish(uint64_t address, const Live& live, double when, bool lives_on);
  // What a block was, at its free or at the end. thread: that freed it.
  void account(const Live& live, double when, bool lives_on, uint32_t thread);
  void note_holders(Blocks<Live>& blocks, double when);
  bool draws(uint64_t address, const Live& live, Sweep::Block& block) const;
  uint64_t quanta(double when) const;

  const Scan& scan_;
  const unsigned columns_log2_;
  const double quanta_per_second_;
  const PlotParts parts_;
  std::vector<uint64_t> events_;  // by thread
  BlockTags tags_;
  std::map<uint32_t, Runs::Map> runs_of_parents_;
  bool has_started_ = false;
};

}  // namespace acre::trace
