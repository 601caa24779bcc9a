// Plain text, a call a line (docs/trace-tools.md has its rules):
//
//   [SECONDS] [T<thread>] malloc SIZE = BLOCK     calloc COUNT SIZE = BLOCK     memalign ALIGNMENT SIZE = BLOCK
//                         realloc BLOCK SIZE = BLOCK     free BLOCK     mark TEXT
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compose.h"
#include "import.h"
#include "placer.h"
#include "say.h"

namespace acre::trace {

using record::Kind;

namespace {

constexpr uint64_t kCallNs = 1000;  // of calls without a time
constexpr double kMostSeconds = 1e9;
constexpr uint64_t kMostAddress = (uint64_t{1} << 56) - 1;

bool is_nothing(std::string_view block) {
  return block == "0" || block == "0x0" || block == "nil" || block == "NULL" || block == "(nil)" || block == "null";
}

class Text : Import {
 public:
  Text(Lines& lines, const ImportOptions& options) : Import(lines, options) {}

  int run(std::string_view line) {
    const std::string start =
        "{\"pid\":0,\"parent\":null,\"exe\":\"\",\"argv\":[],\"start_ticks\":0,\"start_ns\":0,\"ticks\":\"monotonic\","
        "\"kernel\":\"\",\"page_size\":4096,\"imported\":\"text\"}";
    if (!composer_.open(options_.to, 0, start)) return 1;
    bool whole = true;
    do {
      whole = of_line(line);
    } while (whole && !composer_.has_failed() && lines_.next(line));
    return conclude(whole, composer_, composer_.finish());
  }

 private:
  bool of_line(std::string_view line) {
    // As ltrace writes it: malloc(10) = 0x55…, free(0x55…) = <void>
    std::string plain(line.substr(0, line.find_last_not_of("\r\t ") + 1));
    if (plain.starts_with("+++") || plain.starts_with("---")) return true;  // ltrace: how it ended, and signals
    const size_t mark = plain.find("mark ");
    for (size_t at = 0; at < std::min(plain.size(), mark); ++at) {
      if (plain[at] == '(' || plain[at] == ')' || plain[at] == ',' || plain[at] == '\t') plain[at] = ' ';
    }
    line = plain;
    std::string_view rest = line;
    std::string_view word = word_of(rest);
    if (word.empty() || word[0] == '#') return true;
    ns_ += kCallNs;
    thread_ = 0;
    if (is_seconds(word)) word = word_of(rest);
    if (word == "[pid") {
      std::string_view number = word_of(rest);
      if (number.ends_with(']')) number.remove_suffix(1);
      if (!thread(number)) return false;
      word = word_of(rest);
    } else if (word.size() > 1 && word[0] == 'T' && word[1] >= '0' && word[1] <= '9') {
      if (!thread(word.substr(1))) return false;
      word = word_of(rest);
    }
    if (const size_t arrow = word.find("->"); arrow != std::string_view::npos) word.remove_prefix(arrow + 2);
    if (word == "mark") {
      composer_.mark(thread_, ns_, rest.substr(std::min<size_t>(1, rest.size())));
      return true;
    }
    return call(word, rest);
  }

  // A number with a point is a time.
  bool is_seconds(std::string_view word) {
    if (word.find('.') == std::string_view::npos) return false;
    const std::string text(word);
    char* end;
    const double seconds = strtod(text.c_str(), &end);
    if (*end != 0 || !std::isfinite(seconds) || seconds < 0) return false;
    if (!first_) first_ = seconds > kMostSeconds ? seconds : 0;  // times of day, too
    ns_ = static_cast<uint64_t>(std::clamp(seconds - *first_, 0.0, kMostSeconds) * 1e9);
    return true;
  }

  bool thread(std::string_view word) {
    uint64_t number;
    if (!parse(word, 10, number) || number > INT32_MAX) return refuse("this is no number of a thread");
    thread_ = static_cast<uint32_t>(number);
    if (threads_.emplace(thread_, true).second && threads_.size() > Composer::kMostThreads)
      return refuse("there are too many threads");
    return true;
  }

  bool number(std::string_view word, uint64_t& to) {
    const bool is_hex = word.starts_with("0x");
    return (parse(word, is_hex ? 16 : 10, to) && to <= kMostAddress) || refuse("this is no number of bytes");
  }

  bool call(std::string_view name, std::string_view rest) {
    std::vector<std::string_view> words;
    for (std::string_view word = word_of(rest); !word.empty() && words.size() < 8; word = word_of(rest)) {
      words.push_back(word);
    }
    const size_t count = words.size();
    const bool returns = count >= 2 && words[count - 2] == "=";
    const std::string_view block = returns ? words[count - 1] : std::string_view();
    const size_t arguments = returns ? count - 2 : count;
    uint64_t first = 0, second = 0;
    if (name == "free" && arguments == 1) return is_nothing(words[0]) || free(words[0]);
    if (!returns) return refuse("this is no call such as 'malloc SIZE = BLOCK' or 'free BLOCK'");
    if (name == "malloc" && arguments == 1) {
      return number(words[0], first) && allocate(Kind::kPlain, 0, first, block);
    }
    if (name == "calloc" && arguments == 2) {
      if (!number(words[0], first) || !number(words[1], second)) return false;
      if (second != 0 && first > kMostAddress / second) return refuse("this is no number of bytes");
      return allocate(Kind::kZeroed, 0, first * second, block);
    }
    if ((name == "memalign" || name == "aligned_alloc") && arguments == 2) {
      if (!number(words[0], first) || !number(words[1], second)) return false;
      if (!std::has_single_bit(first)) return refuse("this is no alignment");
      return allocate(Kind::kAligned, static_cast<unsigned>(std::countr_zero(first)), second, block);
    }
    if (name == "realloc" && arguments == 2) return number(words[1], first) && reallocate(words[0], first, block);
    return refuse("this is no call such as 'malloc SIZE = BLOCK' or 'free BLOCK'");
  }

  // Where the block lies. Blocks are named by their addresses, 0x…, or by any words, then they are placed.
  bool address_of(std::string_view block, bool is_new, uint64_t size, uint64_t& to) {
    if (!by_name_) by_name_ = !block.starts_with("0x");
    if (!*by_name_) {
      if (!parse(block, 16, to) || to > kMostAddress) return refuse("this is no address");
      return to % 8 == 0 || refuse("the address is no multiple of 8");
    }
    const auto known = names_.find(std::string(block));
    if (known != names_.end() && !is_new) {
      to = known->second.address;
      return true;
    }
    to = placer_.place(size);
    if (to == 0) return refuse("there is no room for such a block");
    if (known != names_.end()) composer_.free(thread_, ns_, Kind::kPlain, known->second.address);
    names_.insert_or_assign(std::string(block), Placed{to, size});
    return true;
  }

  bool allocate(Kind kind, unsigned align_log2, uint64_t size, std::string_view block) {
    uint64_t address;
    if (is_nothing(block)) return true;  // it failed
    if (!address_of(block, true, size, address)) return false;
    composer_.allocate(thread_, ns_, kind, align_log2, size, address);
    return true;
  }

  bool free(std::string_view block) {
    uint64_t address;
    if (by_name_.value_or(!block.starts_with("0x"))) {
      const auto known = names_.find(std::string(block));
      if (known == names_.end()) {
        composer_.add_dropped(1);
        return true;
      }
      composer_.free(thread_, ns_, Kind::kPlain, known->second.address);
      placer_.give_back(known->second.address, known->second.size);
      names_.erase(known);
      return true;
    }
    if (!address_of(block, false, 0, address)) return false;
    composer_.free(thread_, ns_, Kind::kPlain, address);
    return true;
  }

  bool reallocate(std::string_view from, uint64_t size, std::string_view to) {
    if (is_nothing(from)) return allocate(Kind::kPlain, 0, size, to);
    if (is_nothing(to)) return size != 0 || free(from);  // it failed, or freed the block
    uint64_t address;
    if (from == to && by_name_.value_or(!from.starts_with("0x"))) return resize(from, size);
    if (from != to) {
      if (!allocate(Kind::kReallocTo, 0, size, to)) return false;
      if (by_name_.value_or(false)) return free(from);
      if (!address_of(from, false, 0, address)) return false;
      composer_.free(thread_, ns_, Kind::kReallocFrom, address);
      return true;
    }
    if (!address_of(from, false, size, address)) return false;
    composer_.resize(thread_, ns_, address, size);
    return true;
  }

  // Of a block with a name: it moves if its place is too small or too large.
  bool resize(std::string_view block, uint64_t size) {
    const auto known = names_.find(std::string(block));
    if (known == names_.end()) return allocate(Kind::kPlain, 0, size, block);
    Placed& placed = known->second;
    if (Placer::room_of(placed.size) == Placer::room_of(size)) {
      composer_.resize(thread_, ns_, placed.address, size);
    } else {
      const uint64_t to = placer_.place(size);
      if (to == 0) return refuse("there is no room for such a block");
      composer_.allocate(thread_, ns_, Kind::kReallocTo, 0, size, to);
      composer_.free(thread_, ns_, Kind::kReallocFrom, placed.address);
      placer_.give_back(placed.address, placed.size);
      placed.address = to;
    }
    placed.size = size;
    return true;
  }

  struct Placed {
    uint64_t address, size;
  };
  Composer composer_;
  Placer placer_;
  std::optional<bool> by_name_;
  std::optional<double> first_;
  std::unordered_map<std::string, Placed> names_;
  std::unordered_map<uint32_t, bool> threads_;
  uint64_t ns_ = 0;
  uint32_t thread_ = 0;
};

}  // namespace

int import_text(Lines& lines, const ImportOptions& options, std::string_view first) {
  return Text(lines, options).run(first);
}

}  // namespace acre::trace
