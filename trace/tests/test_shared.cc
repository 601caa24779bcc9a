#include <gtest/gtest.h>

#include "shared.h"

namespace acre::trace::testing {
namespace {

// A block's header of which the thread begins the next block as soon as the collector has looked at one of its words.
class Beginning {
 public:
  struct Word {
    Beginning* header;
    uint32_t value;
    uint32_t load(std::memory_order) const {
      const uint32_t seen = value;
      header->begin();
      return seen;
    }
  };
  explicit Beginning(uint32_t next) : next_(next) {}

  Word used{this, 60000};
  Word number{this, 0};

 private:
  void begin() {
    used.value = 0;
    number.value = next_;
  }
  uint32_t next_;
};

TEST(Shared, ABlockThatBeginsHasNothingOfTheOneBefore) {
  const Beginning block(record::kBlocksPerLane);
  EXPECT_EQ(used_so_far(block, record::kBlocksPerLane), 0u);
}

TEST(Shared, ABlockThatIsNotFilledHasItsEvents) {
  record::BlockHeader block;
  block.used = 100;
  block.number = 4;
  EXPECT_EQ(used_so_far(block, 4), 100u);
  EXPECT_EQ(used_so_far(block, 8), 0u);
}

}  // namespace
}  // namespace acre::trace::testing
