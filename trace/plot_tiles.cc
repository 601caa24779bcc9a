#include "plot_tiles.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "plot_output.h"

namespace acre::trace {

namespace {

constexpr uint32_t kSide = Pyramid::kSide;
constexpr size_t kPlane = size_t{kSide} * kSide;
constexpr unsigned kAlways = 2;  // levels up to this are never left out

// The mean of four cells; what is in use most counts for groups and threads.
Cell mean_of(const Cell* const (&cells)[4]) {
  uint32_t shares = 0;
  uint64_t births = 0;
  for (const Cell* cell : cells) {
    shares += cell->share;
    births += uint64_t{cell->share} * cell->birth;
  }
  Cell mean;
  if (shares == 0) return mean;
  mean.share = static_cast<uint16_t>(std::max(1u, (shares + 2) / 4));
  mean.birth = static_cast<uint16_t>(births / shares);
  uint32_t best_group = 0, best_thread = 0;
  for (const Cell* cell : cells) {
    if (cell->share == 0) continue;
    uint32_t group = 0, thread = 0;
    for (const Cell* other : cells) {
      if (other->group == cell->group) group += other->share;
      if (other->thread == cell->thread) thread += other->share;
    }
    if (group > best_group) {
      best_group = group;
      mean.group = cell->group;
    }
    if (thread > best_thread) {
      best_thread = thread;
      mean.thread = cell->thread;
    }
  }
  return mean;
}

double difference(const Cell& cell, const Cell& mean) {
  double sum = std::abs(static_cast<int>(cell.share) - static_cast<int>(mean.share));
  if (cell.share != 0 && (cell.group != mean.group || cell.thread != mean.thread)) sum += cell.share / 4.0;
  return sum;
}

}  // namespace

Pyramid::Pyramid(unsigned deepest, double seconds, uint64_t budget)
    : deepest_(deepest), seconds_(seconds), budget_(budget), levels_(deepest + 1), ages_(65536) {
  for (unsigned level = 0; level <= deepest; ++level) levels_[level].cells.resize(kPlane << level);
  for (size_t part = 0; part < ages_.size(); ++part) {
    const double age = std::max(static_cast<double>(part), 0.5) / 65536 * seconds_;
    ages_[part] = static_cast<uint8_t>(1 + 254 * std::clamp((std::log10(age) + 6) / 10, 0.0, 1.0) + 0.5);
  }
}

void Pyramid::column(const Cell* cells) {
  Level& level = levels_[deepest_];
  const uint32_t rows = kSide << deepest_;
  for (uint32_t row = 0; row < rows; ++row) level.cells[size_t{row} * kSide + level.columns] = cells[row];
  if (++level.columns == kSide) finish(deepest_);
}

void Pyramid::finish(unsigned number) {
  Level& level = levels_[number];
  std::vector<double> detail(size_t{1} << number);
  if (number > 0) shrink(number, detail);
  std::vector<uint8_t> planes(4 * kPlane);
  // The levels above will take the budget by themselves: none of these would be kept.
  const bool is_too_much =
      number == deepest_ && number > kAlways && (above_bytes_ << number) > budget_ * std::max(level.x, 1u);
  for (uint32_t y = 0; y < uint32_t{1} << number; ++y) {
    const Cell* const cells = level.cells.data() + y * kPlane;
    if (std::all_of(cells, cells + kPlane, [](const Cell& cell) { return cell.share == 0; })) continue;
    if (is_too_much) {
      ++dropped_;
      continue;
    }
    const uint32_t width = 65536 / (kSide << number);  // of a cell, in parts of the span
    for (size_t i = 0; i < kPlane; ++i) {
      const Cell& cell = cells[i];
      const uint32_t middle = (level.x * kSide + static_cast<uint32_t>(i % kSide)) * width + width / 2;
      planes[i] = cell.share == 0 ? 0 : static_cast<uint8_t>(std::max(1, (cell.share + 128) / 257));
      planes[kPlane + i] = cell.group;
      planes[2 * kPlane + i] = cell.share == 0 ? 0 : ages_[middle > cell.birth ? middle - cell.birth : 0];
      planes[3 * kPlane + i] = cell.thread;
    }
    tiles_.push_back({number, level.x, y, detail[y], deflated(planes.data(), planes.size())});
    bytes_ += base64_bytes(tiles_.back().bytes.size());
    if (number < deepest_) above_bytes_ += base64_bytes(tiles_.back().bytes.size());
  }
  level.columns = 0;
  ++level.x;
  if (bytes_ > 3 * budget_) choose(2 * budget_);
  if (number > 0 && levels_[number - 1].columns == kSide) finish(number - 1);
}

void Pyramid::shrink(unsigned number, std::vector<double>& detail) {
  const Level& level = levels_[number];
  Level& above = levels_[number - 1];
  const uint32_t rows = kSide << (number - 1);
  for (uint32_t row = 0; row < rows; ++row) {
    const Cell* const lower = level.cells.data() + size_t{2} * row * kSide;
    Cell* const to = above.cells.data() + size_t{row} * kSide + above.columns;
    double sum = 0;
    for (uint32_t i = 0; i < kSide / 2; ++i) {
      const Cell* const cells[4] = {lower + 2 * i, lower + 2 * i + 1, lower + kSide + 2 * i, lower + kSide + 2 * i + 1};
      if ((cells[0]->share | cells[1]->share | cells[2]->share | cells[3]->share) == 0) {
        to[i] = Cell();
        continue;
      }
      to[i] = mean_of(cells);
      for (const Cell* cell : cells) sum += difference(*cell, to[i]);
    }
    detail[2 * row / kSide] += sum;
  }
  above.columns += kSide / 2;
}

size_t Pyramid::choose(uint64_t budget) {
  // A tile is looked at as often as its part of the image is large.
  const auto worth = [](const Tile& tile) {
    return tile.level <= kAlways
               ? INFINITY
               : std::ldexp(tile.detail / static_cast<double>(tile.bytes.size()), -2 * static_cast<int>(tile.level));
  };
  const auto place = [](const Tile& tile) { return std::tuple(tile.level, tile.y, tile.x); };
  std::sort(tiles_.begin(), tiles_.end(), [&](const Tile& a, const Tile& b) {
    const double left = worth(a), right = worth(b);
    return left != right ? left > right : place(a) < place(b);
  });
  size_t kept = 0;
  bytes_ = 0;
  for (; kept < tiles_.size(); ++kept) {
    const uint64_t more = base64_bytes(tiles_[kept].bytes.size());
    if (tiles_[kept].level > kAlways && bytes_ + more > budget) break;
    bytes_ += more;
  }
  dropped_ += tiles_.size() - kept;
  tiles_.resize(kept);
  std::sort(tiles_.begin(), tiles_.end(), [&](const Tile& a, const Tile& b) { return place(a) < place(b); });
  return dropped_;
}

}  // namespace acre::trace
