// Whether the engine shows what C++ allows, and nothing else: the usual small tests of memory models.
#include <atomic>
#include <cstdio>
#include <set>
#include <string>

#include "engine.h"

using namespace interleave;

namespace {

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

struct World {
  std::atomic<uint32_t> x, y;
  uint32_t data;
};
World& world() { return *reinterpret_cast<World*>(g_world); }

unsigned g_read[kMostThreads];
std::set<std::string> g_outcomes;
int g_failed = 0;

void keep_outcome(unsigned reads) {
  std::string outcome;
  for (unsigned i = 0; i < reads; ++i) outcome += std::to_string(g_read[i]);
  g_outcomes.insert(outcome);
}

void judge(const char* name, bool right, const std::string& seen) {
  std::printf("%-48s %s%s\n", name, right ? "ok" : "WRONG: ", right ? "" : seen.c_str());
  g_failed += !right;
}

// The outcomes are these, no more and no fewer.
void expect(const char* name, unsigned threads, unsigned reads, std::function<void(unsigned)> run,
            const std::set<std::string>& outcomes) {
  g_outcomes.clear();
  const Result result = explore({name, "", threads, [] {}, std::move(run), [reads] { keep_outcome(reads); }}, {});
  std::string seen = result.message;
  for (const std::string& outcome : g_outcomes) seen += " " + outcome;
  judge(name, !result.failed && g_outcomes == outcomes, seen);
}

// The search ends with a failure whose message has this in it; null: without one.
void expect_failure(const char* name, unsigned threads, std::function<void(unsigned)> run, const char* message,
                    std::function<void()> finish = nullptr) {
  const Result result = explore({name, "", threads, [] {}, std::move(run), std::move(finish)}, {});
  const bool right = message == nullptr ? !result.failed : result.message.find(message) != std::string::npos;
  judge(name, right, result.failed ? result.message : "nothing was found");
}

void store_buffering() {
  expect("store buffering, relaxed", 2, 2,
         [](unsigned t) {
           (t == 0 ? world().x : world().y).store(1, relaxed);
           g_read[t] = (t == 0 ? world().y : world().x).load(relaxed);
         },
         {"00", "01", "10", "11"});
  expect("store buffering, fences", 2, 2,
         [](unsigned t) {
           (t == 0 ? world().x : world().y).store(1, relaxed);
           std::atomic_thread_fence(std::memory_order_seq_cst);
           g_read[t] = (t == 0 ? world().y : world().x).load(relaxed);
         },
         {"01", "10", "11"});
}

void message_passing() {
  const auto pass = [](std::memory_order by) {
    return [by](unsigned t) {
      if (t == 0) {
        world().x.store(1, relaxed);
        world().y.store(1, by);
      } else {
        g_read[0] = world().y.load(acquire);
        g_read[1] = world().x.load(relaxed);
      }
    };
  };
  expect("message passing, release and acquire", 2, 2, pass(release), {"00", "01", "11"});
  expect("message passing, relaxed", 2, 2, pass(relaxed), {"00", "01", "10", "11"});
  expect("message passing by fences", 2, 2,
         [](unsigned t) {
           if (t == 0) {
             world().x.store(1, relaxed);
             std::atomic_thread_fence(release);
             world().y.store(1, relaxed);
           } else {
             g_read[0] = world().y.load(relaxed);
             std::atomic_thread_fence(acquire);
             g_read[1] = world().x.load(relaxed);
           }
         },
         {"00", "01", "11"});
  const auto pass_data = [](std::memory_order by) {
    return [by](unsigned t) {
      if (t == 0) {
        world().data = 7;
        world().y.store(1, by);
      } else if (world().y.load(acquire) == 1 && world().data != 7) {
        fail("stale data");
      }
    };
  };
  expect_failure("plain data behind a release", 2, pass_data(release), nullptr);
  expect_failure("plain data behind a relaxed store", 2, pass_data(relaxed), "data race");
}

void coherence() {
  expect("two reads of one object", 2, 2,
         [](unsigned t) {
           if (t == 0) {
             world().x.store(1, relaxed);
           } else {
             g_read[0] = world().x.load(relaxed);
             g_read[1] = world().x.load(relaxed);
           }
         },
         {"00", "01", "11"});
  std::set<std::string> all;
  for (int i = 0; i < 16; ++i) {
    std::string outcome;
    for (int bit = 3; bit >= 0; --bit) outcome += i >> bit & 1 ? '1' : '0';
    all.insert(outcome);
  }
  expect("independent reads of independent writes", 4, 4,
         [](unsigned t) {
           if (t == 0) world().x.store(1, release);
           if (t == 1) world().y.store(1, release);
           if (t < 2) return;
           g_read[t == 2 ? 0 : 2] = (t == 2 ? world().x : world().y).load(acquire);
           g_read[t == 2 ? 1 : 3] = (t == 2 ? world().y : world().x).load(acquire);
         },
         all);
}

void read_modify_write() {
  expect("three additions", 3, 3, [](unsigned t) { g_read[t] = world().x.fetch_add(1, relaxed); },
         {"012", "021", "102", "120", "201", "210"});
  expect_failure("an update that is lost", 2,
                 [](unsigned) { world().x.store(world().x.load(relaxed) + 1, relaxed); }, "lost",
                 [] {
                   if (world().x.load() != 2) fail("lost");
                 });
  expect_failure("a release sequence goes on through an addition", 3,
                 [](unsigned t) {
                   if (t == 0) {
                     world().data = 7;
                     world().y.store(1, release);
                   } else if (t == 1) {
                     world().y.fetch_add(1, relaxed);
                   } else if (world().y.load(acquire) == 2 && world().data != 7) {
                     fail("stale data");
                   }
                 },
                 nullptr);
}

void waiting() {
  expect_failure("two threads wait for each other", 2,
                 [](unsigned t) { wait_while(t == 0 ? &world().x : &world().y, 4, 0); },
                 "wait for each other");
  expect_failure("a thread waits for another", 2,
                 [](unsigned t) {
                   if (t == 0) {
                     wait_while(&world().x, 4, 0);
                   } else {
                     world().x.store(1, relaxed);
                   }
                 },
                 nullptr);
}

}  // namespace

int main() {
  store_buffering();
  message_passing();
  coherence();
  read_modify_write();
  waiting();
  return g_failed == 0 ? 0 : 1;
}
