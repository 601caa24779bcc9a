// record: which lane a thread writes to, and what a forked child tells of its parent's lanes.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "acre/acre.h"
#include "record/format.h"
#include "record/record.h"
#include "record/writers.h"

namespace acre::record {
namespace {

// A collector that waits for nobody, and that nobody waits for.
class Recording {
 public:
  Recording() : file_(memfd_create("recording", MFD_CLOEXEC)) {
    if (ftruncate(file_, static_cast<off_t>(kSharedBytes)) != 0) abort();
    header_ = static_cast<SharedHeader*>(
        mmap(nullptr, sizeof(SharedHeader), PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0));
    header_->version = kVersion;
    header_->collector = static_cast<uint32_t>(getpid());
    header_->state.store(CollectorState::kEnds);
    header_->clock.store(uint64_t{1} << 32);
    header_->magic.store(kMagic);
  }
  ~Recording() {
    stop();
    munmap(header_, sizeof(SharedHeader));
    close(file_);
  }
  std::string place() const { return std::to_string(getpid()) + '/' + std::to_string(file_); }

 private:
  int file_;
  SharedHeader* header_;
};

// A run may be made under the registry's lock and others, which come after the recorder's.
TEST(Recorder, UnderLocksNoRecorderIsMade) {
  const Recording recording;
  ASSERT_EQ(start(recording.place().c_str()), 0);
  std::thread([] {
    acre_free(acre_malloc(100));
    Heap* const heap = heap_if_any();
    ASSERT_NE(heap, nullptr);
    ASSERT_EQ(heap->recorder, nullptr);
    Mutex registrys{Rank::kRegistry};
    {
      Lock lock(registrys);
      Recorder* const recorder = enter_under_locks(heap);  // checks ranks, in a build with debug checks
      ASSERT_NE(recorder, nullptr);
      EXPECT_TRUE(is_common(*recorder));
      leave(*recorder);
    }
    EXPECT_EQ(heap->recorder, nullptr);
    Recorder* const own = enter(heap);
    ASSERT_NE(own, nullptr);
    EXPECT_FALSE(is_common(*own));
    leave(*own);
    Lock lock(registrys);
    Recorder* const same = enter_under_locks(heap);
    EXPECT_EQ(same, own);
    leave(*same);
  }).join();
}

// The number of a block and the encoder change one after the other: a fork may come between them.
TEST(Recorder, ABlockThatTheEncoderHasNotBegunIsEmptyAtAFork) {
  const auto blocks = std::make_unique<uint8_t[]>(kLaneBytes);
  const auto recorder = std::make_unique<Recorder>();
  recorder->blocks = blocks.get();
  for (uint32_t number = 0; number < 2 * kBlocksPerLane; ++number) {
    recorder->block_number = number;
    if (number != 0) {
      EXPECT_EQ(recorder->used_at_fork(), 0u) << number;
    }
    uint8_t* const events = recorder->blocks + number % kBlocksPerLane * kBlockBytes + sizeof(BlockHeader);
    recorder->encoder.begin(events, 0, 0);
    EXPECT_EQ(recorder->used_at_fork(), 0u) << number;
    while (recorder->encoder.has_room()) recorder->encoder.mark("a mark");
    EXPECT_EQ(recorder->used_at_fork(), recorder->encoder.used()) << number;
  }
}

}  // namespace
}  // namespace acre::record
