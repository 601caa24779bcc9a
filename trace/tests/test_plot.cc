#include "build.h"
#include "plot.h"
#include "plot_lines.h"
#include "plot_ranges.h"

namespace acre::trace::testing {
namespace {

// From 0 to 4096 µs, so that a bucket is a microsecond.
Encoder three_blocks() {
  Encoder encoder;
  encoder.begin(0, 0);
  encoder.stack_is(1, {0x10, 0x20});
  encoder.stack_is(2, {0x30});
  take(encoder);
  encoder.stack(1);
  encoder.allocate(65536, kBase);  // a unit
  encoder.time(1024500);
  encoder.stack(2);
  encoder.allocate(1000, kBase + 65536);
  encoder.time(1024600);
  encoder.free(kBase + 65536);  // the event behind it: within 1
  encoder.text(record::Op::kMark, "half");
  encoder.time(2048500);
  encoder.allocate(16384, kBase + 65536);
  encoder.time(3072500);
  encoder.free(kBase);
  encoder.time(4096000);
  encoder.end();
  return encoder;
}

TEST_F(Plot, ThreeBlocks) {
  write_file(folder / "a", {block_of(three_blocks())});
  const PlotData data = plotted();
  EXPECT_EQ(data.member("meta", "from"), "0");
  EXPECT_NEAR(data.number("meta", "to"), 4096000 * kTick, 1e-12);
  EXPECT_EQ(data.member("meta", "allocations"), "3");
  EXPECT_NE(data.line("meta").find("\"notes\":[]"), std::string::npos);

  const std::vector<double> live = data.array("curve:live_bytes"), least = data.array("curve:live_min");
  ASSERT_EQ(live.size(), 4096u);
  EXPECT_EQ(live[0], 65536);
  EXPECT_EQ(least[0], 0);
  EXPECT_EQ(live[1023], 65536);
  EXPECT_EQ(live[1024], 66536);
  EXPECT_EQ(least[1024], 65536);
  EXPECT_EQ(live[1025], 65536);
  EXPECT_EQ(live[2048], 65536 + 16384);
  EXPECT_EQ(live[3073], 16384);
  EXPECT_EQ(live[4095], 16384);
  EXPECT_EQ(data.array("curve:alloc_count")[1024], 1);
  EXPECT_EQ(data.array("curve:free_count")[1024], 1);
  EXPECT_EQ(data.array("curve:alloc_bytes")[2048], 16384);
  EXPECT_EQ(data.array("curve:thread:0")[0], 65536);
  EXPECT_EQ(data.array("curve:class:10")[4000], 16384);
  EXPECT_EQ(data.array("curve:class:12")[3000], 65536);

  EXPECT_EQ(data.line("marks"),
            R"({"name":"marks","marks":[{"t":0.0010246,"kind":"mark","text":"half","thread":0}]})");
  EXPECT_EQ(data.line("address"),
            "{\"name\":\"address\",\"unit\":65536,\"height\":131072,\"ranges\":[[" + std::to_string(kBase) + ",2]]}");
  EXPECT_EQ(data.line("sites"), "{\"name\":\"sites\",\"frames\":[[],[16,32],[48]]}");

  using Values = std::vector<double>;
  EXPECT_EQ(data.array("ranges", "site"), (Values{0, 1, 2}));
  EXPECT_EQ(data.array("ranges", "from"), (Values{128, 0, 64}));
  EXPECT_EQ(data.array("ranges", "to"), (Values{256, 192, 64}));  // 256: never
  EXPECT_EQ(data.array("ranges", "count"), (Values{1, 1, 1}));
  EXPECT_EQ(data.array("ranges", "bytes"), (Values{16384, 65536, 1000}));
  EXPECT_EQ(data.array("temporary", "site"), (Values{1, 2}));
  EXPECT_EQ(data.array("temporary", "within"), (Values{1, 0}));  // the fourth event of its thread behind it; the next
  const Values lives = data.array("sizelife");
  ASSERT_EQ(lives.size(), 16u * 48 * 28);
  EXPECT_EQ(lives[(0 * 48 + 16) * 28 + 8], 1);  // 3.07 ms: from 10^-3 to 10^-2.5
  EXPECT_EQ(lives[(4 * 48 + 9) * 28 + 0], 1);   // 100 ns
  EXPECT_EQ(lives[(8 * 48 + 14) * 28 + 27], 1);

  EXPECT_EQ(data.member("blocks:0:0:0", "complete"), "true");
  const Values from = data.array("blocks:0:0:0", "from"), to = data.array("blocks:0:0:0", "to");
  ASSERT_EQ(from.size(), 3u);
  EXPECT_NEAR(from[1], 1024500 * kTick, 2e-12);
  EXPECT_NEAR(to[1], 1024600 * kTick, 2e-12);
  EXPECT_TRUE(std::isnan(to[2]));
  EXPECT_EQ(data.array("blocks:0:0:0", "y"), (Values{0, 65536, 65536}));
  EXPECT_EQ(data.array("blocks:0:0:0", "size"), (Values{65536, 1000, 16384}));
  EXPECT_EQ(data.array("blocks:0:0:0", "site"), (Values{1, 2, 0}));

  // Cells of 512 bytes × 16 µs.
  const Values tile = data.array("tile:0:0:0");
  ASSERT_EQ(tile.size(), 4u * 65536);
  const auto cell = [&](size_t plane, size_t x, size_t y) { return tile[plane * 65536 + y * 256 + x]; };
  EXPECT_EQ(cell(0, 0, 0), 255);
  EXPECT_EQ(cell(1, 0, 0), 12);
  EXPECT_EQ(cell(0, 191, 127), 255);
  EXPECT_EQ(cell(0, 192, 127), 8);  // half a microsecond of 16
  EXPECT_EQ(cell(0, 193, 127), 0);
  EXPECT_EQ(cell(0, 64, 128), 2);   // 100 ns of 16 µs
  EXPECT_EQ(cell(1, 64, 128), 6);
  EXPECT_EQ(cell(0, 63, 128), 0);
  EXPECT_EQ(cell(0, 129, 128), 255);
  EXPECT_EQ(cell(1, 129, 128), 10);
  EXPECT_EQ(cell(0, 129, 160), 0);
  EXPECT_EQ(cell(3, 129, 128), 0);
  // It was allocated 2048 µs before the cell's middle.
  EXPECT_NEAR(cell(2, 255, 130), 1 + 254 * (std::log10(2048e-6) + 6) / 10, 1);
  EXPECT_TRUE(data.has("tile:1:0:0"));

  EXPECT_EQ(data.member("holders", "unit"), "65536");
  EXPECT_TRUE(data.array("holders", "site").empty());  // no moment was in those 100 ns, and a quarter is not below it
}

TEST_F(Plot, AskedForATime) {
  write_file(folder / "a", {block_of(three_blocks())});
  PlotOptions options;
  options.from = 0.002;
  options.to = 0.003;
  const PlotData data = plotted(options);
  EXPECT_EQ(data.member("meta", "allocations"), "1");
  const std::vector<double> live = data.array("curve:live_bytes");
  EXPECT_EQ(live[0], 65536);  // from before
  EXPECT_EQ(live[4095], 65536 + 16384);
  EXPECT_EQ(data.array("ranges", "bytes"), (std::vector<double>{16384}));
  EXPECT_EQ(data.array("blocks:0:0:0", "size"), (std::vector<double>{65536, 16384}));
  EXPECT_EQ(data.array("tile:0:0:0")[0], 255);
}

TEST_F(Plot, AChildBeginsWithItsParentsBlocks) {
  Encoder parent, child;
  parent.begin(0, 0);
  take(parent);
  parent.allocate(4096, kBase);
  const auto used = static_cast<uint32_t>(parent.bytes.size());
  parent.time(1000);
  parent.allocate(4096, kBase + 0x100000);  // after the fork
  parent.end();
  child.begin(1000, 0);
  child.cut(0, 0, used);
  take(child);
  child.allocate(100, kBase + 4096);
  child.time(2000);
  child.free(kBase);
  child.end();
  write_file(folder / "a", {block_of(parent), block_of(child, 0, 1, 1000)}, {{0, kNone}, {1, 0}});
  PlotOptions options;
  options.process = 1;
  const PlotData data = plotted(options);
  EXPECT_EQ(data.array("curve:live_bytes")[0], 4196);
  EXPECT_EQ(data.array("curve:live_bytes")[4095], 4196);  // the free is in the last one
  EXPECT_EQ(data.array("curve:live_min")[4095], 100);
  EXPECT_EQ(data.number("address", "height"), 65536);
  EXPECT_EQ(data.array("blocks:0:0:0", "thread"), (std::vector<double>{0, kOtherThread}));
}

TEST_F(Plot, BlocksFromBeforeTheRecording) {
  Encoder encoder;
  encoder.begin(0, 0);
  take(encoder);
  encoder.free(kBase);
  encoder.resize(kBase + 64, 128);
  encoder.time(5000);
  encoder.resize(kBase + 64, 256);
  encoder.end();
  write_file(folder / "a", {block_of(encoder)});
  const PlotData data = plotted();
  EXPECT_EQ(data.array("curve:free_count")[0], 1);
  EXPECT_EQ(data.array("curve:live_bytes")[4095], 256);
  EXPECT_NE(data.line("meta").find("2 events are of blocks from before"), std::string::npos);
  EXPECT_EQ(data.array("blocks:0:0:0", "size"), (std::vector<double>{128, 256}));
  EXPECT_EQ(data.array("holders", "units").back(), 1);
  EXPECT_EQ(data.array("holders", "bytes").back(), 256);
}

TEST_F(Plot, RunsThatAreNearlyEmpty) {
  Encoder encoder;
  encoder.begin(0, 0);
  encoder.stack_is(1, {0x10});
  take(encoder);
  encoder.run_is(kBase, 4, 64);
  encoder.run_is(kBase + 0x4000, 4, 1024);
  encoder.run_is(kBase + 0x8000, 1, 0);
  encoder.stack(1);
  encoder.allocate(64, kBase + 128);
  for (uint64_t i = 0; i < 8; ++i) encoder.allocate(1024, kBase + 0x4000 + i * 1024);
  encoder.time(5000);
  encoder.run_gone(kBase + 0x8000);
  encoder.time(10000);
  encoder.end();
  write_file(folder / "a", {block_of(encoder)});
  const PlotData data = plotted();
  using Values = std::vector<double>;
  EXPECT_EQ(data.array("runs", "address"), (Values{kBase, kBase + 0x4000, kBase + 0x8000}));
  EXPECT_EQ(data.array("runs", "block"), (Values{64, 1024, 0}));
  EXPECT_NEAR(data.array("runs", "to")[2], 5e-6, 1e-12);
  EXPECT_TRUE(std::isnan(data.array("runs", "to")[0]));
  EXPECT_EQ(data.member("holders", "unit"), "0");
  EXPECT_EQ(data.array("holders", "site").back(), 1);
  EXPECT_EQ(data.array("holders", "units").back(), 1);
  EXPECT_EQ(data.array("holders", "bytes").back(), 64);
}

TEST_F(Plot, ASampleIsWeighed) {
  Encoder encoder;
  encoder.begin(0, 0);
  encoder.stack_is(1, {0x10});
  take(encoder);
  encoder.stack(1);
  encoder.allocate(100, kBase);
  encoder.allocate(100, kBase + 112);  // was not taken into the sample
  encoder.end();
  Writer writer;
  ASSERT_TRUE(writer.open(folder / "a", new_file_header(1000)));
  ASSERT_TRUE(write_process(writer, 0));
  ASSERT_TRUE(writer.write(header_of(block_of(encoder)), std::span<const uint8_t>(encoder.bytes)));
  ASSERT_TRUE(writer.finish());
  const PlotData data = plotted();
  EXPECT_EQ(data.array("ranges", "site"), (std::vector<double>{1}));
  EXPECT_EQ(data.array("ranges", "count"), (std::vector<double>{11}));    // 1 / (1 - e^-0.1) = 10.508
  EXPECT_EQ(data.array("ranges", "bytes"), (std::vector<double>{1051}));
}

TEST_F(Plot, DamageIsPassedOver) {
  Encoder first = three_blocks(), second;
  second.begin(0, 0);
  second.allocate(32, kBase + 0x8000000);
  second.bytes.push_back(0xff);  // there is no such event
  write_file(folder / "a", {block_of(first), block_of(second, 1)});
  const PlotData data = plotted();
  EXPECT_EQ(data.member("meta", "allocations"), "4");
  EXPECT_NE(data.line("meta").find("1 parts of the file are damaged or missing"), std::string::npos);

  std::vector<uint8_t> bytes = bytes_of(folder / "a");
  bytes.resize(bytes.size() / 2);
  write_bytes(folder / "a", bytes);
  PlotData(plotted()).array("curve:live_bytes");
}

TEST_F(Plot, SaysWhatIsDamaged) {
  write_file(folder / "a", {block_of(three_blocks()), block_of(three_blocks(), 1)});
  ::testing::internal::CaptureStderr();
  plotted();
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  std::vector<uint8_t> bytes = bytes_of(folder / "a");
  bytes.resize(bytes.size() - sizeof(Trailer));
  write_bytes(folder / "a", bytes);
  ::testing::internal::CaptureStderr();
  EXPECT_NE(plotted().line("meta").find("\"notes\":[\"the file has no end"), std::string::npos);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "acre plot: '" + folder / "a" +
                "' has no end: it was cut off, or the recording goes on; what is there is drawn\n");
  bytes[64 + 64 + 20] ^= 1;  // in what the first chunk has
  write_bytes(folder / "a", bytes);
  ::testing::internal::CaptureStderr();
  plotted();
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("are damaged and were left out"), std::string::npos);
}

TEST_F(Plot, HasNothingToDraw) {
  write_file(folder / "a", {});
  PlotOptions options;
  options.path = folder / "a";
  options.output = folder / "a.plot";
  EXPECT_EQ(plot(options), 1);
  EXPECT_NE(access((folder / "a.plot").c_str(), F_OK), 0);

  Encoder one;
  one.begin(77, 0);
  one.allocate(10, kBase);
  write_file(folder / "a", {block_of(one)});
  EXPECT_EQ(plotted().array("curve:live_bytes")[4095], 10);

  Encoder none;
  none.begin(77, 0);
  none.end();
  write_file(folder / "a", {block_of(none)});
  EXPECT_EQ(plotted().array("curve:live_bytes")[4095], 0);
  EXPECT_FALSE(plotted().has("tile:0:0:0"));
  options.process = 5;
  EXPECT_EQ(plot(options), 1);
}

TEST(PlotRanges, BucketsArePutTogether) {
  const Folder folder;
  write_file(folder / "a", {});
  Reader reader;
  ASSERT_TRUE(reader.open(folder / "a"));
  const Order order(reader);
  Sites sites(reader, order);
  sites.choose(1000);
  Ranges ranges(100);
  for (uint32_t from = 0; from < 256; ++from) ranges.add({0, 10, 1, from, from, 1, 1});
  EXPECT_EQ(ranges.buckets(), 32u);
  PlotLines lines;
  ranges.write(lines, sites);
  std::ofstream(folder / "lines") << lines.text();
  const PlotData data(folder / "lines");
  EXPECT_EQ(data.array("ranges", "count"), std::vector<double>(32, 8));
  EXPECT_EQ(data.array("temporary", "bytes"), std::vector<double>(32, 80));
}

}  // namespace
}  // namespace acre::trace::testing
