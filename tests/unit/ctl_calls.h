// What tests of control/ctl share: values by name, and how things are put back after a test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "control/ctl.h"
#include "control/snapshot.h"
#include "tables/options.h"

namespace acre::test {

template <class T>
int get(const std::string& name, T* value) {
  size_t size = sizeof *value;
  const int error = ctl::by_name(name.c_str(), value, &size, nullptr, 0);
  EXPECT_TRUE(error != 0 || size == sizeof *value) << name;
  return error;
}
template <class T>
T value_of(const std::string& name) {
  T value{};
  EXPECT_EQ(get(name, &value), 0) << name;
  return value;
}
template <class T>
int set(const std::string& name, T value) {
  return ctl::by_name(name.c_str(), nullptr, nullptr, &value, sizeof value);
}
inline int act(const std::string& name) { return ctl::by_name(name.c_str(), nullptr, nullptr, nullptr, 0); }

template <class Body>
void in_thread(Body body) {
  std::thread(body).join();
}

// New figures, whatever it takes to gather them.
inline int renew_figures() {
  for (const uint64_t before = ctl::epoch(); ctl::epoch() == before;) {
    if (const int error = set<uint64_t>("epoch", 1)) return error;
    std::this_thread::yield();
  }
  return 0;
}

inline std::vector<size_t> mib_of(const std::string& name, size_t room = 10) {
  std::vector<size_t> mib(room);
  EXPECT_EQ(ctl::name_to_mib(name.c_str(), mib.data(), &room), 0) << name;
  mib.resize(room);
  return mib;
}

class CtlTest : public testing::Test {
 protected:
  void SetUp() override { acre_free(acre_malloc(10)); }  // there is an arena
  void TearDown() override {
    EXPECT_EQ(set<ssize_t>("opt.dirty_decay_ms", 10000), 0);  // of the arenas, too
    EXPECT_EQ(set<ssize_t>("opt.muzzy_decay_ms", 0), 0);
    EXPECT_EQ(set<ssize_t>("opt.release_rate", -1), 0);
    for (unsigned i = 0; i < kOptionCount; ++i) set_option(i, kOptionTable[i].initial, OptionSource::kDefault);
  }
};

}  // namespace acre::test
