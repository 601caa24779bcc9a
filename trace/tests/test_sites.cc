#include <cmath>

#include "build.h"
#include "check.h"
#include "compose.h"
#include "sites.h"

namespace acre::trace::testing {
namespace {

using record::Kind;

constexpr uint64_t kBlocks = 0x7f0000000000;
constexpr uint64_t kMs = 1'000'000;

std::vector<Site> sites_of(const std::string& path, SitesOptions options = {}) {
  std::vector<ProcessSites> found;
  int code = 1;
  options.path = path;
  EXPECT_TRUE(find_sites(options, found, code));
  EXPECT_EQ(code, 0);
  EXPECT_EQ(check_file(path).problems, 0u);
  return found.empty() ? std::vector<Site>() : found[0].sites;
}

const Site& with(const std::vector<Site>& sites, const Stacks::Frames& frames) {
  for (const Site& site : sites) {
    if (site.frames == frames) return site;
  }
  ADD_FAILURE() << "there is no such site";
  return sites.at(0);
}

// Thread 1 keeps a block and drops one; thread 2 frees a block of thread 1's.
void compose(const std::string& path, uint32_t every = 1) {
  Composer composer;
  ASSERT_TRUE(composer.open(path, every, "{}"));
  composer.stack_is(1, {0x10, 0x20});
  composer.stack_is(2, {0x30, 0x20});
  composer.allocate(1, 10 * kMs, Kind::kPlain, 0, 1000, kBlocks, 1);
  composer.allocate(1, 20 * kMs, Kind::kPlain, 0, 50, kBlocks + 0x10000, 2);
  composer.free(1, 20 * kMs, Kind::kPlain, kBlocks + 0x10000);
  composer.allocate(1, 30 * kMs, Kind::kPlain, 0, 70, kBlocks + 0x10000, 2);
  composer.free(2, 40 * kMs, Kind::kPlain, kBlocks + 0x10000);
  composer.allocate(2, 50 * kMs, Kind::kPlain, 0, 300, kBlocks + 0x20000);
  composer.resize(2, 60 * kMs, kBlocks + 0x20000, 400);
  ASSERT_TRUE(composer.finish());
}

TEST(Sites, OfAStack) {
  const Folder folder;
  compose(folder / "a");
  const auto sites = sites_of(folder / "a");
  const Site& keeps = with(sites, {0x10, 0x20});
  EXPECT_EQ(keeps.allocated.bytes, 1000);
  EXPECT_EQ(keeps.live.bytes, 1000);
  EXPECT_EQ(keeps.temporary.blocks, 0);
  EXPECT_NEAR(keeps.lifetime, 0.050, 1e-6);  // until the end
  const Site& drops = with(sites, {0x30, 0x20});
  EXPECT_EQ(drops.allocated.blocks, 2);
  EXPECT_EQ(drops.allocated.bytes, 120);
  EXPECT_EQ(drops.temporary.blocks, 1);  // the other one is freed by another thread
  EXPECT_EQ(drops.temporary.bytes, 50);
  EXPECT_EQ(drops.live.blocks, 0);
  EXPECT_EQ(drops.most.bytes, 70);
  EXPECT_EQ(drops.at_peak.bytes, 0);
  EXPECT_NEAR(drops.lifetime, 0.010, 1e-6);
  const Site& unknown = with(sites, {});
  EXPECT_EQ(unknown.allocated.blocks, 2);  // a resize ends a block, and begins one
  EXPECT_EQ(unknown.allocated.bytes, 700);
  EXPECT_EQ(unknown.live.bytes, 400);
  EXPECT_EQ(unknown.at_peak.bytes, 400);
}

TEST(Sites, AtATimeAndInARange) {
  const Folder folder;
  compose(folder / "a");
  SitesOptions options;
  options.at = 0.035;
  EXPECT_EQ(with(sites_of(folder / "a", options), {0x30, 0x20}).live.bytes, 70);
  options.from = 0.025;
  options.to = 0.045;
  options.at = {};
  const auto sites = sites_of(folder / "a", options);
  EXPECT_EQ(with(sites, {0x30, 0x20}).allocated.bytes, 70);
  EXPECT_EQ(with(sites, {}).allocated.bytes, 0);
  for (const Site& site : sites) EXPECT_EQ(site.live.bytes, 0);  // what is older does not count
}

TEST(Sites, OfASampleAreWeighed) {
  const Folder folder;
  compose(folder / "a", 500);
  const auto sites = sites_of(folder / "a");
  EXPECT_NEAR(with(sites, {0x10, 0x20}).live.bytes, 1000 / (1 - std::exp(-2.0)), 1e-6);
  EXPECT_NEAR(with(sites, {0x30, 0x20}).temporary.blocks, 1 / (1 - std::exp(-0.1)), 1e-6);
  EXPECT_EQ(with(sites, {}).allocated.blocks, 0);  // no sample was taken of it
}

TEST(Sites, OfAForkedChild) {
  const Folder folder;
  Encoder parent, ended, child;
  parent.begin(0, 0);
  parent.stack_is(7, {0x10});
  parent.takeover(record::shard_of(kBlocks), 1, 1);
  parent.stack(7);
  parent.allocate(100, kBlocks);
  parent.allocate(30, kBlocks + 256);
  parent.allocate(40, kBlocks + 1024);
  const uint64_t cut = parent.bytes.size();
  parent.sync(2);
  parent.takeover(record::shard_of(kBlocks), 3, 3);
  parent.free(kBlocks);
  parent.end();
  ended.begin(1, 0);  // a thread that frees a block, and ends before the fork
  ended.takeover(record::shard_of(kBlocks), 2, 2);
  ended.free(kBlocks + 1024);
  ended.end();
  child.begin(10, 0);
  child.cut(0, 0, cut);
  child.cut(2, 0, 0);
  child.takeover(record::shard_of(kBlocks), 1, 1);
  child.free(kBlocks + 256);
  child.stack(7);
  child.allocate(5, kBlocks + 512);
  child.end();
  write_file(folder / "a", {{0, 0, 0, 0, 0, parent.bytes, 4}, {0, 1, 0, 1, 0, ended.bytes, 1},
                            {1, 0, 0, 10, 0, child.bytes, 2}},
             {{0, kNone}, {1, 0}});
  EXPECT_EQ(check_file(folder / "a").problems, 0u);
  std::vector<ProcessSites> found;
  int code = 1;
  ASSERT_TRUE(find_sites({.path = folder / "a", .process = 1, .from = {}, .to = {}, .at = {}}, found, code));
  ASSERT_EQ(found.size(), 1u);
  const Site& site = with(found[0].sites, {0x10});
  EXPECT_EQ(site.inherited.bytes, 100);
  EXPECT_EQ(site.allocated.bytes, 5);
  EXPECT_EQ(site.live.bytes, 105);
  EXPECT_EQ(with(found[0].sites, {}).live.bytes, 0);
  EXPECT_EQ(with(found[0].sites, {}).inherited.bytes, 30);
}

}  // namespace
}  // namespace acre::trace::testing
