#include "plot_lines.h"

namespace acre::trace::testing {
namespace {

// A realloc leaves a block the tag that it has, and gives one without a tag that which is in force.
TEST_F(Plot, BlocksHaveTheirThreadsTag) {
  const auto tag = [](Encoder& encoder, const char* name) { encoder.text(record::Op::kTag, name); };
  const auto moved = [](Encoder& encoder, uint64_t size, uint64_t from, uint64_t to) {
    encoder.kind(record::Kind::kReallocTo);
    encoder.allocate(size, to);
    encoder.kind(record::Kind::kReallocFrom);
    encoder.free(from);
  };
  Encoder encoder;
  encoder.begin(0, 0);
  take(encoder);
  encoder.allocate(100, kBase);
  tag(encoder, "small");
  encoder.allocate(1000, kBase + 1000);
  tag(encoder, "large \"x\"");
  encoder.time(1000500);
  encoder.allocate(5000, kBase + 8192);
  encoder.time(2000500);
  moved(encoder, 2000, kBase + 1000, kBase + 4096);
  moved(encoder, 200, kBase, kBase + 128);
  encoder.time(2500500);
  encoder.kind(record::Kind::kReallocFrom);  // stays where it is
  encoder.free(kBase + 4096);
  encoder.kind(record::Kind::kReallocTo);
  encoder.allocate(3000, kBase + 4096);
  tag(encoder, "");
  encoder.allocate(300, kBase + 16384);
  encoder.time(3000500);
  encoder.free(kBase + 8192);
  encoder.time(4096000);
  BuiltBlock second = block_of(encoder);
  second.number = 1;
  second.ticks = 4096000;
  Encoder after;
  tag(encoder, "small");  // up to the end of this block
  const BuiltBlock first = block_of(encoder);
  after.begin(4096000, 1);
  after.allocate(70, kBase + 32768);
  second.seen = 1;
  second.bytes = after.bytes;
  write_file(folder / "a", {first, second});
  const PlotData data = plotted();
  EXPECT_NE(data.line("meta").find(R"("tags":[{"name":"large \"x\"","bytes":10200},{"name":"small","bytes":1000}])"),
            std::string::npos)
      << data.line("meta");
  const std::vector<double> large = data.array("curve:tag:0"), small = data.array("curve:tag:1");
  EXPECT_EQ(large[500], 0);
  EXPECT_EQ(large[1001], 5000);
  EXPECT_EQ(large[2002], 5200);
  EXPECT_EQ(large[3002], 200);
  EXPECT_EQ(small[500], 1000);
  EXPECT_EQ(small[2002], 2000);
  EXPECT_EQ(small[4000], 3000);
  EXPECT_FALSE(data.has("curve:tag:rest"));
  const std::vector<double> sizes = data.array("blocks:0:0:0", "size"), tags = data.array("blocks:0:0:0", "tag");
  const std::map<double, double> expected{{70, 0},   {100, 0},  {200, 1},  {300, 0},
                                          {1000, 2}, {2000, 2}, {3000, 2}, {5000, 1}};
  std::map<double, double> found;
  for (size_t i = 0; i < sizes.size(); ++i) found[sizes[i]] = tags.at(i);
  EXPECT_EQ(found, expected);
}

// What lives long has a curve, also if little is allocated.
TEST_F(Plot, TagsThatLiveHaveCurves) {
  Encoder encoder;
  encoder.begin(0, 0);
  take(encoder);
  encoder.text(record::Op::kTag, "cache");
  encoder.allocate(1000, kBase);
  for (uint64_t i = 0; i < 300; ++i) {
    encoder.text(record::Op::kTag, "query " + std::to_string(i));
    encoder.time(2000 + 1000 * i);
    encoder.allocate(1000 + 16 * i, kBase + 8192);
    encoder.free(kBase + 8192);
  }
  encoder.allocate(70, kBase + 16384);
  encoder.time(4096000);
  encoder.end();
  write_file(folder / "a", {block_of(encoder)});
  const PlotData data = plotted();
  EXPECT_TRUE(data.has("curve:tag:rest"));
  EXPECT_FALSE(data.has("curve:tag:253"));  // "cache" allocates less than 254 others: it has no number
  EXPECT_EQ(data.array("curve:tag:rest")[4000], 1000);
  EXPECT_EQ(data.array("curve:tag:0")[4000], 70);  // the last query
}

}  // namespace
}  // namespace acre::trace::testing
