#include "plot_fill.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace acre::trace {

namespace {

constexpr uint64_t kProgressEvery = 1 << 16;  // events

}  // namespace

Fill::Fill(const Scan& scan, unsigned columns_log2, Curves& curves, Sweep& sweep, KeptBlocks& kept)
    : scan_(scan),
      quanta_per_second_(static_cast<double>(Sweep::kQuanta << columns_log2) / (scan.to - scan.from)),
      curves_(curves),
      sweep_(sweep),
      kept_(kept) {}

uint64_t Fill::quanta(double when) const {
  return static_cast<uint64_t>(std::max(0.0, (std::min(when, scan_.to) - scan_.from) * quanta_per_second_));
}

bool Fill::draws(uint64_t address, const Live& live, Sweep::Block& block) const {
  const uint64_t bytes = std::max<uint64_t>(live.size, 1);
  if (!can_be(address, live.size) || !scan_.axis.find(address, block.y)) return false;
  block.bytes = bytes;
  block.group = group_of(live.size);
  block.thread = live.thread;
  block.birth = live.quanta;
  return true;
}

void Fill::appear(uint64_t address, const Live& live, double when) {
  if (Sweep::Block block; draws(address, live, block)) sweep_.begin(quanta(when), block);
}

void Fill::vanish(uint64_t address, const Live& live, double when, bool lives_on) {
  Sweep::Block block;
  if (!draws(address, live, block)) return;
  if (!lives_on) sweep_.end(quanta(when), block);
  const double end = lives_on ? std::numeric_limits<double>::quiet_NaN() : when;
  const double from = std::max(live.birth, scan_.from);
  kept_.add({static_cast<double>(block.bytes) * (when - from), from, end, block.y, live.size, live.thread, live.site});
}

// What lives at the beginning of the time.
void Fill::start(Blocks<Live>& blocks) {
  has_started_ = true;
  for (const auto& [address, live] : blocks.of(scan_.process)) {
    curves_.begin(live.size);
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
      if (has_started_) curves_.figures(when, event.list);
      return;
    case What::kLost: lost += event.numbers[0]; return;
    default: return;
  }
}

void Fill::on(const Merged& merged, Blocks<Live>& blocks, double when) {
  const Event& event = *merged.event;
  const bool is_drawn = merged.process == scan_.process && has_started_;
  const uint32_t thread = merged.process == scan_.process ? scan_.thread(merged.lane) : kOtherThread;
  Live live;
  const bool is_known = blocks.take(merged.process, event.address, live);
  if (!is_known && event.what != What::kAllocate) earlier += is_drawn;
  if (event.what == What::kFree) {
    if (!is_drawn) return;
    if (!is_known) return curves_.free_unknown(when);
    curves_.free(when, live.size);
    return vanish(event.address, live, when, false);
  }
  if (is_known && is_drawn) {
    if (event.what == What::kAllocate) {  // its free is missing
      ++again;
      curves_.free(when, live.size);
    } else {
      curves_.resize(when, live.size, event.size);
    }
    vanish(event.address, live, when, false);
  }
  const bool stays = is_known && event.what == What::kResize;
  if (!stays) live = {when, quanta(when), 0, 0, thread};
  live.birth = when;
  live.size = event.size;
  if (is_drawn) {
    if (event.what == What::kAllocate) curves_.allocate(when, event.size, thread);
    if (event.what == What::kResize && !is_known) curves_.resize(when, 0, event.size);
    appear(event.address, live, when);
  }
  blocks.put(merged.process, event.address, live);
}

void Fill::run(Reader& reader, Order& order, const Clock& clock, const std::function<void(double)>& progress) {
  Blocks<Live> blocks(reader, order);
  std::set<uint32_t> ancestors;  // and the process itself
  for (uint32_t at = scan_.process; at != kNone && ancestors.insert(at).second;) {
    const auto facts = order.processes().find(at);
    at = facts == order.processes().end() ? kNone : facts->second.parent;
  }
  for (const auto& [number, facts] : order.processes()) {
    if (facts.parent == scan_.process) mark(clock.seconds(facts.start_ticks), "fork", std::to_string(number), kNone);
  }
  Merged merged;
  double last = -std::numeric_limits<double>::infinity();
  uint64_t count = 0;
  while (order.next(merged)) {
    if (++count % kProgressEvery == 0) progress(last);
    if (!ancestors.contains(merged.process)) continue;
    blocks.before(merged, [](uint32_t, uint64_t, const Live&) { return true; });
    const double when = clock.seconds(merged.event->ticks);
    if (merged.process == scan_.process) {
      last = std::max(last, when);
      if (last > scan_.to) break;
      if (!has_started_ && last >= scan_.from) start(blocks);
    }
    if (is_of_block(merged.event->what))
      on(merged, blocks, merged.process == scan_.process ? last : when);
    else if (merged.process == scan_.process)
      other(merged, last);
  }
  if (!has_started_) start(blocks);
  for (const auto& [address, live] : blocks.of(scan_.process)) vanish(address, live, scan_.to, true);
  curves_.finish();
  sweep_.finish();
  std::stable_sort(marks.begin(), marks.end(), [](const PlotMark& a, const PlotMark& b) { return a.when < b.when; });
}

}  // namespace acre::trace
