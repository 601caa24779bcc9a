#include "tables/parse.h"

#include "tables/release_speed.h"

namespace acre {

size_t find_any(Slice text, const char* of) {
  size_t at = 0;
  while (at < text.size && (text.start[at] == '\0' || strchr(of, text.start[at]) == nullptr)) ++at;
  return at;
}

static bool parse_digits(Slice text, int64_t* value) {
  int64_t n = 0;
  for (size_t i = 0; i < text.size; ++i) {
    const char c = text.start[i];
    if (c < '0' || c > '9') return false;
    if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, c - '0', &n)) return false;
  }
  *value = n;
  return text.size != 0;
}

// The power of 1024 that a suffix means; 0 if it is no suffix.
static unsigned suffix_power(char c) {
  switch (c) {
    case 'k': case 'K': return 1;
    case 'm': case 'M': return 2;
    case 'g': case 'G': return 3;
    case 't': case 'T': return 4;
    default: return 0;
  }
}

bool parse_number(OptionType type, Slice text, int64_t* value) {
  const bool negative = text.size > 1 && text.start[0] == '-';
  if (negative) text = text.from(1);
  int64_t scale = negative ? -1 : 1;
  if (type == OptionType::kBytes && text.size > 1) {
    const unsigned power = suffix_power(text.start[text.size - 1]);
    scale *= int64_t{1} << (10 * power);
    if (power != 0) --text.size;
  }
  return parse_digits(text, value) && !__builtin_mul_overflow(*value, scale, value);
}

static constexpr unsigned path_options_before(unsigned option) {
  unsigned count = 0;
  for (unsigned i = 0; i < option; ++i) count += kOptionTable[i].type == OptionType::kPath;
  return count;
}

// A place for the text of each path option. A later setting replaces the text.
static constinit char g_paths[path_options_before(kOptionCount)][kMostPath];

static bool keep_path(unsigned option, Slice text, int64_t* value) {
  char* place = g_paths[path_options_before(option)];
  if (text.size >= kMostPath) return false;
  memcpy(place, text.start, text.size);
  place[text.size] = '\0';
  *value = text.size == 0 ? 0 : reinterpret_cast<int64_t>(place);
  return true;
}

bool parse_value(unsigned option, Slice text, int64_t* value) {
  const OptionInfo& info = kOptionTable[option];
  if (info.type == OptionType::kPath) return keep_path(option, text, value);
  for (int64_t i = 0; *option_value_name(option, i) != '\0'; ++i) {
    if (!text.is(option_value_name(option, i))) continue;
    *value = i;
    return true;
  }
  return info.type != OptionType::kChoice && parse_number(info.type, text, value);
}

// --- Values of TCMalloc's variables ---------------------------------------------------------------------------

constexpr int64_t kMillion = 1000000;

// A number with or without a point, in millionths. Further digits are dropped.
static bool parse_millionths(Slice text, int64_t* value) {
  const size_t point = find_any(text, ".");
  *value = 0;
  if (text.size == 0 || (point == 0 && text.size == 1)) return false;
  if (point != 0 && !parse_digits({text.start, point}, value)) return false;
  if (__builtin_mul_overflow(*value, kMillion, value)) return false;
  int64_t scale = kMillion / 10;
  for (size_t i = point + 1; i < text.size; ++i, scale /= 10) {
    const char c = text.start[i];
    if (c < '0' || c > '9') return false;
    if (__builtin_add_overflow(*value, (c - '0') * scale, value)) return false;
  }
  return true;
}

// By the first letter, as TCMalloc does it.
static bool parse_truth(Slice text, bool* value) {
  if (text.size == 0 || strchr("1tTyY0fFnN", text.start[0]) == nullptr) return false;
  *value = strchr("1tTyY", text.start[0]) != nullptr;
  return true;
}

bool parse_synonym(const Synonym& synonym, Slice text, int64_t* value) {
  bool truth = false;
  switch (synonym.how) {
    case SynonymValue::kSame: return parse_value(index_of(synonym.option), text, value);
    case SynonymValue::kTruth:
      if (!parse_truth(text, &truth)) return false;
      *value = truth ? 1 : 0;
      return true;
    case SynonymValue::kMegabytes:
      return parse_digits(text, value) && !__builtin_mul_overflow(*value, int64_t{1} << 20, value);
    case SynonymValue::kReleaseRate:
      if (!parse_millionths(text, value)) return false;
      *value = release_speed::to_ms(static_cast<double>(*value) / kMillion);
      return true;
    case SynonymValue::kZeroIfTrue:
      if (!parse_truth(text, &truth)) return false;
      *value = truth ? 0 : kUnset;
      return true;
    case SynonymValue::kNeverIfTrue:
      if (!parse_truth(text, &truth)) return false;
      *value = truth ? -1 : kUnset;
      return true;
    case SynonymValue::kUnlessZero:
      if (!parse_digits(text, value)) return false;
      if (*value == 0) *value = kUnset;
      return true;
    case SynonymValue::kTrueUnlessZero:  // a wrong text was reported before
      *value = parse_digits(text, value) && *value != 0 ? 1 : kUnset;
      return true;
  }
  return false;
}

const char* expected_of(SynonymValue how) {
  if (how == SynonymValue::kMegabytes) return "it is a number of MiB";
  if (how == SynonymValue::kUnlessZero) return "it is a number of bytes";
  return how == SynonymValue::kReleaseRate ? "it is a number from 0 on, 1 is the default" : "it is true or false";
}

}  // namespace acre
