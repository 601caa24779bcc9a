#include "engine.h"

#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>

#include "accesses.h"
#include "fiber.h"
#include "memory.h"

namespace interleave {

alignas(64 << 10) char g_world[kWorldBytes + kUnseenBytes];

namespace {

constexpr size_t kMostSteps = 3000;  // of one interleaving

enum class Kind : uint8_t { kStart, kLoad, kStore, kRmw, kFence, kWait };

// The next visible step of a thread.
struct Step {
  Kind kind = Kind::kStart;
  uint16_t location = 0;
  bool writes = false;
  uint64_t unwanted = 0;  // kWait
};

// Sequentially consistent fences meet here.
constexpr uint16_t kFenceLocation = 0;

bool depend(const Step& a, const Step& b) {
  return a.kind != Kind::kStart && b.kind != Kind::kStart && a.location == b.location && (a.writes || b.writes);
}

struct Event {
  unsigned thread;
  Step step;
  int order;
  uintptr_t pc;
  uint64_t before, after;
  unsigned stale;  // how many newer stores a load passed over
};

// A state that was met on the way, and what is still to be tried from it.
struct Node {
  uint8_t enabled = 0, backtrack = 0, done = 0, sleeping = 0;  // sets of threads
  uint8_t chosen = 0, previous = 0;
  uint16_t choice = 0, choices = 1;  // which store a load returns
  unsigned preemptions = 0;          // before this
  Step next[kMostThreads];
};

constexpr uint8_t bit(unsigned thread) { return static_cast<uint8_t>(1u << thread); }

struct Thread {
  Fiber fiber;
  View view;
  View by_fence;      // what an acquire fence would make known
  View published;     // as of the last release fence
  bool fenced = false;
  bool done = false;
  Step next;
};

// For the reduction: the last accesses of a location, and what happened before them in every equivalent order.
struct Reached {
  size_t depth[kMostThreads] = {};  // of each thread the last step, plus 1, that comes before
  void join(const Reached& other) {
    for (unsigned t = 0; t < kMostThreads; ++t) depth[t] = depth[t] < other.depth[t] ? other.depth[t] : depth[t];
  }
};
struct Last {
  size_t write = 0;  // depth plus 1
  unsigned writer = 0;
  Reached at_write;
  size_t read[kMostThreads] = {};
  Reached at_read[kMostThreads];
};

class Engine {
 public:
  Result explore(const Scenario& scenario, const Options& options);

  uint64_t load(void* address, unsigned bytes, int order, uintptr_t pc);
  void store(void* address, unsigned bytes, uint64_t value, int order, uintptr_t pc);
  uint64_t change(void* address, unsigned bytes, int order, uintptr_t pc, uint64_t (*to)(uint64_t, uint64_t), uint64_t argument);
  bool compare_exchange(void* address, unsigned bytes, uint64_t& expected, uint64_t desired, int success, int failure,
                        uintptr_t pc);
  void fence(int order, uintptr_t pc);
  void wait_while(const void* address, unsigned bytes, uint64_t value);
  void access(const void* address, size_t bytes, bool write);
  [[noreturn]] void fail(const char* message);
  unsigned current() const { return current_; }
  void run_thread();
  void name(const void* address, const char* text) { names_[offset_of(address)] = text; }

 private:
  enum class End { kComplete, kRedundant, kFailed };

  static size_t offset_of(const void* address) {
    return static_cast<size_t>(static_cast<const char*>(address) - g_world);
  }
  static bool is_outside(const void* address) { return offset_of(address) >= kWorldBytes; }

  End run_once();
  bool go_back();
  void reset();
  void point(const Step& step);
  unsigned pick();
  uint8_t enabled_threads() const;
  void note_backtracking();
  void record(const Step& step, int order, uintptr_t pc, uint64_t before, uint64_t after, unsigned stale);
  int order_at(uintptr_t pc, int order, const char* kind);
  uint16_t location_of(void* address, unsigned bytes);
  void look_at_plain_store(uint16_t location);
  void check_race(size_t offset, unsigned bytes, bool write, bool atomic);
  void append(uint16_t location, uint64_t value, int order, const View* also);
  uint64_t newest(uint16_t location) const { return locations_[location].stores.back().value; }
  std::string describe(const Event& event) const;
  std::string name_of(size_t offset) const;
  Thread& me() { return threads_[current_]; }
  uint64_t read(void* address, unsigned bytes) const;

  const Scenario* scenario_ = nullptr;
  const Options* options_ = nullptr;
  Result result_;
  std::vector<Node> path_;      // as it is to be followed, then extended
  std::vector<Event> events_;
  size_t depth_ = 0;
  uint8_t sleeping_ = 0;
  unsigned current_ = kMain;
  unsigned previous_ = 0;
  Thread threads_[kThreads];
  Reached reached_[kMostThreads];
  std::vector<Last> last_;
  std::vector<Location> locations_;
  std::vector<Byte> bytes_ = std::vector<Byte>(kWorldBytes);
  std::vector<uint32_t> touched_;  // pieces of the world and of bytes_ that are to be cleared
  std::vector<bool> is_touched_ = std::vector<bool>(kWorldBytes / 64);
  View of_fences_;
  End end_ = End::kComplete;
  std::jmp_buf at_main_;
  std::map<size_t, std::string> names_;
};

Engine g_engine;

// --- Memory ------------------------------------------------------------------------------------------------------

uint64_t Engine::read(void* address, unsigned bytes) const {
  uint64_t value = 0;
  std::memcpy(&value, address, bytes);
  return value;
}

uint16_t Engine::location_of(void* address, unsigned bytes) {
  const size_t offset = offset_of(address);
  Byte& first = bytes_[offset];
  is_touched_[offset / 64] || (touched_.push_back(static_cast<uint32_t>(offset / 64)), true);
  is_touched_[offset / 64] = true;
  if (first.location != 0) {
    look_at_plain_store(static_cast<uint16_t>(first.location - 1));
    return static_cast<uint16_t>(first.location - 1);
  }
  if (locations_.size() == kMostLocations) fail("more atomic objects than the engine has room for");
  const auto location = static_cast<uint16_t>(locations_.size());
  first.location = static_cast<uint16_t>(location + 1);
  first.written_plainly = false;
  locations_.push_back({offset, bytes, {}});
  last_.emplace_back();
  // What it holds now was stored plainly, by whoever the race checks have let.
  View known;
  locations_.back().stores.push_back({read(address, bytes), kMain, known});
  return location;
}

// The object was written without an atomic operation since: its value now is one more store.
void Engine::look_at_plain_store(uint16_t location) {
  Location& at = locations_[location];
  if (!bytes_[at.offset].written_plainly) return;
  bytes_[at.offset].written_plainly = false;
  const uint64_t value = read(g_world + at.offset, at.bytes);
  at.stores.push_back({value, current_, View{}});
  // No race: whoever comes here has been told of that store, and cannot see an older one.
  for (Thread& thread : threads_) {
    bool knows = true;
    for (unsigned t = 0; t < kThreads; ++t) knows &= bytes_[at.offset].plain_write[t] <= thread.view.clock[t];
    if (knows) thread.view.seen[location] = static_cast<uint16_t>(at.stores.size() - 1);
  }
}

void Engine::check_race(size_t offset, unsigned bytes, bool write, bool atomic) {
  const View& view = me().view;
  for (size_t i = offset; i < offset + bytes; ++i) {
    if (!is_touched_[i / 64]) {
      is_touched_[i / 64] = true;
      touched_.push_back(static_cast<uint32_t>(i / 64));
    }
    Byte& byte = bytes_[i];
    for (unsigned t = 0; t < kThreads; ++t) {
      if (t == current_) continue;
      const bool with_write = byte.plain_write[t] > view.clock[t] || (!atomic && byte.atomic_write[t] > view.clock[t]);
      const bool with_read =
          write && (byte.plain_read[t] > view.clock[t] || (!atomic && byte.atomic_read[t] > view.clock[t]));
      if (!with_write && !with_read) continue;
      std::string text = "data race on " + name_of(i) + ": " + (atomic ? "an atomic " : "a plain ") +
                         (write ? "write" : "read") + " by thread " + std::to_string(current_) + ", and a " +
                         (with_write ? "write" : "read") + " by thread " + std::to_string(t);
      fail(text.c_str());
    }
    Clock* clocks = atomic ? (write ? byte.atomic_write : byte.atomic_read) : (write ? byte.plain_write : byte.plain_read);
    clocks[current_] = view.clock[current_];
    if (!atomic && write && byte.location != 0) byte.written_plainly = true;
  }
}

void Engine::access(const void* address, size_t bytes, bool write) {
  if (is_outside(address)) return;
  check_race(offset_of(address), static_cast<unsigned>(bytes), write, false);
}

bool acquires(int order) { return order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE; }
bool releases(int order) { return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST; }

void Engine::append(uint16_t location, uint64_t value, int order, const View* also) {
  Thread& thread = me();
  Location& at = locations_[location];
  thread.view.seen[location] = static_cast<uint16_t>(at.stores.size());
  View known;
  if (releases(order)) {
    known = thread.view;
  } else if (thread.fenced) {
    known = thread.published;
  }
  if (also != nullptr) known.join(*also, kMostLocations);  // a release sequence goes on
  known.seen[location] = static_cast<uint16_t>(at.stores.size());
  at.stores.push_back({value, current_, known});
  std::memcpy(g_world + at.offset, &value, at.bytes);
}

int Engine::order_at(uintptr_t pc, int order, const char* kind) {
  if (order == __ATOMIC_RELAXED) return order;
  static const char* const kOrders[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
  if (current_ != kMain) result_.sites.insert({pc, kind, kOrders[order]});
  if (!options_->weakened.contains(pc)) return order;
  if (options_->weaker == "acquire") return __ATOMIC_ACQUIRE;
  if (options_->weaker == "release") return __ATOMIC_RELEASE;
  return __ATOMIC_RELAXED;
}

uint64_t Engine::load(void* address, unsigned bytes, int order, uintptr_t pc) {
  if (is_outside(address)) return read(address, bytes);
  const Step step{Kind::kLoad, location_of(address, bytes), false, 0};
  point(step);
  order = order_at(pc, order, "load");
  look_at_plain_store(step.location);
  check_race(offset_of(address), bytes, false, true);
  Thread& thread = me();
  Location& at = locations_[step.location];
  const size_t last = at.stores.size() - 1;
  unsigned stale = 0;
  if (current_ != kMain) {
    Node& node = path_[depth_ - 1];
    node.choices = static_cast<uint16_t>(last - thread.view.seen[step.location] + 1);
    stale = node.choice;
  }
  const Store& seen = at.stores[last - stale];
  const uint64_t value = seen.value;
  thread.view.seen[step.location] = static_cast<uint16_t>(last - stale);
  (acquires(order) ? thread.view : thread.by_fence).join(seen.view, kMostLocations);
  record(step, order, pc, value, value, stale);
  return value;
}

void Engine::store(void* address, unsigned bytes, uint64_t value, int order, uintptr_t pc) {
  if (is_outside(address)) {
    std::memcpy(address, &value, bytes);
    return;
  }
  const Step step{Kind::kStore, location_of(address, bytes), true, 0};
  point(step);
  order = order_at(pc, order, "store");
  look_at_plain_store(step.location);
  check_race(offset_of(address), bytes, true, true);
  const uint64_t before = newest(step.location);
  append(step.location, value, order, nullptr);
  record(step, order, pc, before, value, 0);
}

uint64_t Engine::change(void* address, unsigned bytes, int order, uintptr_t pc, uint64_t (*to)(uint64_t, uint64_t),
                        uint64_t argument) {
  if (is_outside(address)) {
    const uint64_t before = read(address, bytes);
    const uint64_t after = to(before, argument);
    std::memcpy(address, &after, bytes);
    return before;
  }
  const Step step{Kind::kRmw, location_of(address, bytes), true, 0};
  point(step);
  order = order_at(pc, order, "rmw");
  look_at_plain_store(step.location);
  check_race(offset_of(address), bytes, true, true);
  const Store before = locations_[step.location].stores.back();
  (acquires(order) ? me().view : me().by_fence).join(before.view, kMostLocations);
  uint64_t after = to(before.value, argument);
  if (bytes < 8) after &= (uint64_t{1} << bytes * 8) - 1;
  append(step.location, after, order, &before.view);
  record(step, order, pc, before.value, after, 0);
  return before.value;
}

bool Engine::compare_exchange(void* address, unsigned bytes, uint64_t& expected, uint64_t desired, int success,
                              int failure, uintptr_t pc) {
  if (is_outside(address)) {
    const uint64_t now = read(address, bytes);
    if (now == expected) {
      std::memcpy(address, &desired, bytes);
      return true;
    }
    expected = now;
    return false;
  }
  const Step step{Kind::kRmw, location_of(address, bytes), true, 0};
  point(step);
  success = order_at(pc, success, "rmw");
  look_at_plain_store(step.location);
  Location& at = locations_[step.location];
  const Store before = at.stores.back();
  Thread& thread = me();
  if (before.value == expected) {
    check_race(offset_of(address), bytes, true, true);
    (acquires(success) ? thread.view : thread.by_fence).join(before.view, kMostLocations);
    append(step.location, desired, success, &before.view);
    record(step, success, pc, expected, desired, 0);
    return true;
  }
  // What a failing one returns may be an older store; another try with that fails, too. The newest is as good.
  if (options_->weakened.contains(pc)) failure = __ATOMIC_RELAXED;
  check_race(offset_of(address), bytes, false, true);
  thread.view.seen[step.location] = static_cast<uint16_t>(at.stores.size() - 1);
  (acquires(failure) ? thread.view : thread.by_fence).join(before.view, kMostLocations);
  expected = before.value;
  record(step, failure, pc, before.value, before.value, 0);
  return false;
}

void Engine::fence(int order, uintptr_t pc) {
  if (order == __ATOMIC_SEQ_CST) point({Kind::kFence, kFenceLocation, true, 0});
  order = order_at(pc, order, "fence");
  Thread& thread = me();
  if (acquires(order)) thread.view.join(thread.by_fence, kMostLocations);
  if (order == __ATOMIC_SEQ_CST) {
    thread.view.join(of_fences_, kMostLocations);
    of_fences_.join(thread.view, kMostLocations);
    record({Kind::kFence, kFenceLocation, true, 0}, order, pc, 0, 0, 0);
  }
  if (releases(order)) {
    thread.published = thread.view;
    thread.fenced = true;
  }
}

void Engine::wait_while(const void* address, unsigned bytes, uint64_t value) {
  point({Kind::kWait, location_of(const_cast<void*>(address), bytes), false, value});
  record(path_[depth_ - 1].next[current_], __ATOMIC_RELAXED, 0, value, value, 0);
}

// --- Scheduling ---------------------------------------------------------------------------------------------------

uint8_t Engine::enabled_threads() const {
  uint8_t enabled = 0;
  for (unsigned t = 0; t < scenario_->threads; ++t) {
    const Thread& thread = threads_[t];
    if (thread.done) continue;
    if (thread.next.kind == Kind::kWait && newest(thread.next.location) == thread.next.unwanted) continue;
    enabled |= bit(t);
  }
  return enabled;
}

// Where a step that a thread is about to do, and an earlier one of another thread, could have come in the other order.
void Engine::note_backtracking() {
  for (unsigned t = 0; t < scenario_->threads; ++t) {
    const Step& next = threads_[t].next;
    if (threads_[t].done || next.kind == Kind::kStart) continue;
    const Last& last = last_[next.location];
    size_t latest = 0;
    const auto consider = [&](size_t at, unsigned thread) {
      if (at != 0 && thread != t && at > reached_[t].depth[thread] && at > latest) latest = at;
    };
    consider(last.write, last.writer);
    if (next.writes) {
      for (unsigned u = 0; u < scenario_->threads; ++u) consider(last.read[u], u);
    }
    if (latest == 0) continue;
    Node& node = path_[latest - 1];
    node.backtrack |= (node.enabled & bit(t)) != 0 ? bit(t) : node.enabled;
  }
}

// Who does the next step. kMain: nobody.
unsigned Engine::pick() {
  const uint8_t enabled = enabled_threads();
  if (depth_ == path_.size()) {
    note_backtracking();
    if (enabled == 0) {
      for (unsigned t = 0; t < scenario_->threads; ++t) {
        if (!threads_[t].done) fail("threads wait for each other");
      }
      end_ = End::kComplete;
      return kMain;
    }
    if (depth_ == kMostSteps) fail("does not end");
    const uint8_t awake = enabled & static_cast<uint8_t>(~sleeping_);
    if (awake == 0) {
      end_ = End::kRedundant;
      return kMain;
    }
    Node node;
    node.enabled = enabled;
    node.sleeping = sleeping_;
    node.previous = static_cast<uint8_t>(previous_);
    node.chosen = static_cast<uint8_t>((awake & bit(previous_)) != 0 ? previous_
                                                                     : static_cast<unsigned>(__builtin_ctz(awake)));
    node.backtrack = bit(node.chosen);
    for (unsigned t = 0; t < scenario_->threads; ++t) node.next[t] = threads_[t].next;
    if (depth_ != 0) {
      const Node& before = path_.back();
      const bool preempted = before.chosen != before.previous && (before.enabled & bit(before.previous)) != 0;
      node.preemptions = before.preemptions + preempted;
    }
    path_.push_back(node);
  } else if (enabled == 0) {
    end_ = End::kComplete;
    return kMain;
  }
  const Node& node = path_[depth_++];
  const Step& step = node.next[node.chosen];
  sleeping_ = 0;
  for (unsigned t = 0; t < scenario_->threads; ++t) {
    if (t != node.chosen && ((node.sleeping | node.done) & bit(t)) != 0 && !depend(node.next[t], step)) sleeping_ |= bit(t);
  }
  previous_ = node.chosen;
  return node.chosen;
}

void Engine::point(const Step& step) {
  if (current_ == kMain) return;
  const unsigned mine = current_;
  threads_[mine].next = step;
  const unsigned next = pick();
  if (next == mine) return;
  current_ = next;
  Fiber::change(threads_[mine].fiber, threads_[next].fiber);
}

void Engine::record(const Step& step, int order, uintptr_t pc, uint64_t before, uint64_t after, unsigned stale) {
  Thread& thread = me();
  ++thread.view.clock[current_];
  if (current_ == kMain) return;
  ++result_.steps;
  events_.push_back({current_, step, order, pc, before, after, stale});
  Last& last = last_[step.location];
  Reached& mine = reached_[current_];
  mine.join(last.at_write);
  if (step.writes) {
    for (unsigned t = 0; t < scenario_->threads; ++t) mine.join(last.at_read[t]);
  }
  mine.depth[current_] = depth_;
  if (step.writes) {
    last.write = depth_;
    last.writer = current_;
    last.at_write = mine;
  } else {
    last.read[current_] = depth_;
    last.at_read[current_] = mine;
  }
}

void Engine::run_thread() {
  const unsigned mine = current_;
  // The first step is known once the thread has come to it.
  scenario_->run(mine);
  threads_[mine].done = true;
  const unsigned next = pick();
  current_ = next;
  Fiber::change(threads_[mine].fiber, threads_[next].fiber);
  std::abort();
}

void start_of_thread() { g_engine.run_thread(); }

void Engine::reset() {
  for (const uint32_t piece : touched_) {
    std::memset(g_world + size_t{piece} * 64, 0, 64);
    for (size_t i = 0; i < 64; ++i) bytes_[piece * size_t{64} + i] = Byte{};
    is_touched_[piece] = false;
  }
  touched_.clear();
  locations_.clear();
  last_.clear();
  locations_.push_back({kWorldBytes, 0, {}});  // of fences
  last_.emplace_back();
  for (Thread& thread : threads_) {
    thread.view = thread.by_fence = thread.published = View{};
    thread.fenced = thread.done = false;
    thread.next = Step{};
  }
  for (Reached& reached : reached_) reached = Reached{};
  of_fences_ = View{};
  events_.clear();
  depth_ = 0;
  sleeping_ = 0;
  current_ = kMain;
  previous_ = 0;
  threads_[kMain].view.clock[kMain] = 1;
}

Engine::End Engine::run_once() {
  reset();
  if (setjmp(at_main_) != 0) return End::kFailed;
  scenario_->set_up();
  View begin = threads_[kMain].view;
  for (size_t i = 1; i < locations_.size(); ++i) {
    begin.seen[i] = static_cast<uint16_t>(locations_[i].stores.size() - 1);
  }
  threads_[kMain].view = begin;
  ++threads_[kMain].view.clock[kMain];
  for (unsigned t = 0; t < scenario_->threads; ++t) {
    threads_[t].view = begin;
    threads_[t].view.clock[t] = 1;
    threads_[t].fiber.begin(start_of_thread);
  }
  end_ = End::kComplete;
  current_ = pick();
  Fiber::change(threads_[kMain].fiber, threads_[current_].fiber);
  current_ = kMain;
  if (end_ != End::kComplete) return end_;
  for (unsigned t = 0; t < scenario_->threads; ++t) threads_[kMain].view.join(threads_[t].view, kMostLocations);
  for (size_t i = 1; i < locations_.size(); ++i) {
    threads_[kMain].view.seen[i] = static_cast<uint16_t>(locations_[i].stores.size() - 1);
  }
  if (scenario_->finish) scenario_->finish();
  return End::kComplete;
}

// To the last state from which something is left to be tried.
bool Engine::go_back() {
  while (!path_.empty()) {
    Node& node = path_.back();
    if (node.choice + 1 < node.choices) {
      ++node.choice;
      return true;
    }
    node.done |= bit(node.chosen);
    node.choice = 0;
    node.choices = 1;
    for (unsigned t = 0; t < scenario_->threads; ++t) {
      if ((node.backtrack & node.enabled & bit(t)) == 0 || ((node.done | node.sleeping) & bit(t)) != 0) continue;
      const bool preempts = t != node.previous && (node.enabled & bit(node.previous)) != 0;
      if (node.preemptions + preempts > options_->most_preemptions) continue;
      node.chosen = static_cast<uint8_t>(t);
      return true;
    }
    path_.pop_back();
  }
  return false;
}

Result Engine::explore(const Scenario& scenario, const Options& options) {
  scenario_ = &scenario;
  options_ = &options;
  result_ = Result{};
  path_.clear();
  do {
    ++result_.executions;
    const End end = run_once();
    result_.deepest = result_.deepest < depth_ ? depth_ : result_.deepest;
    if (end == End::kFailed) break;
  } while (go_back() && result_.executions < options.most_executions);
  return result_;
}

// --- Failures -----------------------------------------------------------------------------------------------------

std::string Engine::name_of(size_t offset) const {
  auto at = names_.upper_bound(offset);
  char text[64];
  if (at == names_.begin()) {
    std::snprintf(text, sizeof text, "world+%zu", offset);
    return text;
  }
  --at;
  if (at->first == offset) return at->second;
  std::snprintf(text, sizeof text, "+%zu", offset - at->first);
  return at->second + text;
}

std::string Engine::describe(const Event& event) const {
  static const char* const kKinds[] = {"start", "load", "store", "change", "fence", "wait"};
  static const char* const kOrders[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
  char text[256];
  std::snprintf(text, sizeof text, "  thread %u  %-6s %-8s %s  ", event.thread, kKinds[static_cast<int>(event.step.kind)],
                kOrders[event.order], name_of(locations_[event.step.location].offset).c_str());
  std::string line = text;
  if (event.before == event.after) {
    std::snprintf(text, sizeof text, "= %#llx", static_cast<unsigned long long>(event.before));
  } else {
    std::snprintf(text, sizeof text, "%#llx -> %#llx", static_cast<unsigned long long>(event.before),
                  static_cast<unsigned long long>(event.after));
  }
  line += text;
  if (event.stale != 0) line += " (" + std::to_string(event.stale) + " newer stores not seen)";
  std::snprintf(text, sizeof text, "  at %#lx\n", static_cast<unsigned long>(event.pc));
  return line + text;
}

void Engine::fail(const char* message) {
  result_.failed = true;
  result_.message = message;
  if (current_ != kMain) result_.message += " (thread " + std::to_string(current_) + ")";
  if (options_->trace) {
    for (const Event& event : events_) result_.trace += describe(event);
  }
  std::longjmp(at_main_, 1);
}

}  // namespace

Result explore(const Scenario& scenario, const Options& options) { return g_engine.explore(scenario, options); }

void fail(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  g_engine.fail(text);
}

unsigned current() { return g_engine.current(); }
void wait_while(const void* address, unsigned bytes, uint64_t value) { g_engine.wait_while(address, bytes, value); }
void name(const void* address, const char* text) { g_engine.name(address, text); }

// accesses.h
uint64_t atomic_load(void* a, unsigned n, int order, uintptr_t pc) { return g_engine.load(a, n, order, pc); }
void atomic_store(void* a, unsigned n, uint64_t value, int order, uintptr_t pc) { g_engine.store(a, n, value, order, pc); }
uint64_t atomic_change(void* a, unsigned n, int order, uintptr_t pc, uint64_t (*to)(uint64_t, uint64_t), uint64_t argument) {
  return g_engine.change(a, n, order, pc, to, argument);
}
bool atomic_compare_exchange(void* a, unsigned n, uint64_t& expected, uint64_t desired, int success, int failure,
                             uintptr_t pc) {
  return g_engine.compare_exchange(a, n, expected, desired, success, failure, pc);
}
void atomic_fence(int order, uintptr_t pc) { g_engine.fence(order, pc); }
void plain_access(const void* a, size_t n, bool write) { g_engine.access(a, n, write); }

}  // namespace interleave
