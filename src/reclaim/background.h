// The background thread: one for the process, if the option background_thread asks for it. It lets dirty pages decay
// and visits idle heaps (idle.h) while no other thread allocates, so that an idle program's memory goes down too.
//
// It is made on a tick, that is, when some thread has allocated a little; in the child of a fork, which has no such
// thread, again on a tick there. It sleeps without a time limit while no page has to be returned and no heap has
// changed for four looks, and is woken through pages/wakeup.h. It allocates nothing and owns no heap. When no
// thread has a heap any more it ends, since a process lives as long as any of its threads.
#pragma once

#include "cache/heap.h"

namespace acre::background {

enum class State : uint8_t {
  kNone,     // not asked for, or not made yet
  kRunning,
  kRefused,  // the system gave no thread; tried again by and by. Decay goes on with ticks
};
State state();

inline constexpr unsigned kMostThreads = kMostArenas;

// A bound, as jemalloc has one, where each arena may have a thread. acre makes one, or for a bound of 0 none, whatever
// the option says.
unsigned most_threads();
void set_most_threads(unsigned most);

// After a change of the option, with no lock held: makes the thread, or ends it and waits for its end. False: the
// system gave no thread, and the option is off again.
bool follow_option();

// At the end of a tick, with no lock held: makes the thread or rings for it, if the option is on, and tells others who
// want to know (internal_thread.h).
void tell_of_tick(Heap& heap, uint64_t now_ms);

void after_fork_in_child();

}  // namespace acre::background
