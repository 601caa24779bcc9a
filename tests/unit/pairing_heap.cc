// base/pairing_heap: random operations against std::set, fixed seeds.
#include "base/pairing_heap.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "pages/run.h"
#include "support.h"

namespace acre {
namespace {

struct Item {
  Address base = 0;
  unsigned flavour = 0;
  HeapNode<Item> node;
};
using HeapOfItems = PairingHeap<Item, LowerAddress>;

struct ByAddress {
  bool operator()(const Item* a, const Item* b) const { return a->base < b->base; }
};

class FuzzedPairingHeap {
 public:
  explicit FuzzedPairingHeap(uint64_t seed) : random_(seed) {}

  void run(int steps, size_t most) {
    for (int step = 0; step < steps; ++step) {
      // Grows to `most`, empties, and again.
      if (model_.size() >= most) shrinking_ = true;
      if (model_.empty()) shrinking_ = false;
      if (random_.below(10) < (shrinking_ ? 3u : 7u)) {
        insert();
      } else if (!model_.empty()) {
        remove(random_.one_in(2) ? heap_.min() : any());
      }
      ASSERT_EQ(heap_.empty(), model_.empty());
      ASSERT_EQ(heap_.min(), model_.empty() ? nullptr : *model_.begin());
      if (step % 16 == 0) check_search();
    }
    while (!heap_.empty()) {  // drained, it sorts
      ASSERT_EQ(heap_.min(), *model_.begin());
      remove(heap_.min());
    }
    ASSERT_TRUE(model_.empty());
  }

 private:
  void insert() {
    auto& item = items_.emplace_back(std::make_unique<Item>());
    do {
      item->base = random_.next() >> 20;
    } while (model_.contains(item.get()));
    item->flavour = static_cast<unsigned>(random_.below(20));
    heap_.insert(item.get());
    model_.insert(item.get());
  }

  Item* any() {
    Item probe;
    probe.base = random_.next() >> 20;
    auto at = model_.lower_bound(&probe);
    return at == model_.end() ? *model_.begin() : *at;
  }

  void remove(Item* item) {
    heap_.remove(item);
    EXPECT_EQ(item->node.child, nullptr);
    EXPECT_EQ(item->node.next, nullptr);
    EXPECT_EQ(item->node.prev, nullptr);
    ASSERT_EQ(model_.erase(item), 1u);
  }

  // The search passes each element once, the least one first, and no more than asked for.
  void check_search() {
    std::set<const Item*> seen;
    const unsigned most = static_cast<unsigned>(random_.below(2 * model_.size() + 2));
    const Item* none = heap_.find_near_root(most, [&](const Item* item) {
      if (seen.empty()) {
        EXPECT_EQ(item, heap_.min());
      }
      EXPECT_TRUE(seen.insert(item).second) << "passed twice";
      EXPECT_TRUE(model_.contains(const_cast<Item*>(item)));
      return false;
    });
    ASSERT_EQ(none, nullptr);
    ASSERT_EQ(seen.size(), std::min<size_t>(most, model_.size()));

    const unsigned flavour = static_cast<unsigned>(random_.below(20));
    bool there = false;
    for (const Item* item : model_) there |= item->flavour == flavour;
    const Item* found = heap_.find_near_root(~0u, [=](const Item* item) { return item->flavour == flavour; });
    ASSERT_EQ(found != nullptr, there);
    if (found != nullptr) {
      ASSERT_EQ(found->flavour, flavour);
    }
  }

  test::Random random_;
  bool shrinking_ = false;
  HeapOfItems heap_;
  std::set<Item*, ByAddress> model_;
  std::vector<std::unique_ptr<Item>> items_;
};

class PairingHeapFuzz : public testing::TestWithParam<int> {};

TEST_P(PairingHeapFuzz, AgainstASet) {
  FuzzedPairingHeap(static_cast<uint64_t>(GetParam())).run(6000, size_t{1} << GetParam());
}
INSTANTIATE_TEST_SUITE_P(Seeds, PairingHeapFuzz, testing::Range(1, 11));

TEST(PairingHeap, InOrderInReverseAndAlone) {
  for (bool reverse : {false, true}) {
    Item items[100];
    HeapOfItems heap;
    EXPECT_TRUE(heap.empty());
    EXPECT_EQ(heap.min(), nullptr);
    for (size_t i = 0; i < 100; ++i) {
      items[i].base = reverse ? 100 - i : i + 1;
      heap.insert(&items[i]);
    }
    for (Address least = 1; least <= 100; ++least) {
      ASSERT_EQ(heap.min()->base, least);
      heap.remove(heap.min());
    }
    EXPECT_TRUE(heap.empty());
  }
}

}  // namespace
}  // namespace acre
