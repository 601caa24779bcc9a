// A set of addresses, in memory of its own.
#pragma once

#include "base/bits.h"
#include "base/hash.h"
#include "os/os.h"

namespace acre::report {

class AddressSet {
 public:
  explicit AddressSet(size_t most) : places_(size_t{2} << floor_log2(larger<size_t>(most, kPageBytes))) {
    memory_ = static_cast<Address*>(os::map(bytes()));
  }
  ~AddressSet() {
    if (memory_ != nullptr) os::unmap(memory_, bytes());
  }
  AddressSet(const AddressSet&) = delete;
  AddressSet& operator=(const AddressSet&) = delete;
  bool is_made() const { return memory_ != nullptr; }

  // True if it is new.
  bool add(Address a) {
    size_t at = (a * kHashFactor) >> 20;
    for (;; ++at) {
      Address& place = memory_[at & (places_ - 1)];
      if (place == a) return false;
      if (place != 0) continue;
      place = a;
      return true;
    }
  }

 private:
  size_t bytes() const { return align_up(places_ * sizeof(Address), os::page_bytes()); }
  size_t places_;
  Address* memory_;
};

}  // namespace acre::report
