// Call sites: stacks of equal frames have one number. Site 0 is that of blocks without a known stack.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "stacks.h"

namespace acre::trace {

class Sites {
 public:
  // stack_every: as in the file's header.
  Sites(Reader& reader, const Order& order) : stacks_(reader, order), every_(reader.header().stack_every) {}

  void on(const Merged& merged);  // for each event
  uint32_t site_of(uint32_t process, const Event& allocation);
  void count(uint32_t site, double bytes) { bytes_[site] += bytes; }

  // How many blocks one of this size stands for, where a sample has stacks; 0: it stands for none.
  double weight(uint32_t site, uint64_t size) const;

  // Numbers them anew, those with the most bytes first, as many as take at most `budget` bytes: the others become 0. ->
  // how many. Then new_number() and members() hold.
  size_t choose(uint64_t budget);
  uint32_t new_number(uint32_t site) const { return new_[site]; }
  const std::string& members() const { return members_; }

 private:
  Stacks stacks_;
  const uint32_t every_;
  std::map<Stacks::Frames, uint32_t> by_frames_;
  std::vector<const Stacks::Frames*> frames_{nullptr};
  std::vector<double> bytes_{0};
  std::unordered_map<uint32_t, std::unordered_map<uint64_t, uint32_t>> known_;  // process → stack → site
  std::vector<uint32_t> new_;
  std::string members_;
};

}  // namespace acre::trace
