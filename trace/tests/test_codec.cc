#include <random>

#include "build.h"
#include "decode.h"
#include "skim.h"

namespace acre::trace::testing {
namespace {

using record::Kind;
using record::Op;

// A skimmer finds what the events say.
void expect_skimmed(const std::vector<uint8_t>& bytes, uint64_t ticks, const std::vector<Event>& events) {
  std::vector<uint64_t> stacks, expected_stacks;
  const Skimmed found = Skimmer(bytes, ticks).run([&](uint64_t stack, std::span<const uint8_t> event) {
    Decoder decoder;
    decoder.begin(event, 0, 0);
    Event alone;
    EXPECT_TRUE(decoder.next(alone) && alone.what == What::kStackIs && alone.numbers[0] == stack);
    stacks.push_back(stack);
  });
  uint64_t blocks = 0, lost = 0;
  for (const Event& event : events) {
    blocks += is_of_block(event.what);
    if (event.what == What::kLost) lost += event.numbers[0];
    if (event.what == What::kStackIs) expected_stacks.push_back(event.numbers[0]);
  }
  EXPECT_TRUE(found.is_whole);
  EXPECT_EQ(found.events, blocks);
  EXPECT_EQ(found.lost, lost);
  EXPECT_EQ(stacks, expected_stacks);
  EXPECT_GE(found.ticks, events.empty() ? ticks : events.back().ticks);
}

std::vector<Event> decoded(const std::vector<uint8_t>& bytes, uint64_t ticks = 0, uint64_t seen = 0) {
  Decoder decoder;
  decoder.begin(bytes, ticks, seen);
  std::vector<Event> events;
  Event event;
  while (decoder.next(event)) events.push_back(event);
  EXPECT_EQ(decoder.error(), nullptr) << decoder.error() << " at " << decoder.offset();
  expect_skimmed(bytes, ticks, events);
  return events;
}

TEST(Codec, EachEventIsReadAsItWasWritten) {
  Encoder encoder;
  encoder.begin(1000, 50);
  encoder.allocate(24, 0x7f0000001230);
  encoder.time(1500);
  encoder.kind(Kind::kZeroed);
  encoder.stack(7);
  encoder.allocate(1 << 20, 0x7f0000200000);
  encoder.kind(Kind::kAligned, 12);
  encoder.allocate(3, 0x7f0000001000);
  encoder.allocate(0, 0x7f0000001008);
  encoder.allocate(100, 0x7f0000000008);  // no multiple of 16
  encoder.free(0x7f0000001230);
  encoder.free(0x7e0000000000, true);  // from before
  encoder.resize(0x7f0000200000, UINT64_MAX);
  encoder.takeover(65535, 3, 60);
  encoder.sync(77);
  encoder.stack_is(7, {0x401000, 0x400800, UINT64_MAX});
  encoder.text(Op::kMark, "request 17");
  encoder.text(Op::kName, "");
  encoder.lost(9);
  encoder.figures({1, 2, 3, 4, 5, UINT64_MAX});
  encoder.run_is(0x7f0000300000, 8, 48);
  encoder.run_gone(0x7f0000100000);
  encoder.purged(33);
  encoder.cut(1, 2, 3);
  encoder.text(Op::kTag, "query 17");
  encoder.free(0x7f0000200000, true);
  encoder.end();
  const std::vector<Event> events = decoded(encoder.bytes, 1000, 50);
  ASSERT_EQ(events.size(), 22u);
  const auto is = [&](size_t i, What what, uint64_t address, uint64_t size) {
    EXPECT_EQ(events[i].what, what) << i;
    EXPECT_EQ(events[i].address, address) << i;
    EXPECT_EQ(events[i].size, size) << i;
  };
  is(0, What::kAllocate, 0x7f0000001230, 24);
  EXPECT_EQ(events[0].ticks, 1000u);
  EXPECT_EQ(events[0].stack, kNoStack);
  is(1, What::kAllocate, 0x7f0000200000, 1 << 20);
  EXPECT_EQ(events[1].ticks, 1500u);
  EXPECT_EQ(events[1].stack, 7u);
  EXPECT_EQ(events[1].kind, Kind::kZeroed);
  is(2, What::kAllocate, 0x7f0000001000, 3);
  EXPECT_EQ(events[2].kind, Kind::kAligned);
  EXPECT_EQ(events[2].align_log2, 12);
  EXPECT_EQ(events[2].stack, kNoStack);
  is(3, What::kAllocate, 0x7f0000001008, 0);
  EXPECT_EQ(events[3].kind, Kind::kPlain);
  is(4, What::kAllocate, 0x7f0000000008, 100);
  is(5, What::kFree, 0x7f0000001230, 0);
  is(6, What::kFree, 0x7e0000000000, 0);
  EXPECT_EQ(events[6].kind, Kind::kSized);
  is(7, What::kResize, 0x7f0000200000, UINT64_MAX);
  EXPECT_EQ(events[8].numbers, (std::array<uint64_t, 3>{65535, 3, 60}));
  EXPECT_EQ(events[9].numbers[0], 77u);
  EXPECT_EQ(events[10].list, (std::vector<uint64_t>{0x401000, 0x400800, UINT64_MAX}));
  EXPECT_EQ(events[11].text, "request 17");
  EXPECT_EQ(events[12].text, "");
  EXPECT_EQ(events[13].numbers[0], 9u);
  EXPECT_EQ(events[14].list, (std::vector<uint64_t>{1, 2, 3, 4, 5, UINT64_MAX}));
  is(15, What::kRunIs, 0x7f0000300000, 0);
  EXPECT_EQ(events[15].numbers[0], 8u);
  EXPECT_EQ(events[15].numbers[1], 48u);
  is(16, What::kRunGone, 0x7f0000100000, 0);
  EXPECT_EQ(events[17].numbers[0], 33u);
  EXPECT_EQ(events[18].numbers, (std::array<uint64_t, 3>{1, 2, 3}));
  EXPECT_EQ(events[19].what, What::kTag);
  EXPECT_EQ(events[19].text, "query 17");
  is(20, What::kFree, 0x7f0000200000, 0);
  EXPECT_EQ(events[20].kind, Kind::kSized);
}

// Many blocks that share slots of the table of recent blocks, of all contexts.
TEST(Codec, RandomBlocksComeBack) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    Encoder encoder(1 << 20);
    encoder.begin(0, 0);
    std::vector<std::pair<uint64_t, uint64_t>> live;
    struct Expected {
      What what;
      uint64_t address, size;
    };
    std::vector<Expected> expected;
    for (int i = 0; i < 5000; ++i) {
      if (!live.empty() && random() % 2 == 0) {
        std::swap(live[random() % live.size()], live.back());
        encoder.free(live.back().first);
        expected.push_back({What::kFree, live.back().first, 0});
        live.pop_back();
      } else {
        const uint64_t size = random() >> (random() % 64);
        const uint64_t address = (random() & 0x7fffffffffff) & ~uint64_t{7};
        encoder.allocate(size, address);
        expected.push_back({What::kAllocate, address, size});
        live.emplace_back(address, size);
      }
    }
    const std::vector<Event> events = decoded(encoder.bytes);
    ASSERT_EQ(events.size(), expected.size());
    for (size_t i = 0; i < events.size(); ++i) {
      ASSERT_EQ(events[i].what, expected[i].what) << i;
      ASSERT_EQ(events[i].address, expected[i].address) << i;
      ASSERT_EQ(events[i].size, expected[i].size) << i;
    }
  }
}

std::string error_of(const std::vector<uint8_t>& bytes, uint32_t* offset = nullptr) {
  // In a block of exactly that size, so that a sanitizer sees a read behind it.
  const std::vector<uint8_t> exact(bytes.begin(), bytes.end());
  Decoder decoder;
  decoder.begin(exact, 0, 0);
  Event event;
  while (decoder.next(event)) {
  }
  if (offset != nullptr) *offset = decoder.offset();
  return decoder.error() == nullptr ? "" : decoder.error();
}

TEST(Codec, DamageIsNamedWithItsPlace) {
  const auto op = [](Op which) { return static_cast<uint8_t>(0xc0 | static_cast<uint8_t>(which)); };
  uint32_t offset;
  EXPECT_EQ(error_of({0x90, 0x00, 0x02, 0x00, 0x00}, &offset), "a slot of recent blocks is empty");
  EXPECT_EQ(offset, 3u);
  EXPECT_EQ(error_of({0x7f, 0x7f}), "a slot of recent blocks has too large a number");
  EXPECT_EQ(error_of({0xff}), "there is no such event");
  EXPECT_EQ(error_of({op(Op::kKind), 6}), "there is no such kind");
  EXPECT_EQ(error_of({op(Op::kKind), 2, 64}), "an alignment is too large");
  EXPECT_EQ(error_of({op(Op::kKind), 1}), "the block ends before the event that a kind or stack belongs to");
  EXPECT_EQ(error_of({op(Op::kKind), 1, op(Op::kSync), 0}),
            "a kind or stack stands before what is no allocation, free or resize");
  EXPECT_EQ(error_of({op(Op::kTime), 0x80}), "the block ends within an event");
  EXPECT_EQ(error_of({op(Op::kTime), 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2}),
            "a number has more than 64 bits");
  EXPECT_EQ(error_of({op(Op::kMark), 5, 'a'}), "the block ends within a text");
  EXPECT_EQ(error_of({op(Op::kMark), 0x80, 2}), "a text is too long");
  EXPECT_EQ(error_of({op(Op::kTakeover), 0x80, 0x80, 4, 0, 0}), "a shard has too large a number");
  EXPECT_EQ(error_of({op(Op::kStackIs), 0, 0x81, 1}), "a stack has too many frames");
  EXPECT_EQ(error_of({op(Op::kMallocAt), 1, 0, 0}), "the block ends within an address");
  EXPECT_EQ(error_of({op(Op::kTime), 3}), "");
}

TEST(Codec, ABlockThatIsCutAnywhereIsReadUpToThere) {
  Encoder encoder;
  encoder.begin(0, 0);
  for (uint64_t i = 0; i < 40; ++i) {
    encoder.kind(Kind::kZeroed);
    encoder.allocate(i * 1000, 0x7f0000000000 + i * 65536);
    if (i % 3 == 0) encoder.free(0x7f0000000000 + i * 65536);
    if (i % 7 == 0) encoder.text(Op::kMark, "mark");
  }
  const size_t all = decoded(encoder.bytes).size();
  size_t last = 0;
  for (size_t length = 0; length <= encoder.bytes.size(); ++length) {
    const std::vector<uint8_t> part(encoder.bytes.begin(), encoder.bytes.begin() + static_cast<long>(length));
    Decoder decoder;
    decoder.begin(part, 0, 0);
    Event event;
    size_t count = 0;
    while (decoder.next(event)) ++count;
    EXPECT_LE(Skimmer(part, 0).run([](uint64_t, auto) {}).events, count);
    EXPECT_TRUE(count == last || count == last + 1) << length;
    last = count;
  }
  EXPECT_EQ(last, all);
}

}  // namespace
}  // namespace acre::trace::testing
