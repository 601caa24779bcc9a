#include "tables/options.h"

#include "base/atomics.h"

namespace acre {

namespace {

constinit Options g_options;
constinit OptionSource g_sources[kOptionCount] = {};

struct Access {
  int64_t (*get)();
  void (*set)(int64_t value);
};

constexpr Access kAccess[] = {
#define ACRE_X(name, type, initial, least, most, change, help)         \
  {[] { return static_cast<int64_t>(relaxed_load(g_options.name)); },  \
   [](int64_t value) { relaxed_store(g_options.name, static_cast<type::Value>(value)); }},
    ACRE_OPTIONS(ACRE_X)
#undef ACRE_X
};

constexpr bool defaults_are_in_range() {
  for (const OptionInfo& info : kOptionTable) {
    if (info.initial < info.least || info.initial > info.most) return false;
  }
  return true;
}
static_assert(defaults_are_in_range());

}  // namespace

const Options& options() { return g_options; }

const char* name_of(OptionSource source) {
  static constexpr const char* kNames[] = {"default", "/etc/acre.conf", "ACRE_CONF", "acre_conf", "run time"};
  return kNames[static_cast<unsigned>(source)];
}

int64_t option_value(unsigned index) { return kAccess[index].get(); }
OptionSource option_source(unsigned index) { return relaxed_load(g_sources[index]); }

bool set_option(unsigned index, int64_t value, OptionSource source) {
  if (value < kOptionTable[index].least || value > kOptionTable[index].most) return false;
  kAccess[index].set(value);
  relaxed_store(g_sources[index], source);
  return true;
}

}  // namespace acre
