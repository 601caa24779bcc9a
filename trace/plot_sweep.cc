#include "plot_sweep.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace acre::trace {

namespace {

constexpr uint32_t kNarrow = 8;  // rows that are counted one by one
constexpr size_t kAll = 0, kBirths = 1, kByGroup = 2, kByThread = 2 + kGroups;

}  // namespace

// A sum of births reaches height × 2^16 × 2^16.
Sweep::Sweep(unsigned columns_log2, uint32_t rows, uint64_t height, uint32_t threads,
             std::function<void(const Cell*)> column)
    : columns_log2_(columns_log2),
      rows_(rows),
      height_(height),
      scale_(static_cast<unsigned>(std::max(0, static_cast<int>(std::bit_width(height)) - 29))),
      channels_(std::min(threads, kDrawnThreads) + 1),
      stride_(kByThread + channels_),
      column_(std::move(column)),
      sums_(rows * stride_),
      steady_(rows),
      cells_(rows),
      is_changed_(rows),
      is_covered_(rows) {}

void Sweep::change(uint64_t when, const Block& block, uint64_t sign) {
  when = std::min(when, kQuanta << columns_log2_);
  while (when >> kQuantaLog2 > done_) flush();
  if (done_ >> columns_log2_ != 0) return;
  left_ = ((done_ + 1) << kQuantaLog2) - when;
  const uint64_t end = std::min(block.y + block.bytes, height_ * rows_);
  if (block.y >= end) return;
  const auto first = static_cast<uint32_t>(block.y / height_), last = static_cast<uint32_t>((end - 1) / height_);
  if (first == last) return add(first, end - block.y, block, sign);
  add(first, (first + 1) * height_ - block.y, block, sign);
  add(last, end - last * height_, block, sign);
  if (last - first <= kNarrow) {
    for (uint32_t row = first + 1; row < last; ++row) add(row, height_, block, sign);
  } else {
    add_wide(first + 1, block, sign);
    add_wide(last, block, 0 - sign);
  }
}

void Sweep::add(uint32_t row, uint64_t bytes, const Block& block, uint64_t sign) {
  const uint64_t part = ((bytes + (uint64_t{1} << scale_) - 1) >> scale_) * sign;
  Sum* const sums = row_of(row);
  sums[kAll].add(part, left_);
  sums[kBirths].add(part * (block.birth >> columns_log2_), left_);
  sums[kByGroup + block.group].add(part, left_);
  sums[kByThread + std::min(block.thread, channels_ - 1)].add(part, left_);
  if (!is_changed_[row]) {
    is_changed_[row] = 1;
    changed_.push_back(row);
  }
}

void Sweep::add_wide(uint32_t row, const Block& block, uint64_t sign) {
  Wide& wide = wide_[uint64_t{row} << 16 | block.group << 8 | std::min(block.thread, channels_ - 1)];
  const uint64_t part = (height_ >> scale_) * sign;
  wide.sum.add(part, left_);
  wide.births.add(part * (block.birth >> columns_log2_), left_);
}

Cell Sweep::cell_of(const Sum* row, const Sum* wide) const {
  const auto area = [&](size_t i) { 
    return std::max<int64_t>(0, static_cast<int64_t>(row[i].area + (wide == nullptr ? 0 : wide[i].area)));
  };
  const int64_t all = area(kAll);
  Cell cell;
  if (all == 0) return cell;
  const double whole = static_cast<double>(height_ >> scale_) * static_cast<double>(kQuanta);
  cell.share = static_cast<uint16_t>(std::clamp(65535 * static_cast<double>(all) / whole + 0.5, 1.0, 65535.0));
  cell.birth = static_cast<uint16_t>(std::min<int64_t>(area(kBirths) / all, 65535));
  const auto most = [&](size_t at, uint32_t count) {
    uint32_t best = 0;
    int64_t best_area = -1;
    for (uint32_t i = 0; i < count; ++i) {
      if (const int64_t here = area(at + i); here > best_area) {
        best = i;
        best_area = here;
      }
    }
    return best;
  };
  cell.group = static_cast<uint8_t>(most(kByGroup, kGroups));
  const uint32_t thread = most(kByThread, channels_);
  cell.thread = static_cast<uint8_t>(thread == channels_ - 1 ? kOtherThread : thread);
  return cell;
}

void Sweep::fill_wide() {
  std::vector<Sum> now(stride_);
  const std::vector<Sum> nothing(stride_);
  uint32_t row = 0;
  for (auto at = wide_.begin(); at != wide_.end();) {
    const auto next = static_cast<uint32_t>(at->first >> 16);
    if (now[kAll].area != 0) {
      const Cell cell = cell_of(nothing.data(), now.data());
      for (; row < next; ++row) {
        is_covered_[row] = 1;
        const Sum* const own = row_of(row);
        cells_[row] = own[kAll].area == 0 ? cell : cell_of(own, now.data());
      }
    }
    row = next;
    for (; at != wide_.end() && at->first >> 16 == next;) {
      Wide& wide = at->second;
      now[kAll].area += wide.sum.area;
      now[kBirths].area += wide.births.area;
      now[kByGroup + (at->first >> 8 & 0xff)].area += wide.sum.area;
      now[kByThread + (at->first & 0xff)].area += wide.sum.area;
      wide.sum.next_column();
      wide.births.next_column();
      at = wide.sum.rate == 0 && wide.births.rate == 0 ? wide_.erase(at) : std::next(at);
    }
  }
}

void Sweep::flush() {
  memcpy(static_cast<void*>(cells_.data()), steady_.data(), rows_ * sizeof(Cell));
  const bool has_wide = !wide_.empty();
  if (has_wide) fill_wide();
  for (const uint32_t row : changed_) {
    Sum* const sums = row_of(row);
    if (!is_covered_[row]) cells_[row] = cell_of(sums, nullptr);
    for (size_t i = 0; i < stride_; ++i) sums[i].next_column();
    steady_[row] = cell_of(sums, nullptr);
    is_changed_[row] = 0;
  }
  changed_.clear();
  if (has_wide) std::fill(is_covered_.begin(), is_covered_.end(), 0);
  ++done_;
  left_ = kQuanta;
  column_(cells_.data());
}

void Sweep::finish() {
  while (done_ >> columns_log2_ == 0) flush();
}

}  // namespace acre::trace
