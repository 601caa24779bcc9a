#include "leaks/check.h"

#include <errno.h>
#include <unistd.h>

#include <atomic>

#include "cache/registry.h"
#include "cache/upcalls.h"
#include "leaks/before_main.h"
#include "manual/manual_arena.h"
#include "manual/tags.h"
#include "os/os.h"
#include "os/stop.h"
#include "pages/source.h"
#include "reclaim/pressure.h"

namespace acre::leaks {

namespace {

// This lock is held over a fork, so that the lists are whole in the child.
using registry::control_lock;

Address start_of(Address block) { return block; }
Address start_of(const Range& range) { return range.start; }

template <class T, size_t kMost>
struct List {
  T item[kMost];
  size_t count;

  bool add(const T& one) {
    if (count == kMost) return false;
    item[count++] = one;
    return true;
  }
  bool remove(Address start) {
    size_t i = 0;
    while (i < count && start_of(item[i]) != start) ++i;
    if (i == count) return false;
    item[i] = item[--count];
    item[count] = {};  // if acre is part of the program, this memory is searched for pointers
    return true;
  }
};
constinit List<Address, 4096> g_ignored ACRE_GUARDED_BY(control_lock) = {};
constinit List<Range, 256> g_left_out ACRE_GUARDED_BY(control_lock) = {};

constinit std::atomic<long> g_under_way{0};  // the process that checks; a child of fork may inherit its parent's number

struct Work {
  const Request& request;
  Finding& finding;
  Room scratch;
  int error = 0;
};

// If every block is sampled, one that is not is from before the sampler: the loader's or the C library's.
bool is_ignored(const Request& request, const profile::Origin& origin) {
  if (origin.stack == nullptr) {
    const bool all_sampled = profile::is_prepared() && profile::mean() == 0;
    return request.since != 0 || (request.mode == LeakMode::kDraconian && all_sampled);
  }
  if (origin.epoch == 0 || origin.epoch < request.since) return true;
  return request.mode == LeakMode::kMinimal && is_from_before_main(origin.stack);
}

// The stack pointer itself is a pointer, too: a stack may lie in a block.
void reach_from_threads(Graph& graph, const os::Threads& threads) {
  for (unsigned i = 0; i < threads.count; ++i) {
    const os::ThreadState& thread = threads.thread[i];
    for (size_t word = 0; word < thread.words; ++word) graph.reach_word(thread.word[word]);
    graph.reach_word(thread.stack_pointer);
    graph.reach_word(thread.control_block);
  }
}

void reach_ignored(Graph& graph, Blocks& blocks, const Request& request) {
  for (size_t i = 0; i < blocks.numbers(); ++i) {
    if (blocks.state(i) != State::kLive) continue;
    const Block block = blocks.at(i);
    if (is_ignored(request, profile::origin_of(block.ticket))) graph.reach_word(block.start);
  }
}

// What the program gave for its functions to be called with lies in acre's memory, which is not searched.
void reach_arguments(Graph& graph) {
  const auto reach = [](const void* argument, void* to) { static_cast<Graph*>(to)->reach_word(address_of(argument)); };
  tags::for_each_argument(reach, &graph);
  arenas::for_each_argument(reach, &graph);
  reach(Source::program_argument(), &graph);
  reach(pressure::argument(), &graph);
}

bool look(Work& work, const os::Threads& threads) ACRE_NO_THREAD_SAFETY_ANALYSIS {
  Blocks blocks;
  Memory memory;
  Graph graph(blocks, memory);
  if (!blocks.fill(work.scratch) || !graph.prepare(work.scratch)) return false;
  if (!memory.look(work.scratch, blocks, threads, g_left_out.item, g_left_out.count)) return false;
  for (size_t i = 0; i < g_ignored.count; ++i) graph.reach_word(g_ignored.item[i]);
  reach_ignored(graph, blocks, work.request);
  if (work.request.mode != LeakMode::kDraconian) {
    reach_from_threads(graph, threads);
    reach_arguments(graph);
    for (const Range& range : memory.roots) graph.reach_range(range.start, range.end);
    graph.find_roots();
    if (!fill::clears_sampled()) graph.count_doubtful(work.scratch, &work.finding.doubtful_blocks);
  } else {
    graph.take_all_as_roots();
  }
  if (!graph.sum_up(work.finding.room)) return false;
  work.finding.leaks = graph.leaks();
  work.finding.places = graph.places();
  work.finding.live_blocks = blocks.live_blocks();
  work.finding.live_bytes = blocks.live_bytes();
  return true;
}

void work_on(const os::Threads& threads, void* argument) {
  Work& work = *static_cast<Work*>(argument);
  work.finding.threads = threads.count;
  work.finding.running = threads.running;
  work.finding.refusal = threads.refusal;
  if (!look(work, threads)) work.error = EAGAIN;
}

void add_totals(Finding& finding) {
  for (size_t i = 0; i < finding.places; ++i) {
    finding.leaked_blocks += finding.leaks[i].blocks;
    finding.leaked_bytes += finding.leaks[i].bytes;
  }
}

}  // namespace

int check(const Request& request, Finding* finding) {
  const long process = getpid();
  if (g_under_way.exchange(process) == process) return EBUSY;
  Work work{request, *finding, {}};
  finding->mode = request.mode;
  const uint64_t before = os::wall_clock_ns();
  const os::Stopped stopped = os::with_threads_stopped(work_on, &work);
  finding->stopped_us = (os::wall_clock_ns() - before) / 1000;
  g_under_way.store(0);
  if (stopped != os::Stopped::kDone) return stopped == os::Stopped::kRefused ? EAGAIN : EFAULT;
  if (work.error == 0) add_totals(*finding);
  return work.error;
}

bool ignore_block(Address a) {
  Lock lock(control_lock);
  return g_ignored.add(a);
}

bool heed_block(Address a) {
  Lock lock(control_lock);
  return g_ignored.remove(a);
}

bool leave_out(Address start, size_t bytes) {
  Lock lock(control_lock);
  return g_left_out.add({start, start + bytes});
}

bool take_in(Address start) {
  Lock lock(control_lock);
  return g_left_out.remove(start);
}

}  // namespace acre::leaks
