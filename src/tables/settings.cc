// Reads settings. All sources have the form NAME:VALUE, separated by commas or line ends. Blanks around names and
// values are ignored. A # begins a comment, which ends with the line.
#include <string.h>
#include <sys/auxv.h>

#include "base/fatal.h"
#include "base/text.h"
#include "os/os.h"
#include "tables/options.h"
#include "tables/parse.h"
#include "tables/synonyms.h"

// The program's settings, if it has any.
extern "C" __attribute__((weak, visibility("default"))) const char* acre_conf;
// Settings for jemalloc in the program, if it has any.
extern "C" __attribute__((weak, visibility("default"))) const char* malloc_conf;

namespace acre {

namespace {

constexpr size_t kMostFileBytes = 16 << 10;
constexpr size_t kMostShown = 120;  // characters of a wrong setting

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

Slice trimmed(Slice text) {
  while (text.size != 0 && is_blank(text.start[0])) text = text.from(1);
  while (text.size != 0 && is_blank(text.start[text.size - 1])) --text.size;
  return text;
}

// --- Messages -------------------------------------------------------------------------------------------------

void add_value(Text& text, const OptionInfo& info, int64_t value) {
  unsigned power = 0;
  if (info.type == OptionType::kBytes && value != 0) {
    for (; power < 4 && value % 1024 == 0; ++power) value /= 1024;
  }
  text.signed_decimal(value);
  if (power != 0) text.add("KMGT"[power - 1]);
}

void add_expected(Text& text, unsigned option) {
  const OptionInfo& info = kOptionTable[option];
  text.add(info.name).add(" is ");
  if (info.type == OptionType::kPath) {
    text.add("a path of at most ").decimal(kMostPath - 1).add(" characters");
    return;
  }
  for (int64_t i = 0; *option_value_name(option, i) != '\0'; ++i) {
    text.add(i == 0 ? "" : " or ").add(option_value_name(option, i));
  }
  if (*option_value_name(option, 0) != '\0') return;
  text.add(info.type == OptionType::kBytes ? "a number of bytes (K, M, G and T may follow) from " : "a number from ");
  add_value(text, info, info.least);
  text.add(" to ");
  add_value(text, info, info.most);
}

void add_shown(Text& text, Slice shown) {
  for (size_t i = 0; i < shown.size && i < kMostShown; ++i) {
    const char c = shown.start[i];
    text.add(c >= ' ' && c != '\x7f' ? c : '?');
  }
  if (shown.size > kMostShown) text.add("...");
}

// Cold functions are for programs with settings. A start without settings does not touch their pages (cmake/seldom.ld).
class Reader {
 public:
  void read_file(const char* path);
  void read(const char* text, OptionSource source) {
    if (text != nullptr) read_text({text, strlen(text)}, source);
  }
  void read_environment(char** environment);
  unsigned wrong() const { return wrong_; }

 private:
  ACRE_COLD void read_text(Slice text, OptionSource source);
  void read_setting(Slice setting, OptionSource source);
  ACRE_COLD void read_synonyms(char** environment);
  void read_synonym(const Synonym& synonym, const char* text);
  ACRE_COLD void complain(Slice setting, const char* where, const char* why, unsigned option = kOptionCount);
  // Does not report jemalloc's settings, since acre lacks many of jemalloc's options.
  void complain_of(Slice setting, OptionSource source, const char* why, unsigned option = kOptionCount) {
    if (source != OptionSource::kJemalloc) complain(setting, name_of(source), why, option);
  }
  ACRE_COLD void complain_of_file(const char* path, long size);

  unsigned wrong_ = 0;
};

// option: the message names its values. kOptionCount: none.
void Reader::complain(Slice setting, const char* where, const char* why, unsigned option) {
  Line<512> line;
  line.add("acre: ").add(where).add(": '");
  add_shown(line, setting);
  line.add("' is ignored: ").add(why);
  if (option != kOptionCount) add_expected(line, option);
  line.add('\n');
  write_all(2, line.c_str(), line.size());
  ++wrong_;
}

// Options that jemalloc takes as a logarithm of bytes, -1 for none. Returns false for any other option.
ACRE_COLD bool read_logarithm(Slice name, Slice text) {
  constexpr int64_t kMostLog = 47;
  const bool sample = name.is("lg_prof_sample");
  if (!sample && !name.is("lg_prof_interval")) return false;
  int64_t log;
  if (!parse_number(OptionType::kNumber, text, &log) || log < -1 || log > kMostLog) return true;
  set_option(index_of(sample ? Option::prof_sample : Option::prof_interval), log < 0 ? 0 : int64_t{1} << log,
             OptionSource::kJemalloc);
  return true;
}

void Reader::read_setting(Slice setting, OptionSource source) {
  const size_t colon = find_any(setting, ":");
  if (colon == setting.size) return complain_of(setting, source, "a setting is NAME:VALUE");
  Slice name = trimmed({setting.start, colon});
  if (source == OptionSource::kJemalloc && name.is("narenas")) name = {"arenas", 6};
  const Slice text = trimmed(setting.from(colon + 1));
  if (source == OptionSource::kJemalloc && read_logarithm(name, text)) return;
  if (source == OptionSource::kJemalloc && name.is("utrace")) return;  // in jemalloc it is true or false
  for (unsigned i = 0; i < kOptionCount; ++i) {
    if (!name.is(kOptionTable[i].name)) continue;
    int64_t value;
    if (!parse_value(i, text, &value) || !set_option(i, value, source)) complain_of(setting, source, "", i);
    return;
  }
  complain_of(setting, source, "there is no such option; `acre options` lists them");
}

void Reader::read_text(Slice text, OptionSource source) {
  while (text.size != 0) {
    if (text.start[0] == '#') {
      text = text.from(find_any(text, "\n"));
      continue;
    }
    const size_t size = find_any(text, ",\n#");
    const Slice setting = trimmed({text.start, size});
    if (setting.size != 0) read_setting(setting, source);
    text = text.from(size);
    if (text.size != 0 && text.start[0] != '#') text = text.from(1);
  }
}

// A symbolic link leads to a file, or its text is the settings, as for jemalloc's malloc.conf.
void Reader::read_file(const char* path) {
  char some;
  const long link = os::read_link(path, &some, sizeof some);
  if (link < 0 && link != os::kNoLink) return;  // nothing is there
  auto* buffer = static_cast<char*>(os::map(kMostFileBytes));
  long size = buffer == nullptr ? -1 : os::read_file(path, buffer, kMostFileBytes);
  if (buffer != nullptr && size < 0 && link >= 0) size = os::read_link(path, buffer, kMostFileBytes);
  if (size >= 0) {
    read_text({buffer, static_cast<size_t>(size)}, OptionSource::kFile);
  } else {
    complain_of_file(path, size);
  }
  if (buffer != nullptr) os::unmap(buffer, kMostFileBytes);
}

void Reader::complain_of_file(const char* path, long size) {
  Line<256> line;
  line.add("acre: ").add(path).add(" is ignored: it ");
  if (size == os::kTooLong) {
    line.add("has more than ").decimal(kMostFileBytes).add(" bytes\n");
  } else {
    line.add("cannot be read\n");
  }
  write_all(2, line.c_str(), line.size());
  ++wrong_;
}

void Reader::read_synonym(const Synonym& synonym, const char* text) {
  const Slice value_text = trimmed({text, strlen(text)});
  const unsigned option = index_of(synonym.option);
  int64_t value;
  if (parse_synonym(synonym, value_text, &value)) {
    if (value == kUnset || set_option(option, value, OptionSource::kTcmalloc)) return;
  }
  if (synonym.how == SynonymValue::kSame) return complain(value_text, synonym.variable, "", option);
  complain(value_text, synonym.variable, expected_of(synonym.how));
}

// The value of the last variable of this name, or null.
const char* find_variable(char** environment, const char* name) {
  const size_t size = strlen(name);
  const char* text = nullptr;
  for (char** at = environment; *at != nullptr; ++at) {
    if (strncmp(*at, name, size) == 0 && (*at)[size] == '=') text = *at + size + 1;
  }
  return text;
}

bool has_synonyms(char** environment) {
  for (char** at = environment; *at != nullptr; ++at) {
    if (strncmp(*at, kSynonymPrefix, sizeof kSynonymPrefix - 1) == 0) return true;
  }
  return false;
}

void Reader::read_synonyms(char** environment) {
  for (const Synonym& synonym : kSynonyms) {
    if (const char* text = find_variable(environment, synonym.variable)) read_synonym(synonym, text);
  }
}

// acre's own variable comes last, so that it overrides other allocators' variables.
void Reader::read_environment(char** environment) {
  // Arrays, since string literals would lie on a page that a start does not touch otherwise (cmake/seldom.ld).
  static constexpr char kJemallocName[] = "MALLOC_CONF", kName[] = "ACRE_CONF";
  read(find_variable(environment, kJemallocName), OptionSource::kJemalloc);
  if (has_synonyms(environment)) read_synonyms(environment);
  read(find_variable(environment, kName), OptionSource::kEnvironment);
}

}  // namespace

void read_options(const OptionSources& sources) {
  if (kHardenedByDefault) set_option(index_of(Option::hardened), true, OptionSource::kDefault);
  Reader reader;
  if (sources.file != nullptr) reader.read_file(sources.file);
  reader.read(sources.jemalloc, OptionSource::kJemalloc);
  if (sources.environment != nullptr && !sources.privileged) reader.read_environment(sources.environment);
  reader.read(sources.program, OptionSource::kProgram);
  if (reader.wrong() == 0) return;
  if (options().abort_conf) fatal("wrong settings end the program, since abort_conf is set");
  if (options().abort) fatal("wrong settings end the program, since abort is set");
}

// Tests use files of their own, so that a file of the machine does not change their result.
void read_options(char** environment) {
  OptionSources sources;
  static constexpr char kFile[] = "/etc/acre.conf";
  if (!ACRE_TESTING) sources.file = kFile;
  sources.environment = environment;
  if (&acre_conf != nullptr) sources.program = acre_conf;
  if (&malloc_conf != nullptr) sources.jemalloc = malloc_conf;
  sources.privileged = getauxval(AT_SECURE) != 0;
  read_options(sources);
}

}  // namespace acre
