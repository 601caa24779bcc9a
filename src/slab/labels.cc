#include "slab/labels.h"

#include "pages/metadata.h"

namespace acre::labels {

namespace {

// Spare labels by size class, each with the address of the next.
constinit Mutex g_lock{Rank::kLabels};
constinit uint32_t* g_spare[kSmallClasses] ACRE_GUARDED_BY(g_lock) = {};

size_t bytes_for(SizeClass c) { return larger(run_shape(c).capacity * sizeof(uint32_t), sizeof(uint32_t*)); }

uint32_t* take_spare(SizeClass c) {
  Lock lock(g_lock);
  uint32_t* spare = g_spare[c];
  if (spare != nullptr) g_spare[c] = *reinterpret_cast<uint32_t**>(spare);
  return spare;
}

}  // namespace

bool attach(Run* run, SizeClass c) {
  uint32_t* found = take_spare(c);
  if (found == nullptr) found = static_cast<uint32_t*>(metadata::allocate(bytes_for(c)));
  run->labels = found;
  return found != nullptr;
}

void detach(Run* run, SizeClass c) {
  uint32_t* spare = run->labels;
  Lock lock(g_lock);
  *reinterpret_cast<uint32_t**>(spare) = g_spare[c];
  g_spare[c] = spare;
}

void at_fork(ForkStage stage) { g_lock.at_fork(stage); }

}  // namespace acre::labels
