#include "process/fork.h"

#include <pthread.h>

#include "base/fatal.h"
#include "cache/registry.h"
#include "cache/sampled_run.h"
#include "manual/manual_arena.h"
#include "manual/tags.h"
#include "observe/hooks.h"
#include "observe/sampler.h"
#include "os/os.h"
#include "pages/huge.h"
#include "pages/metadata.h"
#include "pages/window.h"
#include "record/lanes.h"
#include "record/record.h"
#include "reclaim/background.h"
#include "reclaim/idle.h"
#include "reclaim/pressure.h"
#include "slab/labels.h"
#include "slab/unit_table.h"

namespace acre::fork {

namespace {

constinit Mutex g_turn{Rank::kFork};

void control_at_fork(ForkStage stage) ACRE_NO_THREAD_SAFETY_ANALYSIS { registry::control_lock.at_fork(stage); }
void source_at_fork(ForkStage stage) {
  if (Source* source = Source::automatic()) source->at_fork(stage);
}

// In the order of ranks. Modules leave their locks in the opposite order: what a later module goes over, such as the list of
// manual arenas, does not change before that.
constexpr void (*kModules[])(ForkStage) = {
    control_at_fork,         sampler::at_fork,    record::at_fork,   registry::at_fork,
    arenas::manual_at_fork,  sampled_runs::at_fork, arenas::at_fork, huge::at_fork,
    arenas::manual_sources_at_fork, source_at_fork, window::at_fork, unit_table::at_fork,
    metadata::at_fork,       record::lanes::at_fork, labels::at_fork, tags::at_fork,
    hooks::at_fork,          pressure::at_fork,
};
constexpr unsigned kCount = sizeof kModules / sizeof kModules[0];

ACRE_COLD void modules_at_fork(ForkStage stage) {
  const bool is_before = stage == ForkStage::kBefore;
  for (unsigned i = 0; i < kCount; ++i) kModules[is_before ? i : kCount - 1 - i](stage);
}

// The thread that has the list's lock also has g_turn. It leaves both for a thread that passes locks by, which cannot
// pass by the list's lock.
ACRE_COLD void prepare() {
  for (;;) {
    const unsigned attempt = Mutex::begin_attempt();
    g_turn.at_fork(ForkStage::kBefore);
    if (!Mutex::is_in_vain(attempt)) {
      os::lock_list_of_files();
      modules_at_fork(ForkStage::kBefore);
      if (!Mutex::is_in_vain(attempt)) break;
      modules_at_fork(ForkStage::kInParent);
      os::unlock_list_of_files();
    }
    g_turn.at_fork(ForkStage::kInParent);
  }
  Mutex::begin_fork();
}

ACRE_COLD void in_parent() {
  Mutex::end_fork();
  modules_at_fork(ForkStage::kInParent);
  os::unlock_list_of_files();
  g_turn.at_fork(ForkStage::kInParent);
  Mutex::end_attempt();
}

ACRE_COLD void in_child() {
  modules_at_fork(ForkStage::kInChild);
  background::after_fork_in_child();
  idle::after_fork_in_child();
  g_turn.at_fork(ForkStage::kInChild);
  Mutex::end_fork_in_child();
  os::forget_list_of_files();
}

// Leaves the locks that the thread may hold. Its heap may be in the middle of a change, so it goes on without the heap.
ACRE_COLD void before_abort() {
  if (Mutex::this_thread_forks()) Mutex::end_fork();
  modules_at_fork(ForkStage::kInParent);
  g_turn.at_fork(ForkStage::kInParent);
  Mutex::end_attempt();
  if (arenas::count() != 0) t_heap = const_cast<HotHeap*>(&kTerminatedHeap);
}

}  // namespace

void start() {
  g_before_abort = before_abort;
  pthread_atfork(prepare, in_parent, in_child);
}

}  // namespace acre::fork
