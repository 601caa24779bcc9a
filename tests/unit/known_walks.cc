// Walks that are known from earlier ones (sample/known_walks.h).
#include "sample/known_walks.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support.h"

namespace acre {
namespace {

constexpr Address kWalkedCode = 0x7f1234567890;

// Words that are taken for a stack.
class KnownWalksOf : public testing::Test {
 protected:
  static constexpr unsigned kWords = 64;

  KnownWalksOf() {
    for (unsigned i = 0; i < kWords; ++i) words_[i] = 0x1000 + i;
  }

  StackFrame first() const { return {kWalkedCode, address_of(words_), 0}; }
  Address end() const { return address_of(words_ + kWords); }

  Trail trail_over(std::initializer_list<unsigned> words) const {
    Trail trail;
    for (const unsigned i : words) trail.add(return_address(i));
    return trail;
  }

  bool finds(std::initializer_list<unsigned> words) const {
    KnownWalks::Codes codes;
    if (!walks_->find(first(), end(), &codes) || codes.count != words.size()) return false;
    unsigned at = 0;
    for (const unsigned i : words) {
      if (codes.depth[at] != depth_of(i) || codes.code[at++] != words_[i]) return false;
    }
    return true;
  }
  Trail::Mark frame_pointer(unsigned word) const { return {word * static_cast<uint32_t>(sizeof(Address)), 0, words_[word]}; }
  Trail::Mark return_address(unsigned word) const {
    return {frame_pointer(word).place | Trail::kIsCode, depth_of(word), words_[word]};
  }
  static uint32_t depth_of(uint32_t word) { return 100 + word; }
  bool finds_none() const {
    KnownWalks::Codes codes;
    return !walks_->find(first(), end(), &codes);
  }

  Address words_[kWords];
  const std::unique_ptr<KnownWalks> walks_ = std::make_unique<KnownWalks>();
};

TEST_F(KnownWalksOf, NoneAtFirst) {
  EXPECT_TRUE(finds_none());
  KnownWalks::Codes codes;
  EXPECT_FALSE(walks_->find({0, 0, 0}, 0, &codes) && codes.count != 0);
}

TEST_F(KnownWalksOf, TheSameWords) {
  Trail trail = trail_over({3, 7});
  trail.add(frame_pointer(20));  // a frame pointer
  trail.add(return_address(22));
  walks_->keep(first(), end(), trail);
  EXPECT_TRUE(finds({3, 7, 22}));
  for (unsigned i = 0; i < kWords; ++i) {
    ++words_[i];
    EXPECT_EQ(finds_none(), i == 3 || i == 7 || i == 20 || i == 22) << i;
    --words_[i];
  }
  EXPECT_TRUE(finds({3, 7, 22}));
}

TEST_F(KnownWalksOf, TheSameBeginningAndStack) {
  walks_->keep(first(), end(), trail_over({3, 7}));
  KnownWalks::Codes codes;
  EXPECT_FALSE(walks_->find({kWalkedCode + 1, address_of(words_), 0}, end(), &codes));
  EXPECT_FALSE(walks_->find({kWalkedCode, address_of(words_ + 1), 0}, end(), &codes));
  EXPECT_FALSE(walks_->find(first(), end() - sizeof(Address), &codes));
  EXPECT_TRUE(walks_->find({kWalkedCode, address_of(words_), kWalkedCode}, end(), &codes));
}

TEST_F(KnownWalksOf, TheSameFramePointerIfTheyGoByIt) {
  Trail trail = trail_over({3, 7});
  trail.go_by_register();
  walks_->keep({kWalkedCode, address_of(words_), end()}, end(), trail);
  KnownWalks::Codes codes;
  EXPECT_FALSE(walks_->find({kWalkedCode, address_of(words_), 0}, end(), &codes));
  EXPECT_TRUE(walks_->find({kWalkedCode, address_of(words_), end()}, end(), &codes));
}

TEST_F(KnownWalksOf, SeveralWaysFromOnePlace) {
  for (unsigned i = 0; i < KnownWalks::kWays; ++i) {
    words_[0] = i;
    walks_->keep(first(), end(), trail_over({0, 5}));
  }
  for (unsigned i = 0; i < KnownWalks::kWays; ++i) {
    words_[0] = i;
    EXPECT_TRUE(finds({0, 5}));
  }
  words_[0] = KnownWalks::kWays;
  walks_->keep(first(), end(), trail_over({0, 5}));
  EXPECT_TRUE(finds({0, 5}));
  words_[0] = 0;  // the oldest
  EXPECT_TRUE(finds_none());
}

TEST_F(KnownWalksOf, WholeTrailsAlone) {
  Trail trail;
  for (unsigned i = 0; i < Trail::kMost; ++i) trail.add(return_address(i));
  Trail longer = trail;
  longer.add({});
  longer.add({});
  Trail given_up = trail_over({3, 7});
  given_up.give_up();
  given_up.add(frame_pointer(20));
  for (const Trail& part : {longer, given_up}) {
    EXPECT_FALSE(part.is_whole());
    walks_->keep(first(), end(), part);
    EXPECT_TRUE(finds_none());
  }
  walks_->keep(first(), end(), trail);
  KnownWalks::Codes codes;
  EXPECT_TRUE(walks_->find(first(), end(), &codes));
  EXPECT_EQ(codes.count, Trail::kMost);
}

// What is read may be half of one walk and half of another, and what lies below the end need not be the stack.
TEST_F(KnownWalksOf, NoWordBeyondTheStackNorInAPageThatCannotBeRead) {
  const Address size = 2 * kPageBytes;
  void* pages = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const StackFrame begin{kWalkedCode, address_of(pages), 0};
  const Address middle = begin.stack_pointer + kPageBytes;
  Trail trail;
  trail.add({kPageBytes, 0, 0});
  KnownWalks::Codes codes;
  walks_->keep(begin, middle + kPageBytes, trail);
  EXPECT_TRUE(walks_->find(begin, middle + kPageBytes, &codes));
  ASSERT_EQ(mprotect(pointer_to(middle), kPageBytes, PROT_NONE), 0);
  EXPECT_FALSE(walks_->find(begin, middle + kPageBytes, &codes));
  walks_->keep(begin, middle, trail);
  EXPECT_FALSE(walks_->find(begin, middle, &codes));
  munmap(pages, size);
}

// All keep trails over the same words, which are of different lengths: none is found that is a bit of two.
TEST_F(KnownWalksOf, ManyThreads) {
  std::atomic<uint64_t> found{0}, wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      test::Random random(t);
      for (int i = 0; i < 50000; ++i) {
        const auto step = static_cast<unsigned>(random.between(1, 8));
        Trail trail;
        for (unsigned at = step; at < 32; at += step) trail.add(return_address(at));
        walks_->keep(first(), end(), trail);
        KnownWalks::Codes codes;
        if (!walks_->find(first(), end(), &codes)) continue;
        ++found;
        const Address distance = codes.code[0] - words_[0];
        bool is_right = codes.count == 31 / distance;
        for (unsigned k = 0; is_right && k < codes.count; ++k) is_right = codes.code[k] == words_[(k + 1) * distance];
        if (!is_right) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(found, 1000u);
}

}  // namespace
}  // namespace acre
