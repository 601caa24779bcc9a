#include "plot_fill.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace acre::trace {

namespace {

constexpr uint64_t kProgressEvery = 1 << 16;  // events

}  // namespace

Fill::Fill(const Scan& scan, unsigned columns_log2, const PlotParts& parts)
    : scan_(scan),
      columns_log2_(columns_log2),
      quanta_per_second_(static_cast<double>(Sweep::kQuanta << columns_log2) / (scan.to - scan.from)),
      parts_(parts),
      events_(scan.threads.size()),
      tags_(scan.tags) {}

uint64_t Fill::quanta(double when) const {
  return static_cast<uint64_t>(std::max(0.0, (std::min(when, scan_.to) - scan_.from) * quanta_per_second_));
}

bool Fill::draws(uint64_t address, const Live& live, Sweep::Block& block) const {
  const uint64_t bytes = std::max<uint64_t>(live.size, 1);
  if (!can_be(address, live.size) || !scan_.axis.find(address, block.y)) return false;
  block.bytes = bytes;
  block.group = group_of(live.size);
  block.thread = live.thread;
  block.birth = quanta(live.allocated);
  return true;
}

void Fill::appear(uint64_t address, const Live& live, double when) {
  if (Sweep::Block block; draws(address, live, block)) parts_.sweep.begin(quanta(when), block);
}

void Fill::vanish(uint64_t address, const Live& live, double when, bool lives_on) {
  Sweep::Block block;
  if (!draws(address, live, block)) return;
  if (!lives_on) parts_.sweep.end(quanta(when), block);
  const double end = lives_on ? std::numeric_limits<double>::quiet_NaN() : when;
  const double from = std::max(live.from, scan_.from);
  const double area = static_cast<double>(block.bytes) * (when - from);
  parts_.kept.add({area, from, end, block.y, live.size, live.thread, live.site, live.tag});
}

void Fill::account(const Live& live, double when, bool lives_on, uint32_t thread) {
  if (live.allocated < scan_.from) return;
  const auto part = [&](double at) {
    const uint64_t bucket = quanta(at) >> (Sweep::kQuantaLog2 + columns_log2_ - Ranges::kBucketsLog2);
    return static_cast<uint32_t>(std::min<uint64_t>(bucket, Ranges::kMostBuckets - 1));
  };
  const bool by_own = !lives_on && thread == live.thread && thread < events_.size();
  parts_.ranges.add({live.site, live.size, parts_.sites.weight(live.site, live.size), part(live.allocated),
                     lives_on ? Ranges::kNever : part(when), when - live.allocated,
                     by_own ? events_[thread] - live.events : 0});
}

void Fill::note_holders(Blocks<Live>& all, double when) {
  const auto& map = all.of(scan_.process);
  if (!parts_.holders.begin(when, map.size())) return;
  std::vector<Holders::Block> blocks;
  blocks.reserve(map.size());
  for (const auto& [address, live] : map) blocks.push_back({address, std::max<uint64_t>(live.size, 1), live.site});
  parts_.holders.moment(blocks, parts_.runs.map());
}

void Fill::note_run(const Event& event, Runs::Map& runs, double when) {
  if (event.what == What::kRunIs) runs[event.address] = {event.numbers[0], event.numbers[1], when};
  if (event.what == What::kRunGone) runs.erase(event.address);
}

void Fill::begin(uint32_t process, uint32_t parent) {
  const auto [runs, is_new] = runs_of_parents_.try_emplace(process);
  if (!is_new) return;
  if (const auto found = runs_of_parents_.find(parent); found != runs_of_parents_.end()) runs->second = found->second;
  if (process == scan_.process) parts_.runs.inherit(runs->second);
}

// What lives at the beginning of the time.
void Fill::start(Blocks<Live>& blocks) {
  has_started_ = true;
  for (const auto& [address, live] : blocks.of(scan_.process)) {
    parts_.curves.begin(live.size, live.tag);
    appear(address, live, scan_.from);
  }
}

void Fill::mark(double when, const char* kind, std::string text, uint32_t thread) {
  if (when < scan_.from || when > scan_.to) return;
  if (marks.size() < kMostMarks)
    marks.push_back({when, kind, std::move(text), thread});
  else
    ++marks_left_out;
}

void Fill::other(const Merged& merged, double when) {
  const Event& event = *merged.event;
  const uint32_t thread = scan_.thread(merged.lane);
  switch (event.what) {
    case What::kMark: return mark(when, "mark", std::string(event.text), thread);
    case What::kPurged: return mark(when, "purge", std::to_string(event.numbers[0] * 4096), thread);
    case What::kFigures:
      if (has_started_) parts_.curves.figures(when, event.list);
      return;
    case What::kRunIs: return parts_.runs.is(event.address, event.numbers[0], event.numbers[1], when);
    case What::kRunGone: return parts_.runs.gone(event.address, when);
    case What::kLost: lost += event.numbers[0]; return;
    default: return;
  }
}

void Fill::set_tag(Live* block, uint8_t tag, bool is_drawn, double when) {
  if (block == nullptr || block->tag == tag) return;
  if (is_drawn) parts_.curves.move(when, block->size, block->tag, tag);
  block->tag = tag;
}

void Fill::on(const Merged& merged, Blocks<Live>& blocks, double when) {
  const Event& event = *merged.event;
  const bool is_own = merged.process == scan_.process, is_drawn = is_own && has_started_;
  const uint32_t thread = is_own ? scan_.thread(merged.lane) : kOtherThread;
  if (is_own && thread < events_.size()) ++events_[thread];
  Live live;
  const bool is_known = blocks.take(merged.process, event.address, live);
  if (!is_known && event.what != What::kAllocate) earlier += is_drawn;
  if (event.what == What::kFree) {
    if (is_known) {
      if (const uint64_t to = tags_.freed(merged, live.tag))
        set_tag(blocks.find(merged.process, to), live.tag, is_drawn, when);
    }
    if (!is_drawn) return;
    if (!is_known) return parts_.curves.free_unknown(when);
    parts_.curves.free(when, live.size, live.tag);
    account(live, when, false, thread);
    return vanish(event.address, live, when, false);
  }
  if (is_known && is_drawn) {
    if (event.what == What::kAllocate) {  // its free is missing
      ++again;
      parts_.curves.free(when, live.size, live.tag);
      account(live, when, false, kOtherThread);
    } else {
      parts_.curves.resize(when, live.size, event.size, live.tag);
    }
    vanish(event.address, live, when, false);
  }
  if (event.what == What::kAllocate || !is_known) {
    const uint64_t events = thread < events_.size() ? events_[thread] : 0;
    const uint8_t tag = event.what == What::kAllocate ? tags_.allocated(merged) : kNoTag;
    live = {when, when, 0, events, parts_.sites.site_of(merged.process, event), thread, tag};
  }
  live.from = when;
  live.size = event.size;
  if (is_drawn) {
    if (event.what == What::kAllocate) {
      parts_.curves.allocate(when, event.size, thread, live.tag);
      parts_.sites.count(live.site, static_cast<double>(event.size) * parts_.sites.weight(live.site, event.size));
    } else if (!is_known) {
      parts_.curves.resize(when, 0, event.size, live.tag);
    }
    appear(event.address, live, when);
  }
  blocks.put(merged.process, event.address, live);
}

void Fill::run(Reader& reader, Order& order, const Clock& clock, const std::function<void(double)>& progress) {
  Blocks<Live> blocks(reader, order);
  const std::set<uint32_t> ancestors = ancestors_of(order, scan_.process);
  for (const auto& [number, facts] : order.processes()) {
    if (facts.parent == scan_.process) mark(clock.seconds(facts.start_ticks), "fork", std::to_string(number), kNone);
  }
  if (const ProcessFacts& facts = order.processes().at(scan_.process); facts.has_end && facts.end_ticks != 0) {
    const bool is_exec = facts.ending == Ending::kExec;
    mark(clock.seconds(facts.end_ticks), is_exec ? "exec" : "end", name_of(facts.ending), kNone);
  }
  Merged merged;
  double last = -std::numeric_limits<double>::infinity();
  uint64_t count = 0;
  uint32_t last_process = kNone;
  while (order.next(merged)) {
    if (++count % kProgressEvery == 0) progress(last);
    if (!ancestors.contains(merged.process)) continue;
    blocks.before(merged, [](uint32_t, uint64_t, const Live&) { return true; });
    parts_.sites.on(merged);
    tags_.on(merged);
    if (merged.process != last_process) begin(merged.process, order.processes().at(merged.process).parent);
    last_process = merged.process;
    const double when = clock.seconds(merged.event->ticks);
    if (merged.process == scan_.process) {
      last = std::max(last, when);
      if (last > scan_.to) break;
      if (!has_started_ && last >= scan_.from) start(blocks);
      if (has_started_ && parts_.holders.is_due(last)) note_holders(blocks, last);
    }
    if (is_of_block(merged.event->what))
      on(merged, blocks, merged.process == scan_.process ? last : when);
    else if (merged.process == scan_.process)
      other(merged, last);
    else
      note_run(*merged.event, runs_of_parents_[merged.process], when);
  }
  if (!has_started_) start(blocks);
  note_holders(blocks, std::numeric_limits<double>::infinity());
  for (const auto& [address, live] : blocks.of(scan_.process)) {
    vanish(address, live, scan_.to, true);
    account(live, scan_.to, true, kOtherThread);
  }
  parts_.runs.finish();
  parts_.curves.finish();
  parts_.sweep.finish();
  std::sort(marks.begin(), marks.end(), [](const PlotMark& a, const PlotMark& b) {
    return std::tie(a.when, a.text) < std::tie(b.when, b.text);
  });
}

}  // namespace acre::trace
