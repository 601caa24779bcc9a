#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "plot_axis.h"
#include "plot_kept.h"
#include "plot_sweep.h"
#include "plot_tiles.h"

namespace acre::trace::testing {
namespace {

constexpr uint64_t kQuanta = Sweep::kQuanta;

std::vector<std::vector<Cell>> cells_of(unsigned columns_log2, uint32_t rows, uint64_t height, uint32_t threads,
                                        const std::function<void(Sweep&)>& fill) {
  std::vector<std::vector<Cell>> columns;
  Sweep sweep(columns_log2, rows, height, threads,
              [&](const Cell* cells) { columns.emplace_back(cells, cells + rows); });
  fill(sweep);
  sweep.finish();
  return columns;
}

TEST(PlotAxis, ClosesGaps) {
  Axis axis;
  constexpr uint64_t kUnit = Axis::kUnit;
  axis.add(100 * kUnit + 5, 1);
  axis.add(7 * kUnit, 1);
  axis.add(8 * kUnit - 1, 2);      // into the next unit
  axis.add(101 * kUnit, 2 * kUnit);
  for (int i = 0; i < 10; ++i) axis.add(100 * kUnit, 16);
  axis.finish();
  ASSERT_EQ(axis.ranges().size(), 2u);
  EXPECT_EQ(axis.height(), 5 * kUnit);
  uint64_t y;
  ASSERT_TRUE(axis.find(8 * kUnit + 3, y));
  EXPECT_EQ(y, kUnit + 3);
  ASSERT_TRUE(axis.find(100 * kUnit, y));
  EXPECT_EQ(y, 2 * kUnit);
  ASSERT_TRUE(axis.find(102 * kUnit + 9, y));
  EXPECT_EQ(y, 4 * kUnit + 9);
  EXPECT_FALSE(axis.find(9 * kUnit, y));
  EXPECT_FALSE(axis.find(103 * kUnit, y));
  EXPECT_FALSE(axis.find(0, y));
}

// Three blocks in cells of 100 bytes, two columns.
TEST(PlotSweep, ThreeBlocks) {
  const auto columns = cells_of(1, 4, 100, 2, [](Sweep& sweep) {
    sweep.begin(0, {0, 50, 3, 0, 0});                                     // half of row 0, always
    sweep.begin(kQuanta / 2, {50, 100, 5, 1, kQuanta / 2});               // the rest of it and half of row 1
    sweep.begin(kQuanta / 2, {350, 10, 7, 9, kQuanta / 2});               // of a thread without a number
    sweep.end(kQuanta / 2 + kQuanta / 4, {350, 10, 7, 9, kQuanta / 2});
    sweep.end(kQuanta + kQuanta / 2, {50, 100, 5, 1, kQuanta / 2});
  });
  ASSERT_EQ(columns.size(), 2u);
  const auto share = [](double part) { return static_cast<int>(65535 * part + 0.5); };
  EXPECT_EQ(columns[0][0].share, share(0.5 + 0.25));
  EXPECT_EQ(columns[0][0].group, 3);
  EXPECT_EQ(columns[0][0].thread, 0);
  EXPECT_EQ(columns[0][1].share, share(0.25));
  EXPECT_EQ(columns[0][1].group, 5);
  EXPECT_EQ(columns[0][1].thread, 1);
  EXPECT_EQ(columns[0][1].birth, 65536 / 4);  // at a quarter of the span
  EXPECT_EQ(columns[0][2].share, 0);
  EXPECT_EQ(columns[0][3].share, share(0.1 * 0.25));
  EXPECT_EQ(columns[0][3].thread, kOtherThread);
  EXPECT_EQ(columns[1][0].share, share(0.5 + 0.25));
  EXPECT_EQ(columns[1][0].birth, 65536 / 4 / 3);  // the mean of 0, twice as much, and of a quarter
  EXPECT_EQ(columns[1][1].share, share(0.25));
  EXPECT_EQ(columns[1][3].share, 0);
}

// Blocks that do not lie over each other, from parts of a row to hundreds of rows, against sums over all of them.
TEST(PlotSweep, IsTheSumOfAllBlocks) {
  constexpr unsigned kColumnsLog2 = 4;
  constexpr uint32_t kRows = 300, kThreads = 3;
  constexpr uint64_t kHeight = 48, kColumns = 1 << kColumnsLog2, kEnd = kColumns * kQuanta;
  struct Drawn {
    Sweep::Block block;
    uint64_t end;
  };
  std::mt19937_64 random(5);
  std::vector<Drawn> drawn;
  for (uint64_t y = 0; y < kRows * kHeight;) {
    const uint64_t most = random() % 4 == 0 ? 60 * kHeight : random() % 2 == 0 ? 2 * kHeight : 30;
    const uint64_t bytes = std::min(1 + random() % most, kRows * kHeight - y);
    for (uint64_t when = random() % kQuanta; when < kEnd;) {
      const uint64_t end = when + 1 + random() % (random() % 2 == 0 ? 6 * kQuanta : kQuanta / 3);
      const auto group = static_cast<unsigned>(random() % kGroups);
      drawn.push_back({{y, bytes, group, static_cast<uint32_t>(random() % (kThreads + 1)), when}, std::min(end, kEnd)});
      when = end + random() % kQuanta;
    }
    y += bytes + random() % 40;
  }
  struct Step {
    uint64_t when;
    bool ends;
    size_t block;
    auto operator<=>(const Step&) const = default;
  };
  std::vector<Step> steps;
  for (size_t i = 0; i < drawn.size(); ++i) {
    steps.push_back({drawn[i].block.birth, false, i});
    if (drawn[i].end < kEnd) steps.push_back({drawn[i].end, true, i});
  }
  std::sort(steps.begin(), steps.end());
  const auto columns = cells_of(kColumnsLog2, kRows, kHeight, kThreads, [&](Sweep& sweep) {
    for (const Step& step : steps) {
      if (step.ends)
        sweep.end(step.when, drawn[step.block].block);
      else
        sweep.begin(step.when, drawn[step.block].block);
    }
  });
  size_t used = 0, wide = 0;
  for (const Drawn& one : drawn) wide += one.block.bytes > 20 * kHeight;
  for (uint64_t column = 0; column < kColumns; ++column) {
    for (uint64_t row = 0; row < kRows; ++row) {
      double area = 0, groups[kGroups] = {}, threads[kThreads + 1] = {};
      for (const Drawn& one : drawn) {
        const uint64_t y0 = std::max(one.block.y, row * kHeight), x0 = std::max(one.block.birth, column * kQuanta);
        const uint64_t y1 = std::min(one.block.y + one.block.bytes, (row + 1) * kHeight);
        const uint64_t x1 = std::min(one.end, (column + 1) * kQuanta);
        if (y0 >= y1 || x0 >= x1) continue;
        const double part = static_cast<double>((y1 - y0) * (x1 - x0));
        area += part;
        groups[one.block.group] += part;
        threads[one.block.thread] += part;
      }
      const Cell& cell = columns[column][row];
      const double share = 65535 * area / static_cast<double>(kHeight * kQuanta) + 0.5;
      ASSERT_EQ(cell.share, area == 0 ? 0 : static_cast<int>(std::max(share, 1.0))) << column << ' ' << row;
      if (area == 0) continue;
      ++used;
      EXPECT_EQ(groups[cell.group], *std::max_element(groups, groups + kGroups));
      EXPECT_EQ(threads[cell.thread == kOtherThread ? kThreads : cell.thread],
                *std::max_element(threads, threads + kThreads + 1));
    }
  }
  EXPECT_GT(used, 1000u);
  EXPECT_GT(wide, 10u);
}

TEST(PlotTiles, AreTheMeansOfFour) {
  constexpr uint32_t kSide = Pyramid::kSide;
  Pyramid pyramid(1, 100, 1 << 20);
  std::vector<Cell> column(2 * kSide), empty(2 * kSide);
  column[0] = {65535, 0, 2, 1};
  column[1] = {65535, 0, 3, 2};
  column[511] = {1, 0, 9, 0};  // hardly anything is in use
  for (uint32_t x = 0; x < 2 * kSide; ++x) pyramid.column(x == 6 || x == 7 ? column.data() : empty.data());
  EXPECT_EQ(pyramid.choose(1 << 20), 0u);
  ASSERT_EQ(pyramid.tiles().size(), 3u);  // of level 1 the two to the left
  const Tile& top = pyramid.tiles()[0];
  EXPECT_EQ(top.level, 0u);
  EXPECT_EQ(pyramid.tiles()[2].y, 1u);
  EXPECT_EQ(pyramid.tiles()[2].x, 0u);
  EXPECT_GT(pyramid.tiles()[1].bytes.size(), 0u);
}

TEST(PlotKept, NamesTheLargest) {
  KeptBlocks kept(100);
  for (int i = 0; i < 1000; ++i) kept.add({static_cast<double>((i * 7) % 1000), 0.001 * i, NAN, 16, 8, 0, 0, 0});
  EXPECT_EQ(kept.members(0, 1, 1 << 20).find("\"complete\":false,\"least\":899,\"count_all\":1000,"), 0u);
  EXPECT_EQ(kept.count(), 100u);
}

}  // namespace
}  // namespace acre::trace::testing
