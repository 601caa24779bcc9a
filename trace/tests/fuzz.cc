// Damaged files and blocks: nothing may crash, hang or read outside. fuzz SEED runs some thousand; built with
// -fsanitize=fuzzer -DACRE_LIBFUZZER it is a target for libFuzzer.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <string>

#include "check.h"
#include "skim.h"
#include "encode.h"
#include "export.h"
#include "file.h"
#include "import.h"
#include "mappings.h"
#include "order.h"
#include "plot.h"
#include "sites.h"
#include "timeline.h"

namespace record = acre::record;
using namespace acre::trace;

namespace {

void read_block(const uint8_t* data, size_t size) {
  const std::vector<uint8_t> exact(data, data + size);
  Decoder decoder;
  decoder.begin(exact, 0, 0);
  Event event;
  size_t events = 0;
  while (decoder.next(event)) {
    if (++events > size) abort();  // each has a byte at least
  }
  if (decoder.offset() > size) abort();
  if (Skimmer(exact, 0).run([](uint64_t, auto) {}).events > size) abort();
}

const std::string& path() {
  static const std::string kPath =
      std::string(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/acre-trace-fuzz-" + std::to_string(getpid());
  return kPath;
}

void read_file(const uint8_t* data, size_t size) {
  std::ofstream(path(), std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<long>(size));
  check_file(path());
  mappings(path());
  SitesOptions sites_options;
  sites_options.path = path();
  sites(sites_options);
  TimelineOptions timeline_options;
  timeline_options.path = path();
  timeline_options.blocks_every = 100;
  timeline(timeline_options);
  ExportOptions export_options;
  export_options.path = path();
  for (const char* format : {"text", "heaptrack"}) {
    export_options.format = format;
    export_events(export_options);
  }
}

// What another tool has written may be anything; what is made of it is a sound recording, or none.
void import_file(const uint8_t* data, size_t size) {
  const std::string to = path() + ".import";
  std::ofstream(path(), std::ios::binary).write(reinterpret_cast<const char*>(data), static_cast<long>(size));
  import({path(), to});
  if (access(to.c_str(), F_OK) == 0) {
    const CheckResult result = check_file(to);
    if (!result.error.empty() || result.problems != 0 || result.damaged_bytes != 0) abort();
    unlink(to.c_str());
  }
}

void plot_file() {
  PlotOptions options;
  options.path = path();
  options.output = path() + ".plot";
  options.deepest = 0;
  plot(options);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read_block(data, size);
  read_file(data, size);
  plot_file();
  import_file(data, size);
  return 0;
}

#ifndef ACRE_LIBFUZZER

namespace {

std::vector<uint8_t> random_events(std::mt19937_64& random) {
  Encoder encoder;
  encoder.begin(0, 0);
  uint64_t counter = 0;
  for (int i = 0; i < 300; ++i) {
    const uint64_t address = 0x7f0000000000 + (random() % 4096) * 64;
    switch (random() % 13) {
      case 0: encoder.time(static_cast<uint64_t>(i) * 100); break;
      case 1: encoder.takeover(record::shard_of(address), 1 + random() % 4, ++counter); break;
      case 2: encoder.sync(counter); break;
      case 3: encoder.text(record::Op::kMark, "mark"); break;
      case 4: encoder.stack_is(random() % 100, {random(), random()}); break;
      case 5: encoder.cut(random() % 3, random() % 3, random() % 1000); break;
      case 6: encoder.resize(address, random() % 100000); break;
      case 7:
      case 8: encoder.free(address); break;
      case 9: encoder.text(record::Op::kTag, std::string_view("tag 9", random() % 6)); break;
      default: encoder.allocate(random() % 3000, address); break;
    }
  }
  return encoder.bytes;
}

void damage(std::vector<uint8_t>& bytes, std::mt19937_64& random) {
  for (uint64_t count = 1 + random() % 4; count > 0 && !bytes.empty(); --count) {
    const size_t at = random() % bytes.size();
    switch (random() % 5) {
      case 0: bytes[at] = static_cast<uint8_t>(random()); break;
      case 1: bytes[at] ^= static_cast<uint8_t>(1 << random() % 8); break;
      case 2: bytes.resize(at); break;
      case 3: bytes.insert(bytes.begin() + static_cast<long>(at), static_cast<uint8_t>(random())); break;
      default: bytes.erase(bytes.begin() + static_cast<long>(at)); break;
    }
  }
}

// Damaged events in chunks whose checksums hold, in any number of lanes and processes.
void write_strange(std::mt19937_64& random) {
  Writer writer;
  writer.open(path(), new_file_header(0));
  for (uint64_t count = 1 + random() % 12; count > 0; --count) {
    ChunkHeader header;
    header.type = static_cast<ChunkType>(random() % 4 != 0 ? 1 : random() % 10);
    header.process = static_cast<uint32_t>(random() % 3);
    header.lane = static_cast<uint32_t>(random() % 3);
    header.block = static_cast<uint32_t>(random() % 3);
    header.first_ticks = random() % 1000;
    header.seen = random() % 3 == 0 ? random() : random() % 50;
    header.events = static_cast<uint32_t>(random() % 400);
    std::vector<uint8_t> bytes = random_events(random);
    if (random() % 2 == 0) damage(bytes, random);
    writer.write(header, std::span<const uint8_t>(bytes));
  }
  if (random() % 2 == 0) writer.finish();
}

std::vector<uint8_t> random_text(std::mt19937_64& random) {
  std::string text;
  const auto number = [&](uint64_t most) { return std::to_string(random() % most); };
  for (int i = 0; i < 60; ++i) {
    const std::string block = "0x7f00000" + number(30) + "000";
    switch (random() % 6) {
      case 0: text += number(9) + "." + number(99) + " T" + number(4) + " free " + block; break;
      case 1: text += "calloc " + number(9) + " " + number(99) + " = " + block; break;
      case 2: text += "realloc " + block + " " + number(999) + " = 0x7f00000" + number(30) + "000"; break;
      case 3: text += "mark " + number(99); break;
      default: text += "T" + number(4) + " malloc " + number(9999) + " = " + block; break;
    }
    text += '\n';
  }
  return {text.begin(), text.end()};
}

std::vector<uint8_t> random_heaptrack(std::mt19937_64& random) {
  std::string text = "v 10400 3\nX prog\nI 1000 10\ns 5 /prog\ns 4 main\ns 6 prog.c\n";
  const bool is_raw = random() % 2 == 0;
  const auto hex = [&](uint64_t most) {
    char digits[24];
    snprintf(digits, sizeof digits, "%llx", static_cast<unsigned long long>(random() % most));
    return std::string(digits);
  };
  for (int i = 0; i < 80; ++i) {
    switch (i < 3 ? 0 : random() % 8) {
      case 0:
        text += is_raw ? "t 1 0" : "i " + hex(1 << 20) + " 1 2 3 " + hex(99) + "\nt 1 0\na " + hex(999) + " 1";
        break;
      case 1: text += "c " + hex(1 << 12); break;
      case 2: text += "R " + hex(1 << 12); break;
      case 3:
      case 4: text += is_raw ? "- " + hex(20) + "000" : "- " + hex(3); break;
      default: text += is_raw ? "+ " + hex(999) + " 1 " + hex(20) + "000" : "+ " + hex(3); break;
    }
    text += '\n';
  }
  return {text.begin(), text.end()};
}

}  // namespace

int main(int count, char** words) {
  if (freopen("/dev/null", "w", stdout) == nullptr) return 1;
  std::mt19937_64 random(count > 1 ? strtoull(words[1], nullptr, 10) : 1);
  uint64_t problems = 0;
  for (int i = 0; i < 2000; ++i) {
    std::vector<uint8_t> bytes = random_events(random);
    damage(bytes, random);
    read_block(bytes.data(), bytes.size());
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    read_block(bytes.data(), bytes.size());
  }
  for (int i = 0; i < 200; ++i) {
    write_strange(random);
    problems += check_file(path()).problems;
    if (i % 8 == 0) plot_file();
    std::ifstream file(path(), std::ios::binary);
    std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    damage(bytes, random);
    read_file(bytes.data(), bytes.size());
    if (i % 8 == 0) plot_file();
    bytes = i % 2 == 0 ? random_text(random) : random_heaptrack(random);
    if (i % 8 > 1) damage(bytes, random);
    import_file(bytes.data(), bytes.size());
  }
  unlink(path().c_str());
  unlink((path() + ".plot").c_str());
  if (problems == 0) {
    fputs("nothing was found in damaged files: this test looks at nothing\n", stderr);
    return 1;
  }
  return 0;
}

#endif
