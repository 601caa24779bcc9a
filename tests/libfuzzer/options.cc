// The parser of settings against a plain one: any text from any source; what counts in the end, and that each wrong
// setting is told in one line.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

#include "input.h"
#include "tables/options.h"
#include "tables/synonyms.h"

namespace acre {
namespace {

using fuzz::Input;

std::string trimmed(const std::string& text) {
  const size_t start = text.find_first_not_of(" \t\r");
  return start == std::string::npos ? "" : text.substr(start, text.find_last_not_of(" \t\r") - start + 1);
}

// The settings of a text that is NAME:VALUE,… with comments.
std::vector<std::string> settings_of(const std::string& text) {
  std::vector<std::string> settings(1);
  bool in_comment = false;
  for (const char c : text) {
    if (c == '\n') in_comment = false;
    if (c == '#') in_comment = true;
    if (in_comment && c == '#') settings.emplace_back();
    if (in_comment) continue;
    if (c == ',' || c == '\n') settings.emplace_back();
    else settings.back() += c;
  }
  std::vector<std::string> found;
  for (const std::string& setting : settings) {
    if (!trimmed(setting).empty()) found.push_back(trimmed(setting));
  }
  return found;
}

// False: it is no number of this type.
bool number_of(OptionType type, std::string text, int64_t* value) {
  const bool negative = text.size() > 1 && text[0] == '-';
  if (negative) text.erase(0, 1);
  unsigned shift = 0;
  if (type == OptionType::kBytes && text.size() > 1) {
    const size_t at = std::string("kKmMgGtT").find(text.back());
    if (at != std::string::npos) shift = 10 * (static_cast<unsigned>(at) / 2 + 1), text.pop_back();
  }
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos) return false;
  __int128 number = 0;
  for (const char c : text) {
    number = number * 10 + (c - '0');
    if (number > INT64_MAX) return false;
  }
  number = (number << shift) * (negative ? -1 : 1);
  *value = static_cast<int64_t>(number);
  return number >= INT64_MIN && number <= INT64_MAX;
}

class Plain {
 public:
  Plain() {
    for (unsigned i = 0; i < kOptionCount; ++i) values_.push_back(kOptionTable[i].initial);
  }
  void read(const std::string& text) {
    for (const std::string& setting : settings_of(text)) wrong_ += !read_setting(setting);
  }
  unsigned wrong() const { return wrong_; }
  int64_t value(unsigned i) const { return values_[i]; }
  const std::string& path(unsigned i) { return paths_[i]; }

 private:
  bool read_setting(const std::string& setting) {
    const size_t colon = setting.find(':');
    if (colon == std::string::npos) return false;
    const std::string name = trimmed(setting.substr(0, colon)), text = trimmed(setting.substr(colon + 1));
    for (unsigned i = 0; i < kOptionCount; ++i) {
      if (name == kOptionTable[i].name) return read_value(i, text);
    }
    return false;
  }
  bool read_value(unsigned i, const std::string& text) {
    const OptionInfo& info = kOptionTable[i];
    if (info.type == OptionType::kPath) {
      if (text.size() >= kMostPath) return false;
      paths_[i] = text;
      return true;
    }
    int64_t value = -1;
    for (int64_t at = 0; *option_value_name(i, at) != '\0'; ++at) {
      if (text == option_value_name(i, at)) value = at;
    }
    if (value == -1 && (info.type == OptionType::kChoice || !number_of(info.type, text, &value))) return false;
    if (value < info.least || value > info.most) return false;
    values_[i] = value;
    return true;
  }
  std::vector<int64_t> values_;
  std::map<unsigned, std::string> paths_;
  unsigned wrong_ = 0;
};

// A text as people write it, or nearly.
std::string some_settings(Input& input) {
  if (input.one_in(4)) return input.text(600);
  std::string text;
  for (size_t count = input.below(6); count != 0; --count) {
    const unsigned option = static_cast<unsigned>(input.below(kOptionCount));
    text += input.one_in(8) ? input.text(20) : kOptionTable[option].name;
    text += input.one_in(8) ? input.text(3) : ":";
    switch (input.below(5)) {
      case 0: text += option_value_name(option, static_cast<int64_t>(input.below(2))); break;
      case 1: text += std::to_string(input.ConsumeIntegral<int64_t>() >> input.below(64)); break;
      case 2: text += input.text(30); break;
      case 3: text += "184467440737095516" + std::to_string(16 + input.below(4)); break;  // 2^64 and up to three more
      default: text += std::to_string(input.below(100)) + "kMgT"[input.below(4)]; break;
    }
    text += ",\n #"[input.below(4)];
  }
  return text;
}

// What is written to stderr meanwhile.
template <class Do>
std::string told(Do&& act) {
  static const int kFile = memfd_create("told", MFD_CLOEXEC);
  static const int kReal = fcntl(2, F_DUPFD_CLOEXEC, 100);
  HOLDS(ftruncate(kFile, 0) == 0 && lseek(kFile, 0, SEEK_SET) == 0 && dup2(kFile, 2) == 2);
  act();
  dup2(kReal, 2);
  std::string text(static_cast<size_t>(lseek(kFile, 0, SEEK_END)), '\0');
  HOLDS(pread(kFile, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()));
  return text;
}

bool is_set(const Plain& plain, Option option) { return plain.value(index_of(option)) != 0; }

void one(Input& input) {
  for (unsigned i = 0; i < kOptionCount; ++i) HOLDS(set_option(i, kOptionTable[i].initial, OptionSource::kDefault));
  std::string environment = "ACRE_CONF=" + std::string(some_settings(input).c_str());
  const std::string program = some_settings(input).c_str(), jemalloc = some_settings(input).c_str();
  std::string synonym = std::string(kSynonyms[input.below(std::size(kSynonyms))].variable) + "=" + input.text(30).c_str();
  const bool privileged = input.one_in(8), others = input.ConsumeBool();

  Plain plain;
  if (!privileged) plain.read(environment.substr(sizeof "ACRE_CONF=" - 1));
  plain.read(program);
  // Either of them would end the program.
  if (is_set(plain, Option::abort) || is_set(plain, Option::abort_conf) || jemalloc.find("abort") != std::string::npos) return;

  char* variables[] = {synonym.data(), environment.data(), nullptr};
  OptionSources sources;
  sources.environment = others ? variables : variables + 1;
  sources.program = program.c_str();
  sources.jemalloc = others ? jemalloc.c_str() : nullptr;
  sources.privileged = privileged;
  const std::string lines = told([&] { read_options(sources); });

  size_t count = 0;
  for (size_t at = 0, end; at < lines.size(); at = end + 1, ++count) {
    end = lines.find('\n', at);
    HOLDS(end != std::string::npos && lines.compare(at, 6, "acre: ") == 0 && end - at < 512);
    for (size_t i = at; i < end; ++i) HOLDS(static_cast<unsigned char>(lines[i]) >= ' ' && lines[i] != '\x7f');
  }
  for (unsigned i = 0; i < kOptionCount; ++i) {
    const OptionInfo& info = kOptionTable[i];
    if (info.type == OptionType::kPath) {
      HOLDS(others || path_of(option_value(i)) == plain.path(i));
    } else {
      HOLDS(option_value(i) >= info.least && option_value(i) <= info.most);
      HOLDS(others || option_value(i) == plain.value(i));
    }
  }
  HOLDS(others || count == plain.wrong());
}

}  // namespace
}  // namespace acre

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  acre::fuzz::Input input(data, size);
  acre::one(input);
  return 0;
}
