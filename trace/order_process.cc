#include "order_process.h"

#include <algorithm>
#include <numeric>

namespace acre::trace {

ProcessOrder::ProcessOrder(Order& order, uint32_t process, ProcessFacts& facts)
    : order_(order), process_(process), facts_(facts) {}

void ProcessOrder::add(uint32_t chunk) {
  const ChunkHeader& header = order_.reader_.chunks()[chunk].header;
  Lane& lane = by_number_[header.lane];
  lane.number = header.lane;
  lane.chunks.push_back(chunk);
}

void ProcessOrder::begin(uint64_t slack_ticks) {
  slack_ = slack_ticks;
  if (!facts_.has_end) {  // the recording was cut off: a lane that is known may have nothing in the file
    for (const auto& [lane, thread] : facts_.threads) facts_.lossy |= !by_number_.contains(lane);
  }
  const std::vector<Chunk>& chunks = order_.reader_.chunks();
  const auto block_of = [&](uint32_t chunk) { return chunks[chunk].header.block; };
  for (auto& [number, lane] : by_number_) {
    std::sort(lane.chunks.begin(), lane.chunks.end(),
              [&](uint32_t a, uint32_t b) { return std::pair(block_of(a), a) < std::pair(block_of(b), b); });
    lane.chunks.erase(std::unique(lane.chunks.begin(), lane.chunks.end(),
                                  [&](uint32_t a, uint32_t b) { return block_of(a) == block_of(b); }),
                      lane.chunks.end());
    if (block_of(lane.chunks[0]) != 0 || block_of(lane.chunks.back()) != lane.chunks.size() - 1) {
      facts_.lossy = true;
    }
    if (const auto thread = facts_.threads.find(number); thread != facts_.threads.end()) lane.thread = thread->second;
    lane.ticks = chunks[lane.chunks[0]].header.first_ticks;
    lane.reach = chunks[lane.chunks[0]].header.seen;
    index_of_[number] = static_cast<uint32_t>(lanes_.size());
    lanes_.push_back(&lane);
    push(static_cast<uint32_t>(lanes_.size() - 1));
  }
}

void ProcessOrder::problem(Problem::Kind kind, const Lane& lane, uint32_t offset, std::string text) {
  if (order_.report_) order_.report_({kind, process_, lane.number, lane.block, offset, std::move(text)});
}

void ProcessOrder::push(uint32_t lane) { queue_.push({lanes_[lane]->ticks, lane}); }

void ProcessOrder::wake(std::vector<uint32_t>& waiters) {
  std::vector<uint32_t> woken;
  woken.swap(waiters);
  for (const uint32_t lane : woken) {
    if (!lanes_[lane]->is_blocked) continue;
    lanes_[lane]->is_blocked = false;
    push(lane);
  }
}

void ProcessOrder::end(Lane& lane) {
  lane.is_over = true;
  lane.is_open = false;
  lane.reach = UINT64_MAX;
  if (!lane.has_said_end) {
    was_cut_ = true;
    if (!facts_.has_ended()) {  // takeovers that others wait for may be in what is not there
      facts_.lossy = true;
      for (const auto& [shard, waiters] : shard_waiters_)
        orphans_.insert(orphans_.end(), waiters.begin(), waiters.end());
    }
  }
  lane.bytes = {};
  lane.decoder.reset();
  wake(lane.waiters);
}

bool ProcessOrder::open_block(Lane& lane) {
  const std::vector<Chunk>& chunks = order_.reader_.chunks();
  while (lane.next_chunk < lane.chunks.size()) {
    const Chunk& chunk = chunks[lane.chunks[lane.next_chunk]];
    const uint32_t expected = lane.next_chunk == 0 ? 0 : lane.block + 1;
    lane.block = chunk.header.block;
    ++lane.next_chunk;
    if (lane.block != expected && !(lane.next_chunk == 1 && order_.reader_.is_bounded())) {
      problem(Problem::kMissing, lane, 0,
              "blocks " + std::to_string(expected) + " to " + std::to_string(lane.block - 1) + " are missing");
    }
    if (!order_.reader_.read(chunk, lane.bytes)) {
      facts_.lossy = true;
      problem(Problem::kBlockDamaged, lane, 0, "the block is damaged");
      continue;
    }
    if (!lane.decoder) lane.decoder = std::make_unique<Decoder>();
    lane.decoder->begin(lane.bytes, chunk.header.first_ticks, chunk.header.seen);
    lane.is_open = true;
    lane.ticks = chunk.header.first_ticks;
    lane.reach = std::max(lane.reach, chunk.header.seen);
    ++lane.looks;
    return true;
  }
  return false;
}

void ProcessOrder::step(Lane& lane) {
  const uint64_t looks = lane.looks;
  for (;;) {
    if (lane.is_open && lane.decoder->next(lane.event)) break;
    if (lane.is_open && lane.decoder->error() != nullptr) {
      facts_.lossy = true;
      problem(Problem::kUndecodable, lane, lane.decoder->offset(), lane.decoder->error());
    }
    lane.is_open = false;
    if (!open_block(lane)) return end(lane);
  }
  lane.ticks = std::max(lane.ticks, lane.event.ticks);
  if (lane.event.what == What::kTakeover || lane.event.what == What::kSync) {
    lane.reach = std::max(lane.reach, lane.event.numbers[lane.event.what == What::kTakeover ? 2 : 0]);
    ++lane.looks;
  }
  if (lane.event.what == What::kEnd) lane.has_said_end = true;
  push(index_of_[lane.number]);
  if (lane.looks != looks) wake(lane.waiters);
}

// The lane before has to come to where it has seen the takeover, behind its own one.
bool ProcessOrder::may_take_over(Lane& lane, uint32_t index) {
  if (lane.is_forced) return true;
  const uint64_t shard_number = lane.event.numbers[0], epoch = lane.event.numbers[1], number = lane.event.numbers[2];
  if (shards_.empty()) shards_.resize(size_t{1} << record::kShardsLog2);
  const Shard& shard = shards_[shard_number];
  if (shard.epoch >= epoch || (shard.epoch == 0 && epoch == 1)) return true;
  if (shard.epoch + 1 == epoch) {
    if (shard.lane == kNone) return true;
    Lane& last = *lanes_[index_of_[shard.lane]];
    if (&last == &lane || last.is_over || (last.reach >= number && last.looks > shard.looks)) return true;
    last.waiters.push_back(index);
    return false;
  }
  shard_waiters_[shard_number].push_back(index);
  if (facts_.lossy) orphans_.push_back(index);
  return false;
}

// All lanes wait for others: the file lacks parts, or a shard changed lanes again before the number of a change was taken.
// Of all the lanes, that with the smallest number waits last. If it waits for an earlier epoch, that one came before its
// own number, too, and nobody is left whom the earlier epoch has to wait for.
bool ProcessOrder::force_one() {
  uint32_t best = kNone;
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i]->is_blocked && (best == kNone || lanes_[i]->event.numbers[2] < lanes_[best]->event.numbers[2])) {
      best = i;
    }
  }
  if (best == kNone) return false;
  const uint64_t shard = lanes_[best]->event.numbers[0];
  for (uint32_t i = 0; i < lanes_.size(); ++i) {
    const Event& event = lanes_[i]->event;
    if (lanes_[i]->is_blocked && event.numbers[0] == shard && event.numbers[1] == shards_[shard].epoch + 1) best = i;
  }
  Lane& lane = *lanes_[best];
  lane.is_blocked = false;
  lane.is_forced = true;
  push(best);
  return true;
}

void ProcessOrder::release_orphans(uint64_t until) {
  std::erase_if(orphans_, [&](uint32_t index) {
    Lane& lane = *lanes_[index];
    if (!lane.is_blocked) return true;
    if (lane.ticks + slack_ >= until) return false;
    lane.is_blocked = false;
    lane.is_forced = true;
    push(index);
    return true;
  });
}

bool ProcessOrder::peek(uint64_t& ticks) {
  for (;;) {
    if (queue_.empty()) {
      if (force_one()) continue;
      if (!is_over_) find_missing_takeovers();
      is_over_ = true;
      shards_ = {};
      return false;
    }
    const uint32_t index = queue_.top().lane;
    Lane& lane = *lanes_[index];
    if (!lane.is_open) {
      queue_.pop();
      step(lane);
      continue;
    }
    if (!orphans_.empty()) {
      const size_t before = orphans_.size();
      release_orphans(queue_.top().ticks);
      if (orphans_.size() != before) continue;
    }
    if (lane.event.what == What::kTakeover && !may_take_over(lane, index)) {
      queue_.pop();
      lane.is_blocked = true;
      continue;
    }
    current_ = index;
    ticks = lane.ticks;
    return true;
  }
}

void ProcessOrder::take(Merged& merged) {
  Lane& lane = *lanes_[current_];
  const Event& event = lane.event;
  merged = {&event, process_, lane.number, lane.thread, lane.block};
  if (event.what == What::kTakeover) note_takeover(lane);
}

void ProcessOrder::note_takeover(const Lane& lane) {
  const uint64_t number = lane.event.numbers[0], epoch = lane.event.numbers[1];
  if (shards_.empty()) shards_.resize(size_t{1} << record::kShardsLog2);
  Shard& shard = shards_[number];
  if (epoch == shard.epoch && shard.lane != lane.number) {
    problem(
        Problem::kNoOrder, lane, lane.event.offset,
        "two lanes say that they took shard " + std::to_string(number) + " over in its epoch " + std::to_string(epoch));
  } else if (epoch <= shard.epoch) {
    if (shard.skipped > 0) --shard.skipped;
  } else {
    if (shard.epoch != 0) shard.skipped += epoch - shard.epoch - 1;
    shard.epoch = epoch;
    shard.lane = lane.number;
    shard.looks = lane.looks;
  }
}

// A thread that was killed may have taken a shard over without having written that down. Nothing comes after it there.
void ProcessOrder::find_missing_takeovers() {
  const auto skipped = std::accumulate(shards_.begin(), shards_.end(), uint64_t{0},
                                       [](uint64_t sum, const Shard& shard) { return sum + shard.skipped; });
  const auto killed = std::count_if(lanes_.begin(), lanes_.end(), [](const auto& lane) { return !lane->has_said_end; });
  if (skipped <= static_cast<uint64_t>(killed)) return;
  for (size_t i = 0; i < shards_.size() && !facts_.lossy; ++i) {
    if (shards_[i].skipped == 0) continue;
    problem(Problem::kNoOrder, *lanes_[index_of_[shards_[i].lane]], 0,
            std::to_string(shards_[i].skipped) + " takeovers of shard " + std::to_string(i) + " are missing");
  }
}

void ProcessOrder::advance() {
  Lane& lane = *lanes_[current_];
  queue_.pop();
  const bool is_takeover = lane.event.what == What::kTakeover;
  const uint64_t shard = lane.event.numbers[0];
  lane.is_forced = false;
  step(lane);
  if (!is_takeover) return;
  if (const auto waiters = shard_waiters_.find(shard); waiters != shard_waiters_.end()) {
    std::vector<uint32_t> woken = std::move(waiters->second);
    shard_waiters_.erase(waiters);
    wake(woken);
  }
}

bool ProcessOrder::has_passed(const ProcessFacts& child) {
  for (const auto& [number, index] : index_of_) {
    const Lane& lane = *lanes_[index];
    if (lane.is_over) continue;
    const Position here = lane.is_open ? Position{lane.block, lane.event.offset} : Position{lane.block, 0};
    if (child.was_before_fork(number, here)) return false;
  }
  return true;
}

void ProcessOrder::read_cuts() {
  if (lanes_.empty()) return;
  const Lane& first = *lanes_[0];
  const Chunk& chunk = order_.reader_.chunks()[first.chunks[0]];
  std::vector<uint8_t> bytes;
  if (chunk.header.block != 0 || !order_.reader_.read(chunk, bytes)) return;
  Decoder decoder;
  decoder.begin(bytes, 0, 0);
  Event event;
  while (decoder.next(event) && !is_of_block(event.what)) {
    if (event.what != What::kCut) continue;
    facts_.cuts[static_cast<uint32_t>(event.numbers[0])] = {static_cast<uint32_t>(event.numbers[1]),
                                                            static_cast<uint32_t>(event.numbers[2])};
  }
}

}  // namespace acre::trace
