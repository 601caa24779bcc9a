// The background thread, one for the process, if the option background_thread asks for it. While no other thread
// allocates, it lets dirty pages decay and reclaims from idle heaps (idle.h), so that an idle program shrinks, too.
//
// A tick makes it, that is, when some thread has allocated a little; also in the child of a fork, which does not have
// the thread. It sleeps without a time limit while no page has to be returned and no heap has changed for four looks;
// pages/wakeup.h wakes it. It allocates nothing and owns no heap. It ends when no thread has a heap any more, since a
// process lives as long as any of its threads.
#pragma once

#include "cache/heap.h"

namespace acre::background {

enum class State : uint8_t {
  kNone,     // not wanted, or not made yet
  kRunning,
  kRefused,  // the system gave no thread: a later tick tries again, and decay goes on with ticks
};
State state();

inline constexpr unsigned kMostThreads = kMostArenas;

// jemalloc's bound, of one thread for each arena. acre makes one thread, or none if the bound is 0, whatever the option
// says.
unsigned most_threads();
void set_most_threads(unsigned most);

// Called with no lock held after the option has changed: makes the thread, or ends it and waits for its end. Returns
// false if the system gave no thread: the option is then off again.
bool follow_option();

// Called with no lock held at the end of a tick. If the option is on, makes or wakes the thread; then calls the other
// listener (internal_thread.h).
void tell_of_tick(Heap& heap, uint64_t now_ms, bool in_free);

// How often the thread has looked after the memory so far, and the mean time from one time to the next (0: no second one).
uint64_t passes();
uint64_t ns_between_passes();

void after_fork_in_child();

}  // namespace acre::background
