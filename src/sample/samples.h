// The table of live samples. A ticket is an index into it, starting at 1.
#pragma once

#include "base/bits.h"
#include "pages/run.h"
#include "sample/stacks.h"

namespace acre::profile {

struct Sample {
  Stack* stack = nullptr;
  uint64_t bytes = 0;
  double weight = 0;              // how many blocks it stands for
  ThreadToken thread = kNoThread;
  uint64_t time_ms = 0;
  Address place = 0;              // held.h
  uint32_t reset = 0;             // number of resets when it was taken
  union {
    uint32_t epoch;               // while live: when it was taken (profile::next_epoch); 0: its thread ignored leaks
    Ticket next_free = kNoTicket; // while free
  };
};

// All functions require the profile's lock.
class Samples {
 public:
  bool has_free() const { return free_ != kNoTicket || used_ < places_; }

  // Memory comes in chunks, each twice as long as the one before. bytes_of() is the size of a chunk. add_chunk()
  // returns false if another thread has added this chunk already.
  unsigned chunks() const { return chunks_; }
  static size_t bytes_of(unsigned chunk) { return (kFirst << chunk) * sizeof(Sample); }
  bool add_chunk(unsigned chunk, void* memory) {
    if (chunk != chunks_) return false;
    chunk_[chunks_++] = static_cast<Sample*>(memory);
    places_ += kFirst << chunk;
    return true;
  }
  bool may_grow() const { return chunks_ < kMostChunks; }

  Ticket take() {
    if (free_ == kNoTicket) return ++used_;
    const Ticket ticket = free_;
    free_ = at(ticket).next_free;
    return ticket;
  }
  void drop(Ticket ticket) {
    at(ticket).stack = nullptr;
    at(ticket).next_free = free_;
    free_ = ticket;
  }

  template <class Visit>
  void for_each(Visit&& visit) {
    for (Ticket ticket = 1; ticket <= used_; ++ticket) {
      const Sample& sample = at(ticket);
      if (sample.stack != nullptr) visit(sample);
    }
  }
  bool has(Ticket ticket) const { return ticket != kNoTicket && ticket <= used_; }

  Sample& at(Ticket ticket) {
    const size_t place = ticket - 1;
    const unsigned chunk = floor_log2(place / kFirst + 1);
    return chunk_[chunk][place - kFirst * ((size_t{1} << chunk) - 1)];
  }

 private:
  static constexpr size_t kFirst = 1024;
  static constexpr unsigned kMostChunks = 21;  // two thousand million

  Sample* chunk_[kMostChunks] = {};
  unsigned chunks_ = 0;
  size_t places_ = 0;
  Ticket used_ = 0;
  Ticket free_ = kNoTicket;
};

}  // namespace acre::profile
