// What the tests of the heap profile share.
#pragma once

#include <gtest/gtest.h>

#include "sample/profile.h"
#include "sample/random.h"

namespace acre::test {

// Sampling begins with begin(), and ends with the test.
class Profiled : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(profile::prepare(0)); }
  void TearDown() override {
    profile::set_active(false);
    profile::reset(0);
  }
  static void begin(uint64_t mean, uint64_t seed) {
    profile::set_active(false);
    random::seed(seed);
    profile::reset(mean);
    profile::set_active(true);
  }
};

template <class Visit>
void for_each_stack(Visit visit) {
  for (const profile::Stack* stack = nullptr; (stack = profile::next(stack)) != nullptr;) visit(profile::sums_of(stack));
}

}  // namespace acre::test
