// The control socket's requests and answers: live/.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "cache/registry.h"
#include "control/ctl.h"
#include "control/nodes.h"
#include "live/base64.h"
#include "live/request.h"
#include "live/value.h"
#include "live/verbs.h"
#include "manual/tags.h"
#include "os/socket.h"
#include "support.h"

namespace acre::live {

namespace {

struct Parsed {
  std::string wrong, verb, name, value;
};

Parsed parsed(std::string line) {
  Request request;
  const char* wrong = parse(line.data(), &request);
  if (wrong != nullptr) return {wrong, "", "", ""};
  return {"", request.verb, request.name, request.value};
}

// What a client is told, by way of a real socket.
std::string asked(std::string line) {
  int ends[2];
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  std::string told;
  std::thread reader([&] {
    char part[4096];
    while (os::wait_for(ends[1], os::Direction::kRead, 10000)) {
      const long got = os::receive(ends[1], part, sizeof part);
      if (got <= 0) break;
      told.append(part, static_cast<size_t>(got));
    }
  });
  Reply reply(ends[0], os::now_ms() + 10000);
  answer(line.data(), reply);
  close(ends[0]);
  reader.join();
  close(ends[1]);
  EXPECT_FALSE(told.empty());
  EXPECT_EQ(told.back(), '\0') << line;
  told.pop_back();
  return told;
}

TEST(LiveRequest, VerbNameValue) {
  const Parsed whole = parsed("  ctl \t opt.prof_folder   /a folder/with blanks  \r");
  EXPECT_EQ(whole.wrong, "");
  EXPECT_EQ(whole.verb, "ctl");
  EXPECT_EQ(whole.name, "opt.prof_folder");
  EXPECT_EQ(whole.value, "/a folder/with blanks");
  EXPECT_EQ(parsed("info").verb, "info");
  EXPECT_EQ(parsed("info").name, "");
  EXPECT_EQ(parsed("ctl version").value, "");
}

TEST(LiveRequest, WhatIsNone) {
  EXPECT_NE(parsed("").wrong, "");
  EXPECT_NE(parsed(" \t ").wrong, "");
  EXPECT_NE(parsed("\r").wrong, "");
  EXPECT_NE(parsed("in\x01fo").wrong, "");
  EXPECT_NE(parsed("info\x7f").wrong, "");
  EXPECT_NE(parsed("a\rb").wrong, "");
  EXPECT_EQ(parsed("ctl \xc3\xa4").name, "\xc3\xa4");
}

TEST(LiveRequest, ALineComesInParts) {
  RequestLine line;
  EXPECT_EQ(line.add("ct", 2), RequestLine::State::kMore);
  EXPECT_EQ(line.add("", 0), RequestLine::State::kMore);
  EXPECT_EQ(line.add("l version\nmore", 14), RequestLine::State::kWhole);
  EXPECT_STREQ(line.text(), "ctl version");
}

TEST(LiveRequest, ALineHasAMost) {
  RequestLine fits, longer;
  const std::string most(kMostRequest - 1, 'x');
  EXPECT_EQ(fits.add(most.data(), most.size()), RequestLine::State::kMore);
  EXPECT_EQ(fits.add("\n", 1), RequestLine::State::kWhole);
  EXPECT_EQ(std::string(fits.text()), most);
  EXPECT_EQ(longer.add(most.data(), most.size()), RequestLine::State::kMore);
  EXPECT_EQ(longer.add("x", 1), RequestLine::State::kTooLong);
}

TEST(LiveRequest, AByteOfZeroHidesNothing) {
  RequestLine line;
  EXPECT_EQ(line.add("info\0purge\n", 11), RequestLine::State::kWhole);
  Request request;
  EXPECT_NE(parse(line.text(), &request), nullptr);
}

// Whatever comes, the parts of a request lie in the line, in order, without control characters.
TEST(LiveRequest, AnyBytes) {
  test::Random random(7);
  const char kLikely[] = "ctl info stats opt.arenas \t\r\n\0\x7f\xff 4096";
  for (int turn = 0; turn < 20000; ++turn) {
    RequestLine line;
    RequestLine::State state = RequestLine::State::kMore;
    const size_t parts = random.between(1, 6);
    for (size_t part = 0; part < parts && state == RequestLine::State::kMore; ++part) {
      std::string bytes(random.below(random.one_in(50) ? 2 * kMostRequest : 40), '\0');
      for (char& c : bytes) c = random.one_in(4) ? static_cast<char>(random.next()) : kLikely[random.below(sizeof kLikely)];
      state = line.add(bytes.data(), bytes.size());
    }
    const std::string before = line.text();
    ASSERT_LT(before.size(), kMostRequest);
    Request request;
    if (parse(line.text(), &request) != nullptr) continue;
    ASSERT_NE(*request.verb, '\0');
    const size_t size = strlen(request.verb) + strlen(request.name) + strlen(request.value);
    ASSERT_LE(size, before.size());
    for (const char* part : {request.verb, request.name, request.value}) {
      ASSERT_GE(part, line.text());
      ASSERT_LE(part + strlen(part), line.text() + before.size());
      for (const char* at = part; *at != '\0'; ++at) ASSERT_TRUE(static_cast<unsigned char>(*at) >= ' ' || *at == '\t');
    }
  }
}

TEST(LiveValue, ReadsEachType) {
  using ctl::Type;
  ctl::Value value{};
  EXPECT_EQ(read_value(Type::kBool, "true", &value), nullptr);
  EXPECT_TRUE(value.as<bool>());
  EXPECT_EQ(read_value(Type::kBool, "0", &value), nullptr);
  EXPECT_FALSE(value.as<bool>());
  EXPECT_EQ(read_value(Type::kSsize, "-1", &value), nullptr);
  EXPECT_EQ(value.as<ssize_t>(), -1);
  EXPECT_EQ(read_value(Type::kSsize, "3G", &value), nullptr);
  EXPECT_EQ(value.as<ssize_t>(), ssize_t{3} << 30);
  EXPECT_EQ(read_value(Type::kUnsigned, "4294967295", &value), nullptr);
  EXPECT_EQ(value.as<unsigned>(), 4294967295u);
  EXPECT_EQ(read_value(Type::kU32, "7", &value), nullptr);
  EXPECT_EQ(value.as<uint32_t>(), 7u);
  EXPECT_EQ(read_value(Type::kU64, "18446744073709551615", &value), nullptr);
  EXPECT_EQ(value.as<uint64_t>(), ~uint64_t{0});
  EXPECT_EQ(read_value(Type::kSize, "2k", &value), nullptr);
  EXPECT_EQ(value.as<size_t>(), 2048u);
  EXPECT_EQ(read_value(Type::kString, "a b", &value), nullptr);
  EXPECT_STREQ(value.as<const char*>(), "a b");
}

TEST(LiveValue, RefusesWhatIsNone) {
  using ctl::Type;
  ctl::Value value{};
  for (const char* text : {"", "2", "yes", "TRUE", "true ", "-"}) EXPECT_NE(read_value(Type::kBool, text, &value), nullptr) << text;
  for (const char* text : {"", "-", "--1", "1x", "1KK", "K", "0x10", "1.5", "1 2", "9223372036854775808", "9000000T",
                           "18446744073709551616"}) {
    EXPECT_NE(read_value(Type::kSsize, text, &value), nullptr) << text;
  }
  for (const char* text : {"-1", "4294967296", "4G", ""}) EXPECT_NE(read_value(Type::kUnsigned, text, &value), nullptr) << text;
  for (const char* text : {"-1", "18446744073709551616", "16777216T"}) {
    EXPECT_NE(read_value(Type::kU64, text, &value), nullptr) << text;
  }
  EXPECT_NE(read_value(Type::kHooks, "4096", &value), nullptr);
  EXPECT_NE(read_value(Type::kCounter, "4096", &value), nullptr);
}

TEST(LiveAnswer, Verbs) {
  EXPECT_EQ(asked("info").rfind("ok\n{\"acre\":", 0), 0u);
  EXPECT_EQ(asked("stats").rfind("ok\nacre ", 0), 0u);
  EXPECT_EQ(asked("stats json gmablxe").rfind("ok\n{\"acre\":", 0), 0u);
  EXPECT_EQ(asked("purge").rfind("ok\n{\"returned\":", 0), 0u);
  EXPECT_EQ(asked("regions").rfind("ok\n{\"regions\":[", 0), 0u);
  EXPECT_EQ(asked("pages").rfind("ok\n{\"runs\":", 0), 0u);
  EXPECT_EQ(asked("ctl").rfind("ok\n{\"names\":[", 0), 0u);
  const std::string metrics = asked("stats openmetrics");
  EXPECT_EQ(metrics.find("# EOF\n") + 6, metrics.size());
}

TEST(LiveAnswer, Errors) {
  EXPECT_EQ(asked("nonsense"), "error: there is no verb 'nonsense'; `info` names them\n");
  EXPECT_EQ(asked("stats yaml"), "error: statistics are summary, text, json or openmetrics\n");
  EXPECT_EQ(asked("ctl no.such"), "error: there is no name 'no.such'\n");
  EXPECT_EQ(asked("ctl stats.arenas.9999.pdirty"), "error: there is no name 'stats.arenas.9999.pdirty'\n");
  EXPECT_EQ(asked("ctl version 1"), "error: version cannot be changed\n");
  EXPECT_EQ(asked("ctl opt.arenas 5"), "error: opt.arenas cannot be changed\n");
  EXPECT_EQ(asked("ctl arena.0.purge 5"), "error: arena.0.purge takes no value\n");
  EXPECT_EQ(asked("ctl opt.stats_print maybe"),
            "error: 'maybe' does not fit opt.stats_print, a bool: expected is true or false\n");
  EXPECT_EQ(asked("ctl opt.dirty_decay_ms -2"),
            "error: '-2' is out of the range of opt.dirty_decay_ms, which is from -1 to 9223372036854\n");
  EXPECT_NE(asked("info more").rfind("ok", 0), 0u);
  EXPECT_NE(asked("purge 5").rfind("ok", 0), 0u);
}

TEST(LiveAnswer, WhatIsForTheProgramAlone) {
  for (const char* name : {"thread.arena", "thread.allocatedp", "thread.tcache.flush", "thread.prof.active", "tcache.create",
                           "tcache.destroy 0", "arena.0.extent_hooks", "arena.0.extent_hooks 4096", "arenas.create",
                           "arenas.lookup", "arenas.lookup 4096", "arena.0.reset", "arena.0.destroy"}) {
    EXPECT_NE(asked(std::string("ctl ") + name).find(" can only be used by the program itself\n"), std::string::npos) << name;
  }
}

// No client says where a process writes, or has it write a file.
TEST(LiveAnswer, NoPaths) {
  for (const char* name : {"prof.dump", "prof.dump /tmp/acre.heap", "prof.prefix /tmp/acre", "leaks.dump",
                           "leaks.dump /tmp/acre.json"}) {
    EXPECT_NE(asked(std::string("ctl ") + name).find(" says where a file is to be"), std::string::npos) << name;
  }
  const std::string names = asked("ctl");
  for (const char* name : {"prof.dump", "prof.prefix", "leaks.dump"}) {
    EXPECT_EQ(names.find('"' + std::string(name) + '"'), std::string::npos) << name;
  }
}

TEST(LiveBase64, AsTheStandardHasIt) {
  const std::string bytes = "foobar";
  const char* wanted[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"};
  for (size_t size = 0; size <= bytes.size(); ++size) {
    for (size_t cut = 0; cut <= size; ++cut) {
      Base64 encode;
      char text[Base64::most_text(6) * 2 + Base64::kMostRest];
      size_t at = encode.add(bytes.data(), cut, text);
      at += encode.add(bytes.data() + cut, size - cut, text + at);
      at += encode.finish(text + at);
      EXPECT_EQ(std::string(text, at), wanted[size]);
    }
  }
  const unsigned char all[] = {0x00, 0x10, 0x83, 0xfb, 0xff, 0xbf};  // the first digits and the last
  char text[Base64::most_text(6)];
  Base64 encode;
  EXPECT_EQ(std::string(text, encode.add(reinterpret_cast<const char*>(all), 6, text)), "ABCD+/+/");
}

TEST(LiveAnswer, ReadsAndWrites) {
  const std::string before = asked("ctl opt.dirty_decay_ms");
  EXPECT_EQ(asked("ctl opt.dirty_decay_ms 1234"), "ok\n{\"name\":\"opt.dirty_decay_ms\",\"type\":\"ssize_t\",\"value\":1234}\n");
  EXPECT_EQ(asked("ctl opt.dirty_decay_ms 10000"), before);
  EXPECT_EQ(asked("ctl arena.4096.purge"), "ok\n{\"name\":\"arena.4096.purge\",\"type\":\"void\"}\n");
}

// Every name that can be read answers with a value of JSON, whatever stands for its numbers.
TEST(LiveAnswer, EveryName) {
  ASSERT_NE(registry::arena_at(0), nullptr);
  ASSERT_NE(tags::find("the first"), nullptr);
  for (unsigned i = 0; i < ctl::node_count(); ++i) {
    if (ctl::node(i).kind != ctl::Kind::kValue) continue;
    std::string name = ctl::node(i).name;
    while (name.find('#') != std::string::npos) name.replace(name.find('#'), 1, "0");
    const std::string told = asked("ctl " + name);
    const bool refused = told.find(" can only be used by the program itself\n") != std::string::npos;
    EXPECT_TRUE(refused || told.rfind("ok\n{\"name\":\"" + name + "\"", 0) == 0) << told;
  }
}

// What programs call things, and where they write, may be anything.
TEST(LiveAnswer, StrangeNames) {
  static const char kStrange[] = "a\"b\\c\n\t\x01\x7f \xc3\xa4\xff";
  static const char kAsJson[] = "\"a\\\"b\\\\c\\u000a\\u0009\\u0001\x7f \xc3\xa4\xef\xbf\xbd" "ff\"}\n";
  const auto ends_well = [](const std::string& told) { return told.find(kAsJson) != std::string::npos; };
  unsigned arena = 0;
  size_t size = sizeof arena;
  const char* name = kStrange;
  ASSERT_EQ(ctl::by_name("arenas.create", &arena, &size, nullptr, 0), 0);
  const std::string node = "arena." + std::to_string(arena) + ".name";
  ASSERT_EQ(ctl::by_name(node.c_str(), nullptr, nullptr, &name, sizeof name), 0);
  EXPECT_TRUE(ends_well(asked("ctl " + node))) << asked("ctl " + node);
  EXPECT_EQ(ctl::by_name(("arena." + std::to_string(arena) + ".destroy").c_str(), nullptr, nullptr, nullptr, 0), 0);
  const unsigned option = index_of(Option::prof_folder);
  ASSERT_TRUE(set_option(option, reinterpret_cast<int64_t>(kStrange), OptionSource::kDefault));
  EXPECT_TRUE(ends_well(asked("ctl opt.prof_folder"))) << asked("ctl opt.prof_folder");
  set_option(option, 0, OptionSource::kDefault);
  Tag* tag = tags::find(kStrange);
  const std::string of_tag = "ctl stats.tags." + std::to_string(tag->number) + ".name";
  EXPECT_TRUE(ends_well(asked(of_tag))) << asked(of_tag);
  tags::drop(tag);
}

TEST(LiveReply, AClientThatIsGoneOrNeverReadsLoses) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  {
    Reply reply(ends[0], os::now_ms());  // its time is over as soon as it has to wait
    char line[] = "ctl";
    for (int i = 0; i < 1000 && !reply.lost(); ++i) Reply::write(&reply, std::string(4096, 'x').c_str());
    EXPECT_TRUE(reply.lost());
    answer(line, reply);
  }
  close(ends[1]);
  Reply reply(ends[0], os::now_ms() + 1000);
  reply.refuse("nobody hears this");  // and no SIGPIPE comes of it
  EXPECT_TRUE(reply.lost());
  close(ends[0]);
}

TEST(LiveFolder, OnlyAnOwnOneWillDo) {
  char root[] = "/tmp/acre-live-XXXXXX";
  ASSERT_NE(mkdtemp(root), nullptr);
  const std::string folder = std::string(root) + "/acre", link = std::string(root) + "/link";
  EXPECT_TRUE(os::make_own_folder(folder.c_str(), geteuid()));
  EXPECT_TRUE(os::make_own_folder(folder.c_str(), geteuid()));
  EXPECT_EQ(symlink(folder.c_str(), link.c_str()), 0);
  EXPECT_FALSE(os::make_own_folder(link.c_str(), geteuid()));
  EXPECT_EQ(chmod(folder.c_str(), 0750), 0);
  EXPECT_FALSE(os::make_own_folder(folder.c_str(), geteuid()));
  EXPECT_EQ(chmod(folder.c_str(), 0700), 0);
  EXPECT_EQ(chmod(root, 0777), 0);  // anyone could put another folder in its place
  EXPECT_FALSE(os::make_own_folder(folder.c_str(), geteuid()));
  EXPECT_EQ(chmod(root, 01777), 0);
  EXPECT_TRUE(os::make_own_folder(folder.c_str(), geteuid()));
  if (geteuid() == 0) {
    EXPECT_EQ(chown(folder.c_str(), 65534, 65534), 0);
    EXPECT_FALSE(os::make_own_folder(folder.c_str(), geteuid()));
    EXPECT_TRUE(os::make_own_folder(folder.c_str(), 65534));
  }
  unlink(link.c_str());
  rmdir(folder.c_str());
  rmdir(root);
}

}  // namespace

}  // namespace acre::live
