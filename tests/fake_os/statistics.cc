// Statistics while memory is refused: they say so, and work again afterwards.
#include "control/statistics.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "../unit/support.h"
#include "acre/acre.h"
#include "blocks.h"
#include "child.h"

namespace acre::fake_os {

namespace {

std::string printed(const char* format, int* error) {
  std::string text;
  *error = acre_stats_print(
      format, [](void* to, const char* part) { *static_cast<std::string*>(to) += part; }, &text);
  return text;
}

int new_epoch() {
  uint64_t epoch = 1;
  return acre_mallctl("epoch", nullptr, nullptr, &epoch, sizeof epoch);
}

void statistics_without_memory() {
  void* block = acre_malloc(1000);
  use_up_metadata();
  int error;
  FAKE_OS_CHECK(printed("json", &error).empty() && error == EAGAIN);
  FAKE_OS_CHECK(printed("openmetrics", &error).empty() && error == EAGAIN);
  FAKE_OS_CHECK(!printed("summary", &error).empty() && error == 0);
  FAKE_OS_CHECK(acre_mallinfo2().uordblks == 0);
  FAKE_OS_CHECK(new_epoch() == EAGAIN);
  size_t value, size = sizeof value;
  FAKE_OS_CHECK(acre_mallctl("stats.allocated", &value, &size, nullptr, 0) == EAGAIN);

  os::testing::refuse_nothing();
  FAKE_OS_CHECK(printed("json", &error).size() > 1000 && error == 0);
  FAKE_OS_CHECK(acre_mallinfo2().uordblks == acre_malloc_usable_size(block));
  FAKE_OS_CHECK(new_epoch() == 0);
  FAKE_OS_CHECK(acre_mallctl("stats.allocated", &value, &size, nullptr, 0) == 0);
  FAKE_OS_CHECK(value == acre_malloc_usable_size(block));
}

TEST(Statistics, RefusedMemoryIsToldAndForgotten) { EXPECT_EQ(in_child(statistics_without_memory), ""); }

}  // namespace

}  // namespace acre::fake_os
