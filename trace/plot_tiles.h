// The image at all its levels: tiles of 256 × 256 cells. Level k has 2^k × 2^k of them. Columns of the deepest
// level come in; each level above has the means of 2 × 2 cells. Tiles are deflated as soon as they are
// whole.
#pragma once

#include <string>
#include <vector>

#include "plot_sweep.h"

namespace acre::trace {

struct Tile {
  unsigned level;
  uint32_t x, y;
  double detail;  // how far its cells are from the means that the level above has
  std::string bytes;
};

class Pyramid {
 public:
  static constexpr uint32_t kSide = 256;

  // seconds: the span. Much more than `budget` bytes of tiles, as base64, are neither kept nor made.
  Pyramid(unsigned deepest, double seconds, uint64_t budget);
  void column(const Cell* cells);  // from the left, 256 · 2^deepest cells

  // Leaves tiles out until the others fit, those first that show the least for their bytes. -> how many
  size_t choose(uint64_t budget);
  const std::vector<Tile>& tiles() const { return tiles_; }

 private:
  struct Level {
    std::vector<Cell> cells;  // of a column of tiles: rows of 256
    uint32_t columns = 0;     // of cells that are there
    uint32_t x = 0;           // of the tiles
  };
  void finish(unsigned level);
  void shrink(unsigned level, std::vector<double>& detail);

  const unsigned deepest_;
  const double seconds_;
  const uint64_t budget_;
  uint64_t bytes_ = 0;
  uint64_t above_bytes_ = 0;  // of all tiles above the deepest level
  size_t dropped_ = 0;
  std::vector<Level> levels_;
  std::vector<Tile> tiles_;
  std::vector<uint8_t> ages_;  // as they are drawn, by parts of 65536 of the span
};

}  // namespace acre::trace
