// mallctl: names and MIBs of any kind against a plain reading of the list of names; values of any size; and what was
// written is read again.
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "acre/acre.h"
#include "control/ctl.h"
#include "input.h"

namespace acre {
namespace {

using fuzz::Input;

std::vector<std::string> components(const std::string& name) {
  std::vector<std::string> parts;
  for (size_t at = 0;;) {
    const size_t dot = name.find('.', at);
    parts.push_back(name.substr(at, dot - at));
    if (dot == std::string::npos) return parts;
    at = dot + 1;
  }
}

struct Known {
  std::string name, type;
  bool readable, writable;
  std::vector<std::string> parts;
};

const std::vector<Known>& nodes() {
  static const std::vector<Known> kNodes = [] {
    std::vector<Known> all;
    acre_mallctl_node node;
    for (unsigned i = 0; acre_mallctl_info(i, &node) == 0; ++i) {
      all.push_back({node.name, node.type, node.readable != 0, node.writable != 0, components(node.name)});
    }
    return all;
  }();
  return kNodes;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos && text.size() < 18;
}

// Whether the name is this node's, whatever numbers it has.
bool is_of(const Known& node, const std::vector<std::string>& parts, bool* has_numbers) {
  if (node.parts.size() != parts.size()) return false;
  *has_numbers = false;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (node.parts[i] == "#") {
      if (!is_number(parts[i])) return false;
      *has_numbers = true;
    } else if (node.parts[i] != parts[i]) {
      return false;
    }
  }
  return true;
}

// What makes files or threads, gets addresses of functions, frees what others use, ends the program at its end with
// lines, or limits what the other inputs of this process get.
bool may_be_used(const Known& node) {
  for (const char* part : {"dump", "hooks", "background_thread", "prefix", "gdump", "prof_final", "stats_print", "postmortem", "leaks",
                           "limit", "xmalloc", ".reset", ".destroy", "arena.#.name", "utilization", "tcache.flush", "create",
                           "large_alloc_report", "prof_python", ".dss"}) {
    if (node.name.find(part) != std::string::npos) return false;
  }
  return true;
}

std::string some_name(Input& input) {
  if (input.one_in(6)) return input.text(80);
  std::string name = nodes()[input.below(nodes().size())].name;
  for (size_t at; (at = name.find('#')) != std::string::npos;) {
    static const char* const kNumbers[] = {"0", "1", "7", "72", "73", "4096", "4095", "00", "18446744073709551616"};
    name.replace(at, 1, input.one_in(6) ? std::to_string(input.ConsumeIntegral<uint64_t>()) : kNumbers[input.below(std::size(kNumbers))]);
  }
  if (input.one_in(8)) name.erase(input.below(name.size() + 1));
  if (input.one_in(8)) name.insert(input.below(name.size() + 1), input.text(3));
  return name;
}

struct Buffer {
  unsigned char bytes[16];
  size_t size = 0;
  Buffer() { std::memset(bytes, 0xee, sizeof bytes); }
  bool is_untouched_from(size_t at) const {
    for (size_t i = at; i < sizeof bytes; ++i) {
      if (bytes[i] != 0xee) return false;
    }
    return true;
  }
};

size_t size_of(const std::string& type) {
  if (type == "bool") return 1;
  if (type == "unsigned" || type == "uint32_t") return 4;
  return type == "void" ? 0 : 8;
}

void read(const std::string& name, const Known& node, size_t given) {
  Buffer buffer;
  buffer.size = given;
  const int error = acre_mallctl(name.c_str(), buffer.bytes, &buffer.size, nullptr, 0);
  HOLDS(buffer.size <= given && buffer.is_untouched_from(given));
  if (!node.readable) return;
  HOLDS(error == 0 || error == EINVAL || error == ENOENT || error == EAGAIN || error == EFAULT || error == EPERM);
  HOLDS(error != 0 || buffer.size == size_of(node.type) || node.type == "char *" || node.type == "const char *");
  HOLDS(error == 0 || given == size_of(node.type) || buffer.is_untouched_from(given));
}

// What is written counts, and is read again; what is refused changes nothing.
void write(const std::string& name, const Known& node, uint64_t value, size_t given) {
  uint64_t before = 0, after = 0;
  size_t size = size_of(node.type);
  if (node.type == "bool") value &= 1;
  const bool had = node.readable && acre_mallctl(name.c_str(), &before, &size, nullptr, 0) == 0;
  const int error = acre_mallctl(name.c_str(), nullptr, nullptr, &value, given);
  HOLDS(error != 0 || (node.writable || !node.readable));
  HOLDS(given == size_of(node.type) || error != 0);
  size = size_of(node.type);
  if (!had || node.name == "epoch" || node.name.compare(0, 4, "opt.") != 0) return;
  HOLDS(acre_mallctl(name.c_str(), &after, &size, nullptr, 0) == 0);
  const uint64_t mask = size == 8 ? ~uint64_t{0} : (uint64_t{1} << size * 8) - 1;
  HOLDS(after == (error == 0 ? value & mask : before));
  acre_mallctl(name.c_str(), nullptr, nullptr, &before, size);
}

void name_and_mib(const std::string& name, bool known, bool has_numbers) {
  size_t mib[8], length = std::size(mib);
  const int error = acre_mallctlnametomib(name.c_str(), mib, &length);
  HOLDS(length <= std::size(mib));
  if (known && !has_numbers) HOLDS(error == 0 && length == components(name).size());
  if (error != 0 || !known) return;
  // A name and its MIB are the same.
  Buffer by_name, by_mib;
  by_name.size = by_mib.size = 8;
  const int one = acre_mallctl(name.c_str(), by_name.bytes, &by_name.size, nullptr, 0);
  const int other = acre_mallctlbymib(mib, length, by_mib.bytes, &by_mib.size, nullptr, 0);
  HOLDS(one == other && by_name.size == by_mib.size);
}

void any_mib(Input& input) {
  size_t mib[10];
  const size_t length = input.below(10);
  for (size_t i = 0; i < length; ++i) mib[i] = input.ConsumeBool() ? input.below(300) : input.ConsumeIntegral<size_t>();
  if (length != 0 && mib[length - 1] < nodes().size() && !may_be_used(nodes()[mib[length - 1]])) return;
  Buffer buffer;
  buffer.size = input.below(9);
  const size_t given = buffer.size;
  acre_mallctlbymib(mib, length, buffer.bytes, &buffer.size, nullptr, 0);
  HOLDS(buffer.size <= given && buffer.is_untouched_from(given));
}

void one(Input& input) {
  while (!input.empty()) {
    if (input.one_in(8)) {
      any_mib(input);
      continue;
    }
    const std::string name = some_name(input).c_str();
    const std::vector<std::string> parts = components(name);
    const Known* node = nullptr;
    bool has_numbers = false;
    for (const Known& known : nodes()) {
      if (node == nullptr && is_of(known, parts, &has_numbers)) node = &known;
    }
    if (node != nullptr && !may_be_used(*node)) continue;
    if (node == nullptr) {
      uint64_t value = 0;
      size_t size = sizeof value;
      HOLDS(acre_mallctl(name.c_str(), &value, &size, nullptr, 0) == ENOENT);
      HOLDS(acre_mallctl(name.c_str(), nullptr, nullptr, &value, sizeof value) == ENOENT);
      name_and_mib(name, false, false);
      continue;
    }
    const size_t given = input.one_in(4) ? input.below(9) : size_of(node->type);
    const bool is_number = node->type.find('*') == std::string::npos && node->type != "void";
    if (is_number && input.one_in(3)) {
      write(name, *node, input.one_in(3) ? input.ConsumeIntegral<uint64_t>() : input.below(20000), given);
    } else if (node->readable && is_number) {
      read(name, *node, given);
    }
    if (node->readable && is_number) name_and_mib(name, true, has_numbers);
  }
}

}  // namespace
}  // namespace acre

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  acre::fuzz::Input input(data, size);
  acre::one(input);
  return 0;
}
