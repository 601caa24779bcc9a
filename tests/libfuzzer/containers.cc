// Each container of the core against a plain one: the same operations on both, and the same answers.
#include <algorithm>
#include <cstring>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "base/pairing_heap.h"
#include "base/text.h"
#include "input.h"
#include "live/base64.h"
#include "pages/free_runs.h"
#include "report/address_set.h"
#include "sample/samples.h"
#include "sample/stacks.h"

namespace acre {
namespace {

using fuzz::Input;

constexpr size_t kMostElements = 64;

struct Element {
  uint32_t key = 0;
  HeapNode<Element> node;
};
struct LowerKey {
  bool operator()(const Element& a, const Element& b) const { return a.key < b.key; }
};

void pairing_heap(Input& input) {
  Element elements[kMostElements];
  PairingHeap<Element, LowerKey> heap;
  std::map<uint32_t, Element*> plain;
  while (!input.empty()) {
    Element& element = elements[input.below(kMostElements)];
    const auto at = plain.find(element.key);
    if (at != plain.end() && at->second == &element) {
      heap.remove(&element);
      plain.erase(at);
    } else {
      element.key = input.ConsumeIntegral<uint16_t>();
      if (!plain.emplace(element.key, &element).second) continue;
      heap.insert(&element);
    }
    HOLDS(heap.empty() == plain.empty());
    HOLDS(heap.min() == (plain.empty() ? nullptr : plain.begin()->second));
    // One that fits is found among as many as there are, and none that does not fit.
    const uint32_t least = input.ConsumeIntegral<uint16_t>();
    Element* found = heap.find_near_root(kMostElements, [&](const Element* e) { return e->key >= least; });
    HOLDS((found != nullptr) == (plain.lower_bound(least) != plain.end()));
    HOLDS(found == nullptr || found->key >= least);
  }
}

// The longest run that is sorted with runs of this length: one length up to 32 pages, then eight steps a doubling.
size_t bin_end(size_t pages) {
  if (pages <= 32) return pages;
  const size_t step = size_t{1} << (floor_log2(pages - 1) - 3);
  return (pages + step - 1) / step * step;
}

void free_runs(Input& input) {
  static FreeRuns set;  // large, and empty after each input
  std::map<Address, std::unique_ptr<Run>> plain;
  while (!input.empty()) {
    if (plain.empty() || (plain.size() < kMostElements && input.ConsumeBool())) {
      auto run = std::make_unique<Run>();
      run->base = (Address{0x7000} << 32) + (input.ConsumeIntegral<uint32_t>() & 0xffffff) * kPageBytes;
      run->pages = input.between(1, input.one_in(4) ? 1 << 20 : 300);
      if (plain.count(run->base) != 0) continue;
      set.insert(run.get());
      plain[run->base] = std::move(run);
    } else {
      auto victim = std::next(plain.begin(), static_cast<long>(input.below(plain.size())));
      set.remove(victim->second.get());
      plain.erase(victim);
    }
    size_t pages = 0;
    for (const auto& [base, run] : plain) pages += run->pages;
    HOLDS(set.pages() == pages);
    const size_t wanted = input.between(1, 400), align = size_t{1} << input.below(10);
    const Run* found = set.find(wanted, align);
    const size_t sure = bin_end(wanted + align - 1);
    size_t shortest_sure = SIZE_MAX;
    for (const auto& [base, run] : plain) {
      if (run->pages > sure) shortest_sure = std::min(shortest_sure, run->pages);
    }
    if (found == nullptr) {
      HOLDS(shortest_sure == SIZE_MAX);
      continue;
    }
    HOLDS(plain.count(found->base) == 1 && plain[found->base].get() == found);
    HOLDS(FreeRuns::lead(found, align) + wanted <= found->pages);
    HOLDS(is_aligned((found->base >> kPageShift) + FreeRuns::lead(found, align), align));
    HOLDS(shortest_sure == SIZE_MAX || found->pages <= bin_end(shortest_sure));
    if (align != 1) continue;
    for (const auto& [base, run] : plain) {
      HOLDS(bin_end(run->pages) != bin_end(found->pages) || found->base <= base);
    }
  }
  for (const auto& [base, run] : plain) set.remove(run.get());
  HOLDS(set.pages() == 0 && set.find(1, 1) == nullptr);
}

void run_ages(Input& input) {
  Run runs[kMostElements];
  RunAges ages;
  std::list<Run*> plain;
  while (!input.empty()) {
    Run* run = &runs[input.below(kMostElements)];
    const auto at = std::find(plain.begin(), plain.end(), run);
    if (at == plain.end()) {
      ages.add(run);
      plain.push_back(run);
    } else {
      ages.remove(run);
      plain.erase(at);
    }
    HOLDS(ages.oldest() == (plain.empty() ? nullptr : plain.front()));
  }
  for (Run* run : plain) {
    HOLDS(ages.oldest() == run);
    ages.remove(run);
  }
}

void address_set(Input& input) {
  report::AddressSet addresses(1000);
  std::set<Address> plain;
  while (!input.empty() && plain.size() < 1000) {
    // Some differ only where the hash does not look first.
    const Address a = input.ConsumeBool() ? input.ConsumeIntegral<Address>() : Address{input.ConsumeIntegral<uint8_t>()} << 44;
    if (a == 0) continue;
    HOLDS(addresses.add(a) == plain.insert(a).second);
  }
}

void samples(Input& input) {
  profile::Samples samples;
  profile::Stack stacks[4];
  std::map<Ticket, std::pair<profile::Stack*, uint64_t>> plain;
  std::vector<std::unique_ptr<char[]>> memory;
  while (!input.empty()) {
    if (!samples.has_free()) {
      const unsigned chunk = samples.chunks();
      memory.push_back(std::make_unique<char[]>(profile::Samples::bytes_of(chunk)));
      HOLDS(!samples.add_chunk(chunk + 1, memory.back().get()));
      HOLDS(samples.add_chunk(chunk, memory.back().get()));
    }
    if (plain.empty() || input.below(3) != 0) {
      for (size_t count = input.one_in(8) ? 500 : 1; count != 0 && samples.has_free(); --count) {
        const Ticket ticket = samples.take();
        profile::Stack* stack = &stacks[input.below(4)];
        HOLDS(samples.has(ticket));
        samples.at(ticket) = {};
        samples.at(ticket).stack = stack;
        samples.at(ticket).bytes = ticket * 3;
        HOLDS(plain.emplace(ticket, std::pair(stack, ticket * 3)).second);
      }
    } else {
      const auto victim = std::next(plain.begin(), static_cast<long>(input.below(plain.size())));
      samples.drop(victim->first);
      plain.erase(victim);
    }
    HOLDS(!samples.has(kNoTicket));
  }
  size_t seen = 0;
  samples.for_each([&](const profile::Sample&) { ++seen; });
  HOLDS(seen == plain.size());
  for (const auto& [ticket, sample] : plain) {
    HOLDS(samples.at(ticket).stack == sample.first && samples.at(ticket).bytes == sample.second);
  }
}

void stack_table(Input& input) {
  const auto buckets = std::make_unique<profile::Stack*[]>(profile::Stacks::kBuckets);
  profile::Stacks table;
  table.set_buckets(buckets.get());
  std::vector<std::unique_ptr<char[]>> memory;
  std::map<std::vector<Address>, profile::Stack*> plain;
  while (!input.empty()) {
    if (!table.has_room()) {
      constexpr size_t kRoom = profile::Stacks::kRoomNeeded * 4;
      memory.push_back(std::make_unique<char[]>(kRoom));
      table.add_room(memory.back().get(), kRoom);
    }
    profile::Trace trace;
    std::vector<Address> frames(input.below(input.one_in(8) ? capture::kMostFrames + 1 : 4));
    for (Address& frame : frames) frame = input.one_in(4) ? input.ConsumeIntegral<Address>() : input.below(3);
    trace.native.count = static_cast<unsigned>(frames.size());
    std::copy(frames.begin(), frames.end(), trace.native.address);
    profile::Stack* stack = table.find(trace);
    const auto [at, is_new] = plain.emplace(frames, stack);
    HOLDS(at->second == stack);
    HOLDS(stack->count == frames.size() && std::equal(frames.begin(), frames.end(), stack->frames()));
    HOLDS(table.count() == plain.size());
  }
  size_t seen = 0;
  for (profile::Stack* stack = table.first(); stack != nullptr; stack = stack->next) ++seen;
  HOLDS(seen == plain.size());
}

void line(Input& input) {
  Line<60> line;
  std::string plain;
  while (!input.empty()) {
    const std::string word = input.text(20);
    const uint64_t number = input.ConsumeIntegral<uint64_t>() >> input.below(64);
    char digits[64];
    switch (input.below(6)) {
      case 0: line.add(word.c_str()), plain += word.c_str(); break;
      case 1: line.decimal(number), plain += std::to_string(number); break;
      case 2: line.signed_decimal(static_cast<int64_t>(number)), plain += std::to_string(static_cast<int64_t>(number)); break;
      case 3: std::snprintf(digits, sizeof digits, "0x%lx", number), line.hex(number), plain += digits; break;
      case 4: std::snprintf(digits, sizeof digits, "%9lu", number), line.right(number, 9), plain += digits; break;
      default:
        if (!input.one_in(4)) break;
        line.clear(), plain.clear();
    }
    HOLDS(line.size() < 60 && line.c_str() == plain.substr(0, 59));
  }
}

int value_of(char digit) {
  static const std::string kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const size_t at = kDigits.find(digit);
  HOLDS(at != std::string::npos);
  return static_cast<int>(at);
}

// Read back by the definition in RFC 4648.
void base64(Input& input) {
  live::Base64 encode;
  std::string plain, text;
  while (!input.empty()) {
    const std::string part = input.text(100);
    char digits[live::Base64::most_text(100)];
    const size_t size = encode.add(part.data(), part.size(), digits);
    HOLDS(size <= sizeof digits);
    text.append(digits, size);
    plain += part;
  }
  char rest[live::Base64::kMostRest];
  text.append(rest, encode.finish(rest));
  HOLDS(text.size() == (plain.size() + 2) / 3 * 4);
  std::string decoded;
  for (size_t i = 0; i < text.size(); i += 4) {
    const size_t given = text[i + 2] == '=' ? 2 : text[i + 3] == '=' ? 3 : 4;
    uint32_t bits = 0;
    for (size_t j = 0; j < 4; ++j) bits = bits << 6 | static_cast<uint32_t>(j < given ? value_of(text[i + j]) : 0);
    for (size_t j = 0; j + 1 < given; ++j) decoded += static_cast<char>(bits >> (16 - 8 * j));
  }
  HOLDS(decoded == plain);
}

constexpr void (*kContainers[])(Input&) = {pairing_heap, free_runs, run_ages, address_set, samples, stack_table, line, base64};

}  // namespace
}  // namespace acre

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  acre::fuzz::run_one(acre::kContainers, data, size);
  return 0;
}
