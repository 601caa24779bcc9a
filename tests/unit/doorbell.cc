// pages/doorbell: who sleeps is woken, who does not is not.
#include "pages/doorbell.h"

#include <gtest/gtest.h>

#include <thread>

#include "pages/decay.h"
#include "support.h"

namespace acre {
namespace {

// The option for the background thread is off here: these tests are the only ones to listen.
class Doorbell : public testing::Test {
 protected:
  void TearDown() override { doorbell::close(); }
};

TEST_F(Doorbell, ARingBeforeTheSleepIsHeard) {
  doorbell::listen();
  doorbell::ring();
  EXPECT_TRUE(doorbell::sleep(kNever)) << "it would sleep for ever";
  doorbell::ring();
  doorbell::listen();
  EXPECT_FALSE(doorbell::sleep(1)) << "one before listen() is not";
}

TEST_F(Doorbell, EndsASleepWithoutATimeLimit) {
  doorbell::listen();
  std::thread sleeper([] { EXPECT_TRUE(doorbell::sleep(kNever)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  doorbell::ring();
  sleeper.join();
}

TEST_F(Doorbell, ANapIsEndedByWakeAlone) {
  std::atomic<bool> over{false};
  std::thread sleeper([&] {
    doorbell::nap(1000000000);
    over = true;
  });
  while (doorbell::g_state != doorbell::kNapping) std::this_thread::yield();
  doorbell::ring();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(over);
  doorbell::wake();
  sleeper.join();
}

TEST_F(Doorbell, FreedPagesAndNewTimesRing) {
  PageHeap& heap = test::new_page_heap();
  PageRun* run = heap.allocate(10, 1);
  doorbell::listen();
  heap.shrink_in_place(run, 5);
  EXPECT_TRUE(doorbell::sleep(0));
  doorbell::listen();
  heap.free(run, true);
  EXPECT_TRUE(doorbell::sleep(0));
  doorbell::listen();
  heap.set_dirty_decay_ms(5);
  EXPECT_TRUE(doorbell::sleep(0));
  doorbell::listen();
  EXPECT_FALSE(doorbell::sleep(0));
}

}  // namespace
}  // namespace acre
