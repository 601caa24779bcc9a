#include "tables/options.h"

#include <string.h>

#include "base/atomics.h"

namespace acre {

namespace {

constinit Options g_options;
constinit OptionSource g_sources[kOptionCount] = {};

constexpr bool defaults_are_in_range() {
  for (const OptionInfo& info : kOptionTable) {
    if (info.initial < info.least || info.initial > info.most) return false;
  }
  return true;
}
static_assert(defaults_are_in_range());

}  // namespace

const Options& options() { return g_options; }

ACRE_COLD const char* name_of(OptionSource source) {
  switch (source) {
    case OptionSource::kDefault: return "default";
    case OptionSource::kFile: return "/etc/acre.conf";
    case OptionSource::kJemalloc: return "malloc_conf";
    case OptionSource::kTcmalloc: return "TCMALLOC_*";
    case OptionSource::kEnvironment: return "ACRE_CONF";
    case OptionSource::kProgram: return "acre_conf";
    case OptionSource::kRunTime: return "run time";
  }
  return "";
}

ACRE_COLD const char* option_help(unsigned index) {
#define ACRE_X(name, type, initial, least, most, change, help) \
  if (index == index_of(Option::name)) return help;
  ACRE_OPTIONS(ACRE_X)
#undef ACRE_X
  return "";
}

ACRE_COLD const char* option_value_name(unsigned index, int64_t value) {
  const char* names = "";
#define ACRE_X(name, type, initial, least, most, change, help) \
  if (index == index_of(Option::name)) names = type::kNames;
  ACRE_OPTIONS(ACRE_X)
#undef ACRE_X
  for (; value > 0 && *names != '\0'; --value) names += strlen(names) + 1;
  return names;
}

ACRE_COLD int64_t option_value(unsigned index) {
#define ACRE_X(name, type, initial, least, most, change, help) \
  if (index == index_of(Option::name)) return static_cast<int64_t>(relaxed_load(g_options.name));
  ACRE_OPTIONS(ACRE_X)
#undef ACRE_X
  return 0;
}
OptionSource option_source(unsigned index) { return relaxed_load(g_sources[index]); }

ACRE_COLD bool set_option(unsigned index, int64_t value, OptionSource source) {
  if (value < kOptionTable[index].least || value > kOptionTable[index].most) return false;
#define ACRE_X(name, type, initial, least, most, change, help) \
  if (index == index_of(Option::name)) relaxed_store(g_options.name, static_cast<type::Value>(value));
  ACRE_OPTIONS(ACRE_X)
#undef ACRE_X
  relaxed_store(g_sources[index], source);
  return true;
}

}  // namespace acre
