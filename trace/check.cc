#include "check.h"

#include <cinttypes>
#include <cstdio>
#include <set>

#include "blocks.h"
#include "proc.h"
#include "say.h"

namespace acre::trace {

namespace {

constexpr size_t kMostShown = 20;

struct Block {
  uint64_t size;
  bool lives;  // false: it was freed
};

class Check {
 public:
  Check(Reader& reader, CheckResult& result)
      : reader_(reader),
        result_(result),
        order_(reader, [this](const Problem& problem) { of_file(problem); }),
        blocks_(reader, order_) {}

  void run() {
    std::set<std::pair<uint32_t, uint32_t>> lanes;
    for (const Chunk& chunk : reader_.chunks()) {
      const ChunkHeader& header = chunk.header;
      if (header.type != ChunkType::kEvents) continue;
      lanes.emplace(header.process, header.lane);
      result_.raw_bytes += header.raw_bytes;
      result_.stored_bytes += header.stored_bytes;
    }
    result_.lanes = lanes.size();
    result_.chunks = reader_.chunks().size();
    result_.processes = order_.processes().size();
    Merged merged;
    while (order_.next(merged)) of_event(merged);
  }

 private:
  void say_problem(std::string text) {
    ++result_.problems;
    if (result_.first_problems.size() < kMostShown) result_.first_problems.push_back(std::move(text));
  }

  static std::string place(uint32_t process, uint32_t lane, uint32_t block, uint32_t offset) {
    return "process " + std::to_string(process) + ", lane " + std::to_string(lane) + ", block " +
           std::to_string(block) + ", byte " + std::to_string(offset);
  }

  void of_file(const Problem& problem) {
    say_problem(place(problem.process, problem.lane, problem.block, problem.offset) + ": " + problem.text);
  }

  // Where parts of the file are missing, so may be what explains it.
  bool is_excused(const Merged& merged) const {
    const ProcessFacts& facts = order_.processes().at(merged.process);
    return facts.lossy || lossy_.contains(merged.process) ||
           (!facts.has_ended() && order_.any_lane_was_cut(merged.process));
  }

  void contradiction(const Merged& merged, const char* what) {
    if (is_excused(merged)) {
      ++result_.excused;
      return;
    }
    char address[32];
    snprintf(address, sizeof address, "0x%" PRIx64, merged.event->address);
    say_problem(place(merged.process, merged.lane, merged.block, merged.event->offset) + ": block " + address + ' ' +
                what);
  }

  void of_event(const Merged& merged) {
    blocks_.before(merged, [](uint32_t, uint64_t, const Block& block) { return block.lives; });
    const Event& event = *merged.event;
    if (!is_of_block(event.what)) {
      if (event.what == What::kTakeover)
        ++result_.takeovers;
      else if (event.what == What::kSync)
        ++result_.syncs;
      else
        ++result_.others;
      if (event.what == What::kLost) {
        result_.lost += event.numbers[0];
        lossy_.insert(merged.process);
      }
      return;
    }
    const Shard shard = order_.shard(merged.process, record::shard_of(event.address));
    if (shard.lane != merged.lane) contradiction(merged, "is touched by a lane that does not have its shard");
    const Block* const known = blocks_.find(merged.process, event.address);
    const bool is_known = known != nullptr, lives = is_known && known->lives;
    switch (event.what) {
      case What::kAllocate:
        ++result_.allocations;
        if (lives) contradiction(merged, "is given out while it lives");
        blocks_.put(merged.process, event.address, {event.size, true});
        break;
      case What::kFree:
        ++result_.frees;
        if (!is_known)
          ++result_.before;
        else if (!lives)
          contradiction(merged, "is freed, and does not live");
        blocks_.put(merged.process, event.address, {0, false});
        break;
      default:
        ++result_.resizes;
        if (!is_known)
          ++result_.before;
        else if (!lives)
          contradiction(merged, "is resized, and does not live");
        blocks_.put(merged.process, event.address, {event.size, true});
        break;
    }
    if (blocks_.is_over(merged.process)) blocks_.forget(merged.process);
  }

  Reader& reader_;
  CheckResult& result_;
  std::set<uint32_t> lossy_;  // processes that say they could not record some events
  Order order_;
  Blocks<Block> blocks_;
};

}  // namespace

CheckResult check_file(const std::string& path) {
  CheckResult result;
  Reader reader;
  if (!reader.open(path)) {
    result.error = reader.error();
    return result;
  }
  result.file_bytes = reader.file_bytes();
  result.damaged_bytes = reader.damaged_bytes();
  result.has_index = reader.has_index();
  Check(reader, result).run();
  return result;
}

int check(const std::string& path, bool json) {
  const CheckResult result = check_file(path);
  if (!result.error.empty()) {
    say("trace: %s", result.error.c_str());
    return 1;
  }
  const bool sound = result.problems == 0 && result.damaged_bytes == 0;
  const double events = result.events() != 0 ? static_cast<double>(result.events()) : 1;
  const double raw = static_cast<double>(result.raw_bytes) / events;
  const double stored = static_cast<double>(result.file_bytes) / events;
  if (json) {
    std::string problems;
    for (const std::string& problem : result.first_problems) {
      problems += (problems.empty() ? "" : ",") + json_string(problem);
    }
    printf("{\"sound\":%s,\"events\":%" PRIu64 ",\"allocations\":%" PRIu64 ",\"frees\":%" PRIu64 ",\"resizes\":%" PRIu64
           ",\"takeovers\":%" PRIu64 ",\"syncs\":%" PRIu64 ",\"others\":%" PRIu64 ",\"processes\":%" PRIu64
           ",\"lanes\":%" PRIu64 ",\"chunks\":%" PRIu64 ",\"file_bytes\":%" PRIu64 ",\"raw_event_bytes\":%" PRIu64
           ",\"stored_event_bytes\":%" PRIu64
           ",\"raw_bytes_an_event\":%.3f,\"file_bytes_an_event\":%.3f"
           ",\"frees_of_earlier_blocks\":%" PRIu64 ",\"excused\":%" PRIu64 ",\"lost\":%" PRIu64
           ",\"damaged_bytes\":%" PRIu64 ",\"has_index\":%s,\"problem_count\":%" PRIu64 ",\"problems\":[%s]}\n",
           sound ? "true" : "false", result.events(), result.allocations, result.frees, result.resizes,
           result.takeovers, result.syncs, result.others, result.processes, result.lanes, result.chunks,
           result.file_bytes, result.raw_bytes, result.stored_bytes, raw, stored, result.before, result.excused,
           result.lost, result.damaged_bytes, result.has_index ? "true" : "false", result.problems, problems.c_str());
    return sound ? 0 : 1;
  }
  printf("%" PRIu64 " events (%" PRIu64 " allocations, %" PRIu64 " frees, %" PRIu64 " resizes) of %" PRIu64
         " lanes in %" PRIu64 " processes\n",
         result.events(), result.allocations, result.frees, result.resizes, result.lanes, result.processes);
  printf("%" PRIu64 " bytes: %.2f an event; %.2f raw\n", result.file_bytes, stored, raw);
  printf("%" PRIu64 " takeovers, %" PRIu64 " syncs; %" PRIu64 " frees of blocks from before the recording\n",
         result.takeovers, result.syncs, result.before);
  if (!result.has_index) printf("there is no index: the recording was cut off, and was read chunk by chunk\n");
  if (result.lost != 0) printf("%" PRIu64 " events were lost\n", result.lost);
  if (result.damaged_bytes != 0) printf("%" PRIu64 " bytes are damaged\n", result.damaged_bytes);
  if (result.excused != 0) {
    printf("%" PRIu64 " contradictions that parts of the file which are missing can explain\n", result.excused);
  }
  for (const std::string& problem : result.first_problems) printf("%s\n", problem.c_str());
  if (result.problems > result.first_problems.size()) {
    printf("… and %" PRIu64 " more\n", result.problems - result.first_problems.size());
  }
  printf(sound ? "sound\n" : "%" PRIu64 " problems\n", result.problems);
  return sound ? 0 : 1;
}

}  // namespace acre::trace
