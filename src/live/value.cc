#include "live/value.h"

#include <limits.h>
#include <string.h>

#include "control/print.h"

namespace acre::live {

namespace {

// Returns the power of 1024 that the suffix of a number stands for, or 0 if it is no suffix.
unsigned suffix_power(const char* text) {
  constexpr char kLetters[] = "KMGTkmgt";
  const char* found = *text == '\0' || text[1] != '\0' ? nullptr : strchr(kLetters, *text);
  return found == nullptr ? 0 : static_cast<unsigned>(found - kLetters) % 4 + 1;
}

bool read_number(const char* text, bool* negative, uint64_t* value) {
  *negative = *text == '-';
  if (*negative) ++text;
  if (*text < '0' || *text > '9') return false;
  uint64_t n = 0;
  for (; *text >= '0' && *text <= '9'; ++text) {
    if (__builtin_mul_overflow(n, 10u, &n) || __builtin_add_overflow(n, static_cast<uint64_t>(*text - '0'), &n))
      return false;
  }
  const unsigned power = suffix_power(text);
  if (*text != '\0' && power == 0) return false;
  *value = n;
  return !__builtin_mul_overflow(n, uint64_t{1} << (10 * power), value);
}

const char* read_unsigned(const char* text, uint64_t most, ctl::Value* value) {
  bool negative;
  if (!read_number(text, &negative, &value->word) || negative || value->word > most) {
    return most == UINT_MAX ? "a number from 0 to 4294967295" : "a number from 0 on, in 64 bits";
  }
  return nullptr;
}

const char* read_signed(const char* text, ctl::Value* value) {
  bool negative;
  uint64_t size;
  if (!read_number(text, &negative, &size) || size > uint64_t{INT64_MAX}) return "a number in 63 bits";
  *value = negative ? -static_cast<ssize_t>(size) : static_cast<ssize_t>(size);
  return nullptr;
}

const char* read_bool(const char* text, ctl::Value* value) {
  const bool is_true = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
  *value = is_true;
  return is_true || strcmp(text, "false") == 0 || strcmp(text, "0") == 0 ? nullptr : "true or false";
}

}  // namespace

const char* read_value(ctl::Type type, const char* text, ctl::Value* value) {
  switch (type) {
    case ctl::Type::kBool: return read_bool(text, value);
    case ctl::Type::kUnsigned:
    case ctl::Type::kU32: return read_unsigned(text, UINT_MAX, value);
    case ctl::Type::kU64:
    case ctl::Type::kSize: return read_unsigned(text, UINT64_MAX, value);
    case ctl::Type::kSsize: return read_signed(text, value);
    case ctl::Type::kString:
    case ctl::Type::kText: *value = text; return nullptr;
    default: return "something that only the program has";
  }
}

void write_value(Output& out, ctl::Type type, const ctl::Value& value) {
  switch (type) {
    case ctl::Type::kBool: out.text().add(value.as<bool>() ? "true" : "false"); return;
    case ctl::Type::kUnsigned:
    case ctl::Type::kU32:
    case ctl::Type::kU64:
    case ctl::Type::kSize: out.text().decimal(value.word); return;
    case ctl::Type::kSsize: out.text().signed_decimal(value.as<ssize_t>()); return;
    case ctl::Type::kString:
    case ctl::Type::kText: add_json_text(out, value.word == 0 ? "" : value.as<const char*>()); return;
    default: out.text().add("null"); return;
  }
}

}  // namespace acre::live
