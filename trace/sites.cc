#include "sites.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <unordered_map>

#include "blocks.h"
#include "recording.h"

namespace acre::trace {

Amount& Amount::operator+=(const Amount& other) {
  blocks += other.blocks;
  bytes += other.bytes;
  return *this;
}

Amount& Amount::operator-=(const Amount& other) {
  blocks -= other.blocks;
  bytes -= other.bytes;
  return *this;
}

std::optional<Amount> amount_of(uint64_t size, uint64_t stack, uint32_t every) {
  const auto bytes = static_cast<double>(size);
  if (every > 1 && stack == kNoStack) return {};
  const double blocks = blocks_of_a_sample(size, every);
  return Amount{blocks, blocks * bytes};
}

namespace {

class Finder {
 public:
  Finder(Recording& recording, const SitesOptions& options)
      : recording_(recording),
        options_(options),
        every_(recording.reader().header().stack_every),
        stacks_(recording.reader(), recording.order()),
        blocks_(recording.reader(), recording.order()) {}

  void run(std::vector<ProcessSites>& found) {
    Merged merged;
    while (recording_.next(merged)) {
      seconds_ = recording_.seconds(merged);
      if (options_.to && seconds_ > *options_.to) break;
      if (options_.from && !is_in_range_ && seconds_ >= *options_.from) is_in_range_ = true;
      if (options_.at && !live_ && seconds_ > *options_.at) keep_live();
      of_event(merged);
    }
    if (!live_) keep_live();
    for (auto& [number, process] : processes_) {
      conclude(process);
      if (!options_.process || number == *options_.process) found.push_back(std::move(process.said));
    }
  }

 private:
  struct Block {
    uint32_t site;  // kNone: it does not count
    uint32_t lane;
    uint64_t event;  // of the lane
    uint64_t size;
    double since;
    bool is_sampled;
  };
  struct Process {
    ProcessSites said;
    std::map<Stacks::Frames, uint32_t> by_frames;
    std::unordered_map<uint64_t, uint32_t> by_number;
    std::unordered_map<uint32_t, uint32_t> by_parents;  // site of the parent
    std::unordered_map<uint32_t, uint64_t> events;  // of each lane
    Amount now;
    uint64_t peak = 0;  // counts peaks
  };

  Process& process(uint32_t number) {
    Process& found = processes_[number];
    if (found.by_frames.empty()) {
      found.said.process = number;
      found.said.first = seconds_;
      found.by_frames[{}] = 0;
      found.said.sites.emplace_back();
    }
    return found;
  }

  uint32_t site_of(Process& process, uint32_t number, uint64_t stack) {
    if (stack == kNoStack) return 0;
    if (const auto known = process.by_number.find(stack); known != process.by_number.end()) return known->second;
    return process.by_number[stack] = site_of_frames(process, stacks_.frames(number, stack));
  }

  static uint32_t site_of_frames(Process& process, const Stacks::Frames& frames) {
    const auto [entry, is_new] =
        process.by_frames.try_emplace(frames, static_cast<uint32_t>(process.said.sites.size()));
    if (is_new) process.said.sites.emplace_back().frames = frames;
    return entry->second;
  }

  // Before what lives of the site changes.
  static void keep_peak(const Process& process, Site& site) {
    if (site.peak == process.peak) return;
    site.at_peak = site.now;
    site.peak = process.peak;
  }

  void add(Process& process, Site& site, const Amount& amount) {
    keep_peak(process, site);
    site.now += amount;
    process.now += amount;
    if (site.now.bytes > site.most.bytes || (site.now.bytes == site.most.bytes && site.now.blocks > site.most.blocks)) {
      site.most = site.now;
    }
    if (process.now.bytes > process.said.peak.bytes) {
      process.said.peak = process.now;
      process.said.peak_at = seconds_;
      ++process.peak;
    }
  }

  Amount weight_of(const Block& block) const {
    return amount_of(block.size, block.is_sampled ? 0 : kNoStack, every_).value_or(Amount());
  }

  void begins(Process& process, const Merged& merged, uint64_t address) {
    const Event& event = *merged.event;
    Block block{kNone, merged.lane, process.events[merged.lane], event.size, seconds_, event.stack != kNoStack};
    if (const auto amount = amount_of(event.size, event.stack, every_); amount && counts()) {
      block.site = site_of(process, merged.process, event.stack);
      Site& site = process.said.sites[block.site];
      site.allocated += *amount;
      add(process, site, *amount);
    }
    blocks_.put(merged.process, address, block);
  }

  void ends(Process& process, const Merged& merged, bool may_be_temporary) {
    Block block;
    if (!blocks_.take(merged.process, merged.event->address, block) || block.site == kNone) return;
    Site& site = process.said.sites[block.site];
    const Amount amount = weight_of(block);
    keep_peak(process, site);
    site.now -= amount;
    process.now -= amount;
    site.lifetime += amount.blocks * (seconds_ - block.since);
    if (may_be_temporary && block.lane == merged.lane &&
        process.events[merged.lane] - block.event <= options_.within) {
      site.temporary += amount;
    }
  }

  void of_event(const Merged& merged) {
    const Event& event = *merged.event;
    blocks_.before(merged, [this](uint32_t child, uint64_t, Block& block) {
      if (block.site != kNone) inherit(child, block);
      return true;
    });
    stacks_.on(merged);
    Process& process = this->process(merged.process);
    process.said.last = std::max(process.said.last, seconds_);
    if (event.what == What::kStackIs) process.by_number.erase(event.numbers[0]);
    if (!is_of_block(event.what)) return;
    ++process.events[merged.lane];
    if (event.what != What::kAllocate) ends(process, merged, event.what == What::kFree);
    if (event.what != What::kFree) begins(process, merged, event.address);
  }

  void inherit(uint32_t child, Block& block) {
    const uint32_t parent = recording_.order().processes().at(child).parent;
    Process& process = this->process(child);
    const auto known = process.by_parents.find(block.site);
    block.site = known != process.by_parents.end()
                     ? known->second
                     : process.by_parents[block.site] =
                           site_of_frames(process, this->process(parent).said.sites[block.site].frames);
    block.lane = kNone;
    block.since = seconds_;
    Site& site = process.said.sites[block.site];
    const Amount amount = weight_of(block);
    site.inherited += amount;
    add(process, site, amount);
  }

  bool counts() const { return !options_.from || is_in_range_; }

  void keep_live() {
    live_ = true;
    for (auto& [_, process] : processes_) {
      for (Site& site : process.said.sites) site.live = site.now;
    }
  }

  void conclude(Process& process) {
    for (Site& site : process.said.sites) keep_peak(process, site);
    for (const auto& [_, block] : blocks_.of(process.said.process)) {
      if (block.site == kNone) continue;
      process.said.sites[block.site].lifetime += weight_of(block).blocks * (process.said.last - block.since);
    }
  }

  Recording& recording_;
  const SitesOptions& options_;
  const uint32_t every_;
  Stacks stacks_;
  Blocks<Block> blocks_;
  std::map<uint32_t, Process> processes_;
  double seconds_ = 0;
  bool is_in_range_ = false, live_ = false;
};

void print_amount(const char* name, const Amount& amount) {
  printf(",\"%s\":[%.0f,%.0f]", name, std::max(amount.blocks, 0.0), std::max(amount.bytes, 0.0));
}

}  // namespace

bool find_sites(const SitesOptions& options, std::vector<ProcessSites>& found, int& code) {
  Recording recording;
  if (!recording.open(options.path)) return false;
  Finder(recording, options).run(found);
  code = recording.finish();
  return true;
}

int sites(const SitesOptions& options) {
  std::vector<ProcessSites> found;
  int code = 0;
  if (!find_sites(options, found, code)) return 1;
  printf("{\"processes\":[");
  const char* between = "";
  for (const ProcessSites& process : found) {
    printf("%s{\"process\":%" PRIu32 ",\"first\":%.9f,\"last\":%.9f,\"peak_at\":%.9f", between, process.process,
           process.first, process.last, process.peak_at);
    print_amount("peak", process.peak);
    printf(",\"sites\":[");
    const char* comma = "";
    for (const Site& site : process.sites) {
      if (site.allocated.blocks == 0 && site.inherited.blocks == 0) continue;
      printf("%s\n{\"frames\":[", comma);
      for (size_t i = 0; i < site.frames.size(); ++i) printf("%s%" PRIu64, i == 0 ? "" : ",", site.frames[i]);
      printf("]");
      print_amount("allocated", site.allocated);
      print_amount("temporary", site.temporary);
      print_amount("inherited", site.inherited);
      print_amount("live", site.live);
      print_amount("most", site.most);
      print_amount("at_peak", site.at_peak);
      printf(",\"lifetime\":%.9f}", std::max(site.lifetime, 0.0));
      comma = ",";
    }
    printf("]}");
    between = ",\n";
  }
  puts("]}");
  return fflush(stdout) != 0 ? 1 : code;
}

}  // namespace acre::trace
