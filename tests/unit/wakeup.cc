// pages/wakeup: who sleeps is woken, who does not is not.
#include "pages/wakeup.h"

#include <gtest/gtest.h>

#include <thread>

#include "pages/decay.h"
#include "support.h"

namespace acre {
namespace {

// The option for the background thread is off here: these tests are the only ones to listen.
class Wakeup : public testing::Test {
 protected:
  void TearDown() override { wakeup::close(); }
};

TEST_F(Wakeup, ARingBeforeTheSleepIsHeard) {
  wakeup::listen();
  wakeup::signal();
  EXPECT_TRUE(wakeup::sleep(kNever)) << "it would sleep for ever";
  wakeup::signal();
  wakeup::listen();
  EXPECT_FALSE(wakeup::sleep(1)) << "one before listen() is not";
}

TEST_F(Wakeup, EndsASleepWithoutATimeLimit) {
  wakeup::listen();
  std::thread sleeper([] { EXPECT_TRUE(wakeup::sleep(kNever)); });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  wakeup::signal();
  sleeper.join();
}

TEST_F(Wakeup, ANapIsEndedByWakeAlone) {
  std::atomic<bool> over{false};
  std::thread sleeper([&] {
    wakeup::nap(1000000000);
    over = true;
  });
  while (wakeup::g_state != wakeup::kNapping) std::this_thread::yield();
  wakeup::signal();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(over);
  wakeup::wake();
  sleeper.join();
}

TEST_F(Wakeup, FreedPagesAndNewTimesRing) {
  PageHeap& heap = test::new_page_heap();
  PageRun* run = heap.allocate(10, 1);
  wakeup::listen();
  heap.shrink_in_place(run, 5);
  EXPECT_TRUE(wakeup::sleep(0));
  wakeup::listen();
  heap.free(run, true);
  EXPECT_TRUE(wakeup::sleep(0));
  wakeup::listen();
  heap.set_dirty_decay_ms(5);
  EXPECT_TRUE(wakeup::sleep(0));
  wakeup::listen();
  EXPECT_FALSE(wakeup::sleep(0));
}

}  // namespace
}  // namespace acre
