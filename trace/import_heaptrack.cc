// heaptrack's files: a line begins with a letter; numbers are hexadecimal; what has a number counts from 1 in the order
// of its lines, allocations' kinds from 0.
//
//   v VERSION FORMAT    s [LENGTH] TEXT    X COMMAND    I PAGE_SIZE PAGES    c MILLISECONDS    R PAGES
//   t IP PARENT         a call stack: its innermost frame, and the stack around it; 0: none
//   as heaptrack records it:                  + SIZE STACK ADDRESS     - ADDRESS
//     x [LENGTH] PATH                         the program
//     m [LENGTH] PATH BASE …                  a file in memory; "x" is the program, and "-" says that all are told again
//   as it is interpreted:                     + KIND     - KIND
//     a SIZE STACK                            a kind of allocation
//     i IP FILE [FUNCTION SOURCE LINE]…       an address, which t then counts; inlined functions stand first
#include <algorithm>
#include <cstdio>
#include <vector>

#include "compose.h"
#include "import.h"
#include "placer.h"
#include "proc.h"
#include "say.h"

namespace acre::trace {

using record::Kind;

namespace {

constexpr size_t kMostTexts = size_t{1} << 30;    // bytes
constexpr size_t kMostThings = size_t{1} << 27;   // strings, stacks, addresses, kinds
constexpr size_t kMostWaiting = size_t{1} << 20;  // events until a time comes
constexpr uint64_t kStepNs = 1000;                // of events behind the last time
constexpr size_t kNamesPart = size_t{16} << 20;

class Heaptrack : Import {
 public:
  Heaptrack(Lines& lines, const ImportOptions& options) : Import(lines, options) {}

  int run(std::string_view first) {
    std::string_view line = first;
    bool whole = true;
    do {
      whole = of_line(line);
    } while (whole && lines_.next(line));
    if (whole && !is_open_) whole = open();
    flush(last_ms_);
    write_mappings();
    write_names();
    const bool written = is_open_ && composer_.finish();
    composer_.add_dropped(unknown_frees_);
    return conclude(whole, composer_, written);
  }

 private:
  struct Frame {
    uint64_t ip, parent;
  };
  struct Address {
    uint64_t ip;
    std::string names;  // a line of kNames
  };
  struct KindOfBlock {
    uint64_t size, stack;
    std::vector<uint64_t> living;
  };
  struct Call {
    bool is_allocation;
    uint64_t address, size, stack;
  };

  bool of_line(std::string_view line) {
    const std::string_view letter = word_of(line);
    if (letter.size() != 1) return true;
    std::string_view path;
    switch (letter[0]) {
      case 'v': return version(line);
      case 's': return string(line);
      case 'X': command_ = line.substr(std::min<size_t>(1, line.size())); return true;
      case 'I': return numbers(line, 1) && (page_ = number_[0], true);
      case 'c': return numbers(line, 1) && flush(number_[0]);
      case 'R':
        if (!numbers(line, 1)) return false;
        composer_.memory(last_ms_ * 1'000'000, number_[0] * page_);
        return true;
      case 't': return stack(line);
      case 'i': return address(line);
      case 'a': return kind(line);
      case 'm': return mapping(line);
      case 'x': return this->text(line, path, true) && (program_ = path, true);
      case '+': return allocation(line);
      case '-': return free(line);
      default: return true;  // what else there is says nothing of blocks
    }
  }

  bool version(std::string_view line) {
    uint64_t format = 0;
    word_of(line);
    const std::string_view word = word_of(line);
    if (!word.empty() && !parse(word, 16, format)) return refuse("this is no version");
    with_lengths_ = format >= 3;
    return true;
  }

  // The text that stands next.
  bool text(std::string_view& line, std::string_view& to, bool to_its_end) {
    uint64_t length = 0;
    if (!with_lengths_) {
      to = to_its_end ? line.substr(std::min<size_t>(1, line.size())) : word_of(line);
      return true;
    }
    if (!parse(word_of(line), 16, length) || length >= line.size()) return refuse("this is no text with its length");
    to = line.substr(1, length);
    line.remove_prefix(length + 1);
    return true;
  }

  // As many as `least` at least; numbers_ has all of the line's.
  bool numbers(std::string_view line, size_t least) {
    number_.clear();
    for (std::string_view word = word_of(line); !word.empty(); word = word_of(line)) {
      if (!parse(word, 16, number_.emplace_back())) return refuse("this is no hexadecimal number");
    }
    return number_.size() >= least || refuse("a number is missing");
  }

  bool has_room(size_t things) { return things < kMostThings || refuse("there are too many of these"); }

  bool string(std::string_view line) {
    std::string_view text;
    if (!this->text(line, text, true)) return false;
    text_bytes_ += text.size();
    if (text_bytes_ > kMostTexts || !has_room(strings_.size())) return refuse("there are too many strings");
    strings_.emplace_back(text);
    return true;
  }

  bool string_of(uint64_t number, std::string& to) {
    if (number > strings_.size()) return refuse("there is no such string");
    to = number == 0 ? "" : strings_[number - 1];
    for (char& letter : to) {
      if (letter == '\t' || letter == '\n') letter = ' ';
    }
    return true;
  }

  bool stack(std::string_view line) {
    if (!numbers(line, 2) || !has_room(stacks_.size())) return false;
    if (number_[1] > stacks_.size()) return refuse("the stack around this one is not there");
    if (!addresses_.empty() && number_[0] > addresses_.size()) return refuse("there is no such address");
    stacks_.push_back({number_[0], number_[1]});
    return true;
  }

  bool address(std::string_view line) {
    if (!numbers(line, 1) || !has_room(addresses_.size())) return false;
    std::string names, part;
    const std::vector<uint64_t>& parts = number_;
    char hex[24];
    snprintf(hex, sizeof hex, "%llx", static_cast<unsigned long long>(parts[0] + 1));  // where the call returns to
    names = hex;
    if (!string_of(parts.size() > 1 ? parts[1] : 0, part)) return false;
    names += '\t' + part;
    for (size_t at = 2; at < parts.size(); at += 3) {
      const bool has_place = at + 2 < parts.size();
      std::string function, source;
      if (!string_of(parts[at], function) || (has_place && !string_of(parts[at + 1], source))) return false;
      names += '\t' + function + '\t' + source + '\t' + std::to_string(has_place ? parts[at + 2] : 0);
    }
    text_bytes_ += names.size();
    if (text_bytes_ > kMostTexts) return refuse("there are too many names");
    addresses_.push_back({parts[0], parts.size() > 1 ? std::move(names) : ""});
    return true;
  }

  bool kind(std::string_view line) {
    if (!numbers(line, 2) || !has_room(kinds_.size())) return false;
    if (number_[1] > stacks_.size()) return refuse("there is no such stack");
    kinds_.push_back({number_[0], number_[1], {}});
    return true;
  }

  bool mapping(std::string_view line) {
    std::string_view path;
    if (!text(line, path, false)) return false;
    if (path == "-") return true;
    if (!numbers(line, 1)) return false;
    std::string file(path == "x" ? std::string_view(program_) : path);
    if (file.starts_with('/') && modules_.size() < kMostThings) modules_.emplace_back(number_[0], std::move(file));
    return true;
  }

  bool allocation(std::string_view line) {
    if (!numbers(line, 1)) return false;
    if (number_.size() >= 3) {
      if (number_[1] > stacks_.size()) return refuse("there is no such stack");
      return add({true, number_[2], number_[0], number_[1]});
    }
    if (number_[0] >= kinds_.size()) return refuse("there is no such kind of allocation");
    KindOfBlock& kind = kinds_[number_[0]];
    const uint64_t address = placer_.place(kind.size);
    if (address == 0) return refuse("there is no room for such a block");
    kind.living.push_back(address);
    return add({true, address, kind.size, kind.stack});
  }

  bool free(std::string_view line) {
    if (!numbers(line, 1)) return false;
    if (kinds_.empty()) return add({false, number_[0], 0, 0});
    if (number_[0] >= kinds_.size()) return refuse("there is no such kind of allocation");
    KindOfBlock& kind = kinds_[number_[0]];
    if (kind.living.empty()) {
      ++unknown_frees_;
      return true;
    }
    const uint64_t address = kind.living.back();  // which one it was, the file does not say
    kind.living.pop_back();
    placer_.give_back(address, kind.size);
    return add({false, address, 0, 0});
  }

  bool add(const Call& call) {
    if (call.address % 8 != 0) return refuse("the address is no multiple of 8");
    if (call.size >> 56 != 0) return refuse("this is no size of a block");
    waiting_.push_back(call);
    return waiting_.size() < kMostWaiting || flush(last_ms_);
  }

  // What came since the last time is spread evenly until this one.
  bool flush(uint64_t ms) {
    constexpr uint64_t kMostMs = uint64_t{1} << 40;
    const uint64_t begin = last_ms_ * 1'000'000, end = std::clamp(ms, last_ms_, kMostMs) * 1'000'000;
    if (!waiting_.empty() && !is_open_ && !open()) return false;
    const uint64_t step = end == begin || waiting_.empty() ? kStepNs : (end - begin) / waiting_.size();
    uint64_t ns = begin;
    for (const Call& call : waiting_) {
      ns += step;
      if (call.is_allocation) {
        name_stack(call.stack);
        composer_.allocate(0, ns, Kind::kPlain, 0, call.size, call.address, call.stack == 0 ? UINT64_MAX : call.stack);
      } else {
        composer_.free(0, ns, Kind::kPlain, call.address);
      }
    }
    waiting_.clear();
    last_ms_ = end / 1'000'000;
    return !composer_.has_failed();
  }

  void name_stack(uint64_t number) {
    if (number == 0) return;
    is_named_.resize(stacks_.size() + 1);
    if (is_named_[number]) return;
    is_named_[number] = true;
    std::vector<uint64_t> frames;
    for (uint64_t at = number; at != 0 && frames.size() < record::kMostFrames; at = stacks_[at - 1].parent) {
      const uint64_t ip = stacks_[at - 1].ip;
      if (addresses_.empty())
        frames.push_back(ip + 1);
      else if (ip != 0 && ip <= addresses_.size())  // stacks may come before the first address
        frames.push_back(addresses_[ip - 1].ip + 1);
    }
    composer_.stack_is(number, frames);
  }

  bool open() {
    is_open_ = true;
    if (program_.empty() && !strings_.empty() && strings_[0].starts_with('/')) program_ = strings_[0];
    std::string start = "{\"pid\":0,\"parent\":null,\"exe\":" + json_string(program_) + ",\"argv\":[";
    const char* between = "";
    std::string_view rest = command_;
    for (std::string_view word = word_of(rest); !word.empty(); word = word_of(rest)) {
      start += between + json_string(word);
      between = ",";
    }
    start += "],\"start_ticks\":0,\"start_ns\":0,\"ticks\":\"monotonic\",\"kernel\":\"\",\"page_size\":" +
             std::to_string(page_) + ",\"imported\":\"heaptrack\"}";
    return composer_.open(options_.to, 1, start);
  }

  void write_mappings() {
    std::string text;
    std::sort(modules_.begin(), modules_.end());
    modules_.erase(std::unique(modules_.begin(), modules_.end()), modules_.end());
    char line[64];
    for (const auto& [base, path] : modules_) {
      for (const CodeOfFile& code : code_of(path)) {
        snprintf(line, sizeof line, "%llx-%llx r-xp %08llx 00:00 0 ",
                 static_cast<unsigned long long>(base + code.address),
                 static_cast<unsigned long long>(base + code.address + code.bytes),
                 static_cast<unsigned long long>(code.offset));
        text += line + path + '\n';
      }
      if (const std::string id = build_id_of(path); !id.empty()) text += "build-id " + id + ' ' + path + '\n';
    }
    if (!text.empty() && is_open_) composer_.text(ChunkType::kMappings, text);
  }

  void write_names() {
    std::string text;
    for (const Address& address : addresses_) {
      if (address.names.empty()) continue;
      text += address.names + '\n';
      if (text.size() > kNamesPart && is_open_ && composer_.text(ChunkType::kNames, text)) text.clear();
    }
    if (!text.empty() && is_open_) composer_.text(ChunkType::kNames, text);
  }

  Composer composer_;
  bool is_open_ = false, with_lengths_ = false;
  uint64_t page_ = 4096, last_ms_ = 0, unknown_frees_ = 0;
  size_t text_bytes_ = 0;
  std::string command_, program_;
  std::vector<uint64_t> number_;
  std::vector<std::string> strings_;
  std::vector<Frame> stacks_;
  std::vector<Address> addresses_;
  std::vector<KindOfBlock> kinds_;
  std::vector<bool> is_named_;
  std::vector<std::pair<uint64_t, std::string>> modules_;
  std::vector<Call> waiting_;
  Placer placer_;
};

}  // namespace

int import_heaptrack(Lines& lines, const ImportOptions& options, std::string_view first) {
  return Heaptrack(lines, options).run(first);
}

}  // namespace acre::trace
