#include "control/utilization.h"

#include <errno.h>
#include <string.h>

#include "cache/lookup.h"
#include "cache/registry.h"
#include "control/ctl.h"
#include "control/snapshot.h"

namespace acre::ctl {

namespace {

// What query answers, in jemalloc's order.
struct Answer {
  Address current;  // of the run that the next block of the class probably comes from; 0: not known, or a large block
  RunFill run;
  RunFill bin;      // sums over the runs of the class in the block's arena; the node gives only `free` and `blocks`
};
constexpr size_t kAnswerBytes = offsetof(Answer, bin.bytes);
static_assert(kAnswerBytes == sizeof(void*) + 5 * sizeof(size_t));
constexpr size_t kBatchBytes = sizeof(RunFill);
static_assert(kBatchBytes == 3 * sizeof(size_t));

Address current_run(SizeClass c) {
  Heap* heap = heap_if_any();
  const Slab* current = heap == nullptr ? nullptr : heap->use(c).lists.current;
  return current == nullptr ? 0 : current->base;
}

RunFill fill_of_class(const Slab* slab) {
  const SizeClass c = slab->size_class;
  const ClassStatistics figures = class_figures(arena_of(slab)->index, c);
  const size_t blocks = figures.runs * run_shape(c).capacity;
  return {blocks - smaller<size_t>(figures.live, blocks), blocks, figures.runs * run_shape(c).pages * kPageBytes};
}

}  // namespace

const Slab* slab_of(const void* block) { return find_block(block).slab; }

RunFill fill_of(const void* block) {
  const Found found = find_block(block);
  if (found.slab != nullptr) {
    const SlabUse use = use_of(found.slab);
    return {use.free(), use.capacity, run_shape(use.size_class).pages * kPageBytes};
  }
  return found.run == nullptr ? RunFill() : RunFill{0, 1, block_bytes(found)};
}

bool is_current(const Slab* slab) { return current_run(slab->size_class) == slab->base; }

bool is_worth_moving(const void* block) {
  const Slab* slab = slab_of(block);
  if (slab == nullptr || is_current(slab) || !refresh_once()) return false;
  const SlabUse use = use_of(slab);
  const ClassStatistics figures = class_figures(kAllArenas, use.size_class);
  if (use.free() == 0 || figures.nonfull < 2) return false;
  const uint64_t in_full = (figures.runs - figures.nonfull) * run_shape(use.size_class).capacity;
  const uint64_t used = figures.live + figures.private_list + figures.outbox;  // as use.live counts
  const uint64_t in_others = used - smaller(in_full, used);
  return 8 * use.live * figures.nonfull <= 9 * in_others;
}

int query_utilization(Call& call) {
  const void* block;
  if (call.in_bytes != sizeof block || call.out_bytes != kAnswerBytes) return EINVAL;
  memcpy(&block, call.in, sizeof block);
  Answer answer{0, fill_of(block), {}};
  if (const Slab* slab = slab_of(block)) {
    answer.current = current_run(slab->size_class);
    answer.bin = fill_of_class(slab);
  }
  memcpy(call.out, &answer, kAnswerBytes);
  return 0;
}

int answer_batch(Call& call, RunFill (*of)(const void* block)) {
  const size_t blocks = call.in_bytes / sizeof(void*);
  if (call.in_bytes % sizeof(void*) != 0 || call.out_bytes != blocks * kBatchBytes) return EINVAL;
  for (size_t i = 0; i < blocks; ++i) {
    const void* block;
    memcpy(&block, static_cast<const char*>(call.in) + i * sizeof block, sizeof block);
    const RunFill fill = of(block);
    memcpy(static_cast<char*>(call.out) + i * kBatchBytes, &fill, kBatchBytes);
  }
  return 0;
}

int query_utilizations(Call& call) { return answer_batch(call, fill_of); }

}  // namespace acre::ctl
