// What libgcc's unwinder says of the stack: what others are held against.
#pragma once

#include <gtest/gtest.h>

#include <iterator>

#include "os/unwind.h"
#include "sample/capture.h"

namespace acre::test {

inline const os::Unwinder& unwinder() {
  static const os::Unwinder found = os::find_unwinder();
  return found;
}

inline bool has_tables() {
  os::CodeObject object;
  return unwinder().walk != nullptr && os::find_object(address_of(reinterpret_cast<void*>(&has_tables)), &object);
}

struct Reference {
  unsigned count = 0;
  Address address[1000];
};
inline int note(os::UnwindContext* context, void* argument) {
  auto& all = *static_cast<Reference*>(argument);
  const Address code = unwinder().code(context);
  if (code == 0 || all.count == std::size(all.address)) return 1;
  all.address[all.count++] = code;
  return 0;
}

// Where tables are found; afterwards captures go the first way again.
class WithTables : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_tables()) GTEST_SKIP() << "nothing finds tables here";
    capture::prepare();
  }
  void TearDown() override { capture::set_way(capture::Way::kFramePointers); }
};

}  // namespace acre::test
