#include "tables/options.h"

#include <string.h>
#include <sys/auxv.h>

#include "base/text.h"

namespace acre {

namespace {

constinit Options g_options;

struct Entry {
  const char* name;
  bool is_bool;
  int64_t least;
  int64_t most;
  void (*set)(int64_t value);
};

template <class T>
constexpr bool kIsBool = false;
template <>
constexpr bool kIsBool<bool> = true;

constexpr Entry kTable[] = {
#define ACRE_X(name, type, initial, least, most, help) \
  {#name, kIsBool<type>, least, most, [](int64_t value) { g_options.name = static_cast<type>(value); }},
    ACRE_OPTIONS(ACRE_X)
#undef ACRE_X
};

struct Slice {
  const char* start;
  size_t size;
  bool is(const char* s) const { return strlen(s) == size && memcmp(s, start, size) == 0; }
};

bool parse_number(Slice text, int64_t* value) {
  const bool negative = text.size > 1 && text.start[0] == '-';
  int64_t n = 0;
  for (size_t i = negative; i < text.size; ++i) {
    const char c = text.start[i];
    if (c < '0' || c > '9') return false;
    if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, c - '0', &n)) return false;
  }
  if (text.size == 0) return false;
  *value = negative ? -n : n;
  return true;
}

bool parse_value(const Entry& entry, Slice text, int64_t* value) {
  if (entry.is_bool && (text.is("true") || text.is("false"))) {
    *value = text.is("true");
    return true;
  }
  return parse_number(text, value) && *value >= entry.least && *value <= entry.most;
}

constexpr size_t kMostShown = 120;  // characters of a wrong setting

void complain(const char* what, Slice text) {
  Line<256> line;
  line.add("acre: ACRE_CONF: ").add(what).add(" '");
  for (size_t i = 0; i < text.size && i < kMostShown; ++i) line.add(text.start[i]);
  if (text.size > kMostShown) line.add("...");
  line.add("' is ignored\n");
  write_all(2, line.c_str(), line.size());
}

void read_setting(Slice setting) {
  const char* colon = static_cast<const char*>(memchr(setting.start, ':', setting.size));
  if (colon == nullptr) return complain("setting without ':'", setting);
  Slice name{setting.start, static_cast<size_t>(colon - setting.start)};
  Slice text{colon + 1, setting.size - name.size - 1};
  for (const Entry& entry : kTable) {
    if (!name.is(entry.name)) continue;
    int64_t value;
    if (!parse_value(entry, text, &value)) return complain("value out of range in", setting);
    return entry.set(value);
  }
  complain("unknown option in", setting);
}

}  // namespace

const Options& options() { return g_options; }

void read_options(char** environment) {
  static constexpr char kName[] = "ACRE_CONF=";
  if (environment == nullptr || getauxval(AT_SECURE) != 0) return;
  const char* text = nullptr;
  for (char** at = environment; *at != nullptr; ++at) {
    if (strncmp(*at, kName, sizeof kName - 1) == 0) text = *at + sizeof kName - 1;
  }
  while (text != nullptr && *text != '\0') {
    size_t size = strcspn(text, ",");
    if (size != 0) read_setting({text, size});
    text += size + (text[size] == ',');
  }
}

}  // namespace acre
