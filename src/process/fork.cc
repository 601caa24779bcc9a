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
#include "reclaim/background.h"
#include "reclaim/idle.h"
#include "reclaim/pressure.h"
#include "slab/labels.h"
#include "slab/unit_table.h"

namespace acre::fork {

namespace {

constinit Mutex g_turn{Rank::kFork};

ACRE_COLD void take_locks() ACRE_NO_THREAD_SAFETY_ANALYSIS {
  registry::control_lock.before_fork();
  sampler::at_fork(sampler::ForkStage::kBefore);
  registry::before_fork();
  arenas::manual_before_fork();
  sampled_runs::before_fork();
  arenas::before_fork();
  huge::before_fork();
  arenas::manual_sources_before_fork();
  if (Source* source = Source::automatic()) source->before_fork();
  window::before_fork();
  unit_table::before_fork();
  metadata::before_fork();
  labels::before_fork();
  tags::before_fork();
  hooks::before_fork();
  pressure::before_fork();
}

ACRE_COLD void leave_locks() ACRE_NO_THREAD_SAFETY_ANALYSIS {
  pressure::after_fork_in_parent();
  hooks::after_fork_in_parent();
  tags::after_fork_in_parent();
  labels::after_fork_in_parent();
  metadata::after_fork_in_parent();
  unit_table::after_fork_in_parent();
  window::after_fork_in_parent();
  if (Source* source = Source::automatic()) source->after_fork_in_parent();
  huge::after_fork_in_parent();
  arenas::after_fork_in_parent();
  sampled_runs::after_fork_in_parent();
  arenas::manual_after_fork_in_parent();
  registry::after_fork_in_parent();
  sampler::at_fork(sampler::ForkStage::kInParent);
  registry::control_lock.after_fork_in_parent();
}

// Whoever has the list's lock has the turn, and gives both away to a thread that passes locks by: that one cannot pass
// the list's lock.
ACRE_COLD void prepare() {
  for (;;) {
    const unsigned attempt = Mutex::begin_attempt();
    g_turn.before_fork();
    if (!Mutex::is_in_vain(attempt)) {
      os::lock_list_of_files();
      take_locks();
      if (!Mutex::is_in_vain(attempt)) break;
      leave_locks();
      os::unlock_list_of_files();
    }
    g_turn.after_fork_in_parent();
  }
  Mutex::begin_fork();
}

ACRE_COLD void in_parent() {
  Mutex::end_fork();
  leave_locks();
  os::unlock_list_of_files();
  g_turn.after_fork_in_parent();
  Mutex::end_attempt();
}

ACRE_COLD void in_child() ACRE_NO_THREAD_SAFETY_ANALYSIS {
  hooks::after_fork_in_child();
  labels::after_fork_in_child();
  metadata::after_fork_in_child();
  unit_table::after_fork_in_child();
  window::after_fork_in_child();
  if (Source* source = Source::automatic()) source->after_fork_in_child();
  huge::after_fork_in_child();
  arenas::after_fork_in_child();
  sampled_runs::after_fork_in_child();
  arenas::manual_after_fork_in_child();
  background::after_fork_in_child();
  idle::after_fork_in_child();
  pressure::after_fork_in_child();
  tags::after_fork_in_child(registry::heap_of_thread());
  registry::after_fork_in_child();
  sampler::at_fork(sampler::ForkStage::kInChild);
  registry::control_lock.after_fork_in_child();
  g_turn.after_fork_in_child();
  Mutex::end_fork_in_child();
  os::forget_list_of_files();
}

// The thread may hold locks, and its heap may be in the middle of a change: it goes on without that heap.
ACRE_COLD void before_abort() {
  if (Mutex::this_thread_forks()) Mutex::end_fork();
  leave_locks();
  g_turn.after_fork_in_parent();
  Mutex::end_attempt();
  if (arenas::count() != 0) t_heap = const_cast<HotHeap*>(&kTerminatedHeap);
}

}  // namespace

void start() {
  g_before_abort = before_abort;
  pthread_atfork(prepare, in_parent, in_child);
}

}  // namespace acre::fork
