// What the heap tells a thread of acre's own that stands above it: the one that answers at the socket (live/socket.h).
// Null while nobody wants to know, as in most processes.
#pragma once

#include <atomic>

#include "heap/heap.h"

namespace acre::attendant {

// On each tick, with no lock held. It may allocate; a private list of the heap must not have grown when it returns.
inline constinit std::atomic<void (*)(Heap& heap)> g_on_tick{nullptr};

// The last thread with a heap ends, in this thread, which may wait.
inline constinit std::atomic<void (*)()> g_on_last_thread{nullptr};

}  // namespace acre::attendant
