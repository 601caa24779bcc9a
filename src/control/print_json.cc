#include <unistd.h>

#include "acre/acre.h"
#include "control/print.h"

namespace acre {

namespace {

// "name":value pairs of all figures, without the braces around them.
void add_figures(Output& out, StatScope scope, const uint64_t* figures, unsigned first = 0, unsigned end = ~0u) {
  const StatTable table = stat_table(scope);
  for (unsigned row = first; row < smaller(end, table.count); ++row) {
    Text& text = out.text().add(row == first ? "\"" : ",\"").add(table.rows[row].name).add("\":");
    figures[row] == UINT64_MAX ? text.add("null") : text.decimal(figures[row]);  // no limit
  }
}

void add_lock(Output& out, const char* name, const LockStatistics& lock) {
  out.text().add('"').add(name).add("\":{");
  add_figures(out, StatScope::kLock, figures_of(lock));
  out.text().add('}');
}

void add_classes(Output& out, const ArenaReport& report, bool with_locks) {
  out.text().add(",\n\"classes\":[");
  const char* before = "\n";
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    if (all_zero(report.classes[c]) && all_zero(report.bin_locks[c])) continue;
    out.text().add(before).add("{\"size\":").decimal(size_of_class(c)).add(',');
    add_figures(out, StatScope::kClass, figures_of(report.classes[c]));
    if (with_locks) {
      out.text().add(',');
      add_lock(out, "lock", report.bin_locks[c]);
    }
    out.text().add('}');
    before = ",\n";
  }
  out.text().add(']');
}

void add_json_lengths(Output& out, const ArenaReport& report, const Omitted& omitted) {
  const unsigned first = omitted.large ? kLengthRowsOfLarge : 0, end = omitted.free_runs ? kLengthRowsOfLarge : ~0u;
  out.text().add(",\n\"lengths\":[");
  const char* before = "\n";
  for (unsigned i = 0; i < FreeRuns::kBins; ++i) {
    if (all_zero(report.lengths[i])) continue;
    out.text().add(before).add("{\"most_pages\":").decimal(FreeRuns::most_pages(i)).add(',');
    add_figures(out, StatScope::kLength, figures_of(report.lengths[i]), first, end);
    out.text().add('}');
    before = ",\n";
  }
  out.text().add(']');
}

void add_json_arena(Output& out, const ArenaReport& report, const Omitted& omitted) {
  add_figures(out, StatScope::kArena, figures_of(report.arena));
  if (!omitted.locks) {
    out.text().add(",\n\"locks\":{");
    add_lock(out, "pages", report.pages_lock);
    out.text().add('}');
  }
  if (!omitted.classes) add_classes(out, report, !omitted.locks);
  if (!omitted.large || !omitted.free_runs) add_json_lengths(out, report, omitted);
}

void add_general(Output& out) {
  out.text().add(",\n\"page\":").decimal(kPageBytes).add(",\"options\":{");
  for (unsigned i = 0; i < kOptionCount; ++i) {
    Text& text = out.text().add(i == 0 ? "\"" : ",\"").add(kOptionTable[i].name).add("\":");
    const char* name = option_value_name(i, option_value(i));
    if (kOptionTable[i].type == OptionType::kPath) {
      add_json_text(out, path_of(option_value(i)));
    } else if (kOptionTable[i].type == OptionType::kChoice) {
      text.add('"').add(name).add('"');
    } else if (kOptionTable[i].type == OptionType::kBool) {
      text.add(name);
    } else {
      text.signed_decimal(option_value(i));
    }
  }
  out.text().add('}');
}

}  // namespace

// Returns the number of bytes of the UTF-8 letter at this place, or 0 if it is not UTF-8.
static unsigned letter_bytes(const char* at) {
  const auto byte = [at](unsigned i) { return static_cast<unsigned char>(at[i]); };
  const auto follows = [byte](unsigned i) { return (byte(i) & 0xc0) == 0x80; };
  if (byte(0) < 0x80) return 1;
  if (byte(0) < 0xc2 || !follows(1)) return 0;
  if (byte(0) < 0xe0) return 2;
  if (!follows(2)) return 0;
  if (byte(0) < 0xf0) {
    const bool shorter = byte(0) == 0xe0 && byte(1) < 0xa0, half = byte(0) == 0xed && byte(1) >= 0xa0;
    return shorter || half ? 0 : 3;
  }
  if (byte(0) > 0xf4 || !follows(3)) return 0;
  const bool shorter = byte(0) == 0xf0 && byte(1) < 0x90, beyond = byte(0) == 0xf4 && byte(1) >= 0x90;
  return shorter || beyond ? 0 : 4;
}

const char* add_letter(Text& text, const char* at) {
  const unsigned bytes = letter_bytes(at);
  if (bytes == 0) {
    text.add("\xef\xbf\xbd").hex_digits(static_cast<unsigned char>(*at));
    return at + 1;
  }
  for (unsigned i = 0; i < bytes; ++i) text.add(at[i]);
  return at + bytes;
}

void add_json_text(Output& out, const char* text) {
  out.text().add('"');
  while (*text != '\0') {
    const unsigned char letter = static_cast<unsigned char>(*text);
    if (letter < ' ') {
      out.text().add("\\u00").hex_digits(letter);
      ++text;
      continue;
    }
    if (letter == '"' || letter == '\\') out.text().add('\\');
    text = add_letter(out.text(), text);
  }
  out.text().add('"');
}

static void add_json_tags(Output& out) {
  out.text().add(",\n\"tags\":[");
  const char* before = "\n";
  for_each_tag([&](const TagInfo& info) {
    out.text().add(before).add("{\"name\":");
    add_json_text(out, info.name);
    out.text().add(',');
    const TagStatistics figures = statistics_of(info);
    add_figures(out, StatScope::kTag, figures_of(figures));
    out.text().add('}');
    before = ",\n";
  });
  out.text().add(']');
}

void print_json(const Report& report, const Omitted& omitted, Output& out) {
  out.text().add("{\"acre\":{\"version\":\"" ACRE_VERSION "\",\"pid\":").decimal(static_cast<uint64_t>(getpid()));
  if (!omitted.general) add_general(out);
  out.text().add(",\n\"process\":{");
  add_figures(out, StatScope::kProcess, figures_of(report.process));
  out.text().add('}');
  if (!omitted.locks) {
    out.text().add(",\n\"locks\":{");
    for (unsigned i = 0; i < kProcessLocks; ++i) {
      if (i != 0) out.text().add(',');
      add_lock(out, kProcessLockNames[i], report.locks[i]);
    }
    out.text().add('}');
  }
  if (!omitted.merged) {
    out.text().add(",\n\"merged\":{");
    add_json_arena(out, report.all, omitted);
    out.text().add('}');
  }
  if (!omitted.arenas) {
    out.text().add(",\n\"arenas\":[");
    bool first = true;
    report.for_each([&](unsigned number, const ArenaReport& arena) {
      out.text().add(first ? "\n{" : ",\n{").add("\"number\":").decimal(number).add(',');
      first = false;
      add_json_arena(out, arena, omitted);
      out.text().add('}');
    });
    out.text().add(']');
  }
  add_json_tags(out);
  out.text().add("}}\n");
}

}  // namespace acre
