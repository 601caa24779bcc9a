// slab/transitions: random steps of several holders against a model; then threads that stress a few runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>

#include "base/atomics.h"
#include "slab/purge.h"
#include "slab/reclaim.h"
#include "slab_support.h"

namespace acre {
namespace {

constexpr unsigned kOwners = 3;
Owner owner_at(unsigned index) { return {0x100 + index * 0x10, 0x1000 + index * 0x10}; }

// One class, several owners that each have a few runs; blocks are freed by anyone.
class FuzzedSlab {
 public:
  FuzzedSlab(uint64_t seed, SizeClass c, Arena& arena = test::new_arena()) : random_(seed), c_(c), arena_(arena) {}

  void step() {
    switch (random_.below(14)) {
      case 0: acquire(); break;
      case 1: case 2: with_owned(&FuzzedSlab::allocate); break;
      case 3: with_owned(&FuzzedSlab::defer); break;
      case 4: with_owned(&FuzzedSlab::collect); break;
      case 5: with_owned(&FuzzedSlab::release); break;
      case 6: adopt(); break;
      case 7: with_owned(&FuzzedSlab::share); break;
      case 8: with_shared(&FuzzedSlab::free_late); break;
      case 9: with_shared(&FuzzedSlab::unshare); break;
      case 10: take_blocks(); break;
      case 11: inherit(); break;
      case 12: purge(); break;
      default: free_remotely(); break;
    }
    check();
  }

  void finish() {
    while (!runs_.empty()) {
      auto at = runs_.begin();
      std::vector<void*> blocks = std::move(at->second.out);
      Slab* slab = at->first;
      bool owned = at->second.owner != kNoThread;
      if (at->second.hostages != 0) slab::unshare(slab);
      runs_.erase(at);
      if (owned) {
        for (void* block : blocks) slab::defer(slab, block);
        slab::release(slab);
      } else {
        test::give_back(slab, blocks);
      }
    }
    EXPECT_EQ(arena_.pages.counts().used, 0u) << "pages were lost";
    EXPECT_EQ(arena_.bin(c_).count(), 0u);
    EXPECT_TRUE(test::pages_add_up(arena_.pages.counts()));
  }

 private:
  struct Known {
    ThreadToken owner;
    OwnerName last_owner;
    std::vector<void*> out;
    uint32_t hostages = 0;  // of a shared run: blocks that its former owner has on the deferred list
  };

  void acquire() {
    if (runs_.size() >= 12) return;
    const Owner me = owner_at(static_cast<unsigned>(random_.below(kOwners)));
    Slab* lowest = lowest_binned();
    const Bin::Taken taken = arena_.bin(c_).take(me, 1 + static_cast<uint32_t>(random_.below(10)));
    if (lowest != nullptr && runs_[lowest].hostages != 0) return expect_taken(lowest, taken.blocks);
    ASSERT_EQ(taken.run, lowest);
    Slab* slab = taken.run;
    if (slab == nullptr) {
      slab = test::make_slab(arena_, c_, me);
      ASSERT_NE(slab, nullptr);
      ASSERT_FALSE(runs_.contains(slab)) << "the same run twice";
      runs_[slab] = {me.token, me.name, {}};
    }
    own(runs_[slab], me);
  }

  static void own(Known& known, Owner me) {
    known.owner = me.token;
    known.last_owner = me.name;
  }

  void take_blocks() {
    Slab* lowest = lowest_binned();
    const BlockList blocks = arena_.bin(c_).take_blocks(1 + static_cast<uint32_t>(random_.below(10)));
    if (lowest != nullptr) return expect_taken(lowest, blocks);
    ASSERT_EQ(blocks.count, 0u);
  }

  // Live blocks keep what the test has written, and the run's accounts are checked as ever.
  void purge() {
    for (auto& [slab, known] : runs_) {
      if (!is_binned(state(slab)) || random_.one_in(2)) continue;
      if (arena_.bin(c_).take_quiet(slab, kNever) != Bin::Quiet::kTaken) return;
      slab::purge(slab);
      ASSERT_FALSE(arena_.bin(c_).offer(slab));
      for (const void* block : known.out) ASSERT_FALSE(slab::is_uncut(slab, block));
      return;
    }
  }

  Slab* lowest_binned() {
    Slab* lowest = nullptr;
    for (auto& [slab, known] : runs_) {
      if (is_binned(state(slab)) && (lowest == nullptr || slab->base < lowest->base)) lowest = slab;
    }
    return lowest;
  }

  void expect_taken(Slab* slab, const BlockList& taken) {
    ASSERT_NE(taken.count, 0u);
    const std::vector<void*> blocks = test::blocks_of(slab, taken.head);
    ASSERT_EQ(blocks.size(), taken.count);
    take_out(runs_[slab], blocks);
  }

  void with_shared(void (FuzzedSlab::*act)(Slab*, Known&)) {
    for (auto& [slab, known] : runs_) {
      if (known.hostages != 0 && random_.one_in(3)) return (this->*act)(slab, known);
    }
  }

  void share(Slab* slab, Known& known) {
    if (known.out.empty() || slab->deferred == nullptr) return;
    const uint32_t deferred = slab::deferred_count(slab);
    EXPECT_EQ(slab::share(slab, slab::find_hostage(slab)), deferred - 1) << "all but the hostage";
    known.owner = kNoThread;
    known.hostages = 1;
  }

  void free_late(Slab* slab, Known& known) {
    if (known.out.empty()) return;
    slab::defer(slab, known.out.back());
    known.out.pop_back();
    ++known.hostages;
  }

  void unshare(Slab* slab, Known& known) {
    const bool gone = known.out.empty();
    EXPECT_EQ(slab::unshare(slab), known.hostages);
    known.hostages = 0;
    if (gone) runs_.erase(slab);
  }

  void with_owned(void (FuzzedSlab::*act)(Slab*, Known&)) {
    for (auto& [slab, known] : runs_) {
      if (known.owner != kNoThread && random_.one_in(3)) return (this->*act)(slab, known);
    }
  }

  void allocate(Slab* slab, Known& known) {
    const uint32_t uncarved = slab->capacity - slab->carved;
    Link* list = slab::take_deferred(slab);
    if (uncarved != 0) list = slab::carve(slab, static_cast<uint32_t>(random_.between(1, uncarved)), list);
    take_out(known, test::blocks_of(slab, list));
  }

  static uint64_t stamp_of(const void* block) { return address_of(block) >> 3; }  // no mark, since its high half is small
  static void take_out(Known& known, const std::vector<void*>& blocks) {
    for (void* block : blocks) *static_cast<uint64_t*>(block) = stamp_of(block);
    known.out.insert(known.out.end(), blocks.begin(), blocks.end());
  }

  std::vector<void*> take_some(std::vector<void*>& blocks) {
    for (size_t i = blocks.size(); i > 1; --i) std::swap(blocks[i - 1], blocks[random_.below(i)]);
    const size_t count = random_.one_in(4) ? blocks.size() : random_.below(blocks.size() + 1);
    return test::take_from(blocks, count);
  }

  void defer(Slab* slab, Known& known) {
    for (void* block : take_some(known.out)) slab::defer(slab, block);
  }

  void collect(Slab* slab, Known& known) { take_out(known, test::collect(slab)); }

  void release(Slab* slab, Known& known) {
    const bool gone = known.out.empty();
    slab::release(slab);
    if (gone) {
      runs_.erase(slab);
    } else {
      known.owner = kNoThread;
    }
  }

  void adopt() {
    const Owner me = owner_at(static_cast<unsigned>(random_.below(kOwners)));
    for (auto& [slab, known] : runs_) {
      const bool should = state(slab) == RunState::kFull && known.last_owner == me.name;
      ASSERT_EQ(slab::adopt(slab, me), should);
      if (should) {
        known.owner = me.token;
        return;
      }
    }
  }

  // As if the last owner had ended.
  void inherit() {
    const Owner me = owner_at(static_cast<unsigned>(random_.below(kOwners)));
    for (auto& [slab, known] : runs_) {
      if (known.out.empty() || !random_.one_in(3)) continue;
      const RunState now = state(slab);
      const bool is_little = load_remote(slab).free <= slab->capacity * 3u / 4;
      const bool should = now == RunState::kFull || (now == RunState::kBinned && is_little);
      ASSERT_EQ(slab::inherit(slab, me), should);
      if (should) return own(known, me);
    }
  }

  void free_remotely() {
    if (runs_.empty()) return;
    auto at = runs_.begin();
    std::advance(at, static_cast<long>(random_.below(runs_.size())));
    Slab* slab = at->first;
    std::vector<void*> blocks = take_some(at->second.out);
    const Known& known = at->second;
    const bool shared = known.hostages != 0;
    const bool but_for_hostage = known.hostages == 1 && known.out.empty();
    if (known.owner == kNoThread && known.out.empty() && !shared) runs_.erase(at);
    test::give_back(slab, blocks);
    if (shared) {
      ASSERT_EQ(slab::is_free_but_for_hostage(slab), but_for_hostage);
    }
  }

  static RunState state(const Slab* slab) { return load_remote(slab).state; }

  void check() {
    uint32_t binned = 0;
    for (auto& [slab, known] : runs_) {
      for (const void* block : known.out) ASSERT_EQ(*static_cast<const uint64_t*>(block), stamp_of(block));
      ASSERT_EQ(slab->owner, known.owner);
      const RemoteWord word = load_remote(slab);
      if (known.owner != kNoThread) {
        test::expect_adds_up(slab, known.out.size());
        continue;
      }
      ASSERT_NE(word.state, RunState::kOwned);
      binned += is_binned(word.state);
      ASSERT_EQ(is_shared(word.state), known.hostages != 0);
      if (known.hostages != 0) {
        ASSERT_EQ(test::list_length(slab, slab->deferred), known.hostages);
      }
      ASSERT_EQ(word.free, slab->capacity - known.out.size() - known.hostages);
      ASSERT_EQ(word.free - word.local, test::list_length(slab, head_block(slab, word)));
      ASSERT_EQ(is_binned(word.state), word.free >= slab->enough);
    }
    ASSERT_EQ(arena_.bin(c_).count(), binned);
    ASSERT_EQ(arena_.pages.counts().used, runs_.size() * run_shape(c_).pages);
  }

  test::Random random_;
  const SizeClass c_;
  Arena& arena_;
  std::map<Slab*, Known> runs_;
};

class SlabFuzz : public testing::TestWithParam<int> {};

TEST_P(SlabFuzz, HoldersAgainstAModel) {
  static constexpr size_t kSizes[] = {8, 16, 128, 1000, 4096, 9000, 20000, 32768};
  const auto seed = static_cast<uint64_t>(GetParam());
  FuzzedSlab fuzz(seed, class_of_size(kSizes[seed % 8]));
  const int steps = seed % 8 < 2 ? 400 : 3000;  // thousands of blocks a run
  for (int step = 0; step < steps; ++step) {
    SCOPED_TRACE(step);
    fuzz.step();
    if (HasFailure()) return;
  }
  fuzz.finish();
}
INSTANTIATE_TEST_SUITE_P(Seeds, SlabFuzz, testing::Range(0, 16));

// --- Threads ------------------------------------------------------------------------------------------------

// Each thread allocates from runs that it owns, throws what it gets into a pot, and frees, in groups by run,
// what it finds there. The second word of a block says whether it is out: none is handed out twice.
class Stress {
 public:
  explicit Stress(SizeClass c) : c_(c) {}

  void work(unsigned index, int rounds) {
    const Owner me = owner_at(index);
    test::Random random(index + 77);
    Slab* current = nullptr;
    for (int round = 0; round < rounds; ++round) {
      if (current == nullptr) current = next_run(me);
      ASSERT_NE(current, nullptr);
      if (!fill_pot(current, random)) {
        slab::release(current);
        current = nullptr;
      }
      free_from_pot(current, me, random);
    }
    if (current != nullptr) slab::release(current);
  }

  // Purges runs out of the bin until all threads are done.
  void purge(const std::atomic<bool>& done) {
    test::Random random(1);
    while (!done) {
      Slab* slab = nullptr;
      {
        std::lock_guard lock(mutex_);
        if (!pot_.empty()) slab = std::next(pot_.begin(), static_cast<long>(random.below(pot_.size())))->first;
      }
      if (slab == nullptr || arena_.bin(c_).take_quiet(slab, kNever) != Bin::Quiet::kTaken) continue;
      slab::purge(slab);
      if (arena_.bin(c_).offer(slab)) slab::free_pages(slab);
    }
  }

  void finish() {
    while (!pot_.empty()) {
      auto [slab, blocks] = take_group(pot_.begin());
      test::give_back(slab, blocks);
    }
    EXPECT_EQ(arena_.pages.counts().used, 0u) << "a run with blocks that nobody can reach";
    EXPECT_EQ(arena_.bin(c_).count(), 0u);
    EXPECT_TRUE(test::pages_add_up(arena_.pages.counts()));
  }

 private:
  using Pot = std::map<Slab*, std::vector<void*>>;
  static uint64_t& state_of(void* block) { return static_cast<uint64_t*>(block)[1]; }
  static constexpr uint64_t kOut = 0x0123456789abcdef;

  Slab* next_run(Owner me) {
    if (Slab* slab = arena_.bin(c_).take(me, 1).run) return slab;
    return test::make_slab(arena_, c_, me);
  }

  bool fill_pot(Slab* slab, test::Random& random) {
    Link* list = nullptr;
    if (random.one_in(2)) {
      uint64_t unused = 0;
      list = slab::collect_remote(slab, &unused);
    } else {
      const uint32_t uncarved = slab->capacity - slab->carved;
      list = slab::take_deferred(slab);
      if (uncarved != 0) list = slab::carve(slab, smaller(uncarved, 8u), list);
    }
    if (list == nullptr) return false;
    std::vector<void*> blocks = test::blocks_of(slab, list);
    for (void* block : blocks) {
      EXPECT_NE(state_of(block), kOut) << "handed out twice";
      state_of(block) = kOut;
    }
    std::lock_guard lock(mutex_);
    std::vector<void*>& there = pot_[slab];
    there.insert(there.end(), blocks.begin(), blocks.end());
    return true;
  }

  // A group of blocks of one run, out of the pot.
  std::pair<Slab*, std::vector<void*>> take_group(Pot::iterator at, size_t most = SIZE_MAX) {
    Slab* slab = at->first;
    std::vector<void*> blocks = test::take_from(at->second, smaller(at->second.size(), most));
    if (at->second.empty()) pot_.erase(at);
    for (void* block : blocks) {
      EXPECT_EQ(state_of(block), kOut);
      state_of(block) = 0;
    }
    return {slab, std::move(blocks)};
  }

  void free_from_pot(Slab* mine, Owner me, test::Random& random) {
    std::unique_lock lock(mutex_);
    if (pot_.empty() || (pot_.size() < 4 && random.one_in(2))) return;
    auto at = pot_.begin();
    std::advance(at, static_cast<long>(random.below(pot_.size())));
    auto [slab, blocks] = take_group(at, random.between(1, 40));
    lock.unlock();
    if (slab == mine) {
      for (void* block : blocks) slab::defer(slab, block);
    } else if (!blocks.empty() && random.one_in(3) &&
               (random.one_in(2) ? slab::adopt(slab, me) : slab::inherit(slab, me))) {
      for (void* block : blocks) slab::defer(slab, block);
      slab::release(slab);
    } else {
      test::give_back(slab, blocks);
    }
  }

  const SizeClass c_;
  Arena& arena_ = test::new_arena();
  std::mutex mutex_;
  Pot pot_;
};

class SlabStress : public testing::TestWithParam<size_t> {};

TEST_P(SlabStress, NothingIsLost) {
  Stress stress(class_of_size(GetParam()));
  std::vector<std::thread> threads;
  std::atomic<bool> done{false};
  std::thread purger([&] { stress.purge(done); });
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back([&, i] { stress.work(i, 8000); });
  for (std::thread& thread : threads) thread.join();
  done = true;
  purger.join();
  stress.finish();
}
INSTANTIATE_TEST_SUITE_P(Sizes, SlabStress, testing::Values(16, 512, 4096, 32768));

// One run, one owner, several that free its blocks one by one: the owner sees each come back once.
TEST(SlabThreads, OneOwnerManyFreers) {
  const SizeClass c = class_of_size(256);
  Arena& arena = test::new_arena();
  Slab* slab = test::make_slab(arena, c);
  ASSERT_NE(slab, nullptr);
  std::vector<void*> blocks = test::carve_all(slab);
  constexpr size_t kFreers = 3;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<std::thread> freers;
    for (size_t i = 0; i < kFreers; ++i) {
      freers.emplace_back([&, i] {
        for (size_t block = i; block < blocks.size(); block += kFreers) test::give_back(slab, {blocks[block]});
      });
    }
    std::vector<void*> back;
    while (back.size() < blocks.size()) {
      for (void* block : test::collect(slab)) back.push_back(block);
    }
    for (std::thread& freer : freers) freer.join();
    std::sort(back.begin(), back.end());
    std::sort(blocks.begin(), blocks.end());
    ASSERT_EQ(back, blocks);
  }
  test::expect_adds_up(slab, blocks.size());
  test::give_back(slab, blocks);
  slab::release(slab);
  EXPECT_EQ(arena.pages.counts().used, 0u);
}

}  // namespace
}  // namespace acre
