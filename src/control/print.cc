#include "control/print.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

namespace acre {

namespace {

constexpr unsigned kNameWidth = 18;
constexpr unsigned kColumnWidth = 8;

void write_to_fd(void* opaque, const char* text) { write_all(*static_cast<int*>(opaque), text, strlen(text)); }

void add_figure(Text& text, const StatInfo& info, uint64_t figure) {
  switch (info.unit) {
    case StatUnit::kBytes: text.bytes(figure); return;
    case StatUnit::kNanoseconds: text.fixed(figure, 1000000000, 6).add(" s"); return;
    case StatUnit::kPermille: text.fixed(figure, 10, 1).add(" %"); return;
    default: text.decimal(figure);
  }
}

void pad(Text& text, size_t from, size_t width) {
  while (text.size() - from < width) text.add(' ');
}

void add_list(Output& out, StatScope scope, const uint64_t* figures) {
  const StatTable table = stat_table(scope);
  for (unsigned row = 0; row < table.count; ++row) {
    Text& text = out.text();
    size_t start = text.size();
    pad(text.add("  ").add(table.rows[row].name), start, kNameWidth + 2);
    start = text.size();
    add_figure(text, table.rows[row], figures[row]);
    pad(text, start, 14);
    text.add("  ").add(stat_help(scope, row)).add('\n');
  }
}

// The columns of a table from `first` to before `end`.
struct Columns {
  StatScope scope;
  unsigned first = 0;
  unsigned end = 0;
  explicit Columns(StatScope of) : scope(of), end(stat_table(of).count) {}
};

unsigned width_of(const StatInfo& info) {
  return larger<unsigned>(kColumnWidth, static_cast<unsigned>(strlen(info.name)));
}

void add_head(Output& out, const Columns& columns, const char* first) {
  Text& text = out.text();
  const size_t start = text.size();
  pad(text.add("  ").add(first), start, kNameWidth);
  for (unsigned row = columns.first; row < columns.end; ++row) {
    const StatInfo& info = stat_table(columns.scope).rows[row];
    const size_t at = text.size();
    pad(text, at, width_of(info) - strlen(info.name) + 1);
    text.add(info.name);
  }
  text.add('\n');
}

// number: is appended to the name, unless it is null.
void add_row(Output& out, const Columns& columns, const char* name, const uint64_t* number, const uint64_t* figures) {
  Text& text = out.text();
  const size_t start = text.size();
  text.add("  ").add(name);
  if (number != nullptr) text.decimal(*number);
  pad(text, start, kNameWidth);
  for (unsigned row = columns.first; row < columns.end; ++row) {
    const unsigned width = width_of(stat_table(columns.scope).rows[row]);
    if (figures[row] == UINT64_MAX) {  // no limit
      text.add(' ');
      pad(text, text.size(), width - 4);
      text.add("none");
    } else {
      text.add(' ').right(figures[row], width);
    }
  }
  text.add('\n');
}

void add_title(Output& out, const char* title) { out.text().add('\n').add(title).add('\n'); }

void add_classes(Output& out, const ArenaReport& report) {
  const Columns columns(StatScope::kClass);
  add_head(out, columns, "class");
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    const uint64_t size = size_of_class(c);
    if (!all_zero(report.classes[c])) add_row(out, columns, "", &size, figures_of(report.classes[c]));
  }
}

void add_locks(Output& out, const ArenaReport& report) {
  const Columns columns(StatScope::kLock);
  add_head(out, columns, "lock");
  add_row(out, columns, "pages", nullptr, figures_of(report.pages_lock));
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    const uint64_t size = size_of_class(c);
    if (!all_zero(report.bin_locks[c])) add_row(out, columns, "bin of ", &size, figures_of(report.bin_locks[c]));
  }
}

void add_lengths(Output& out, const ArenaReport& report, const Omitted& omitted) {
  Columns columns(StatScope::kLength);
  if (omitted.large) columns.first = kLengthRowsOfLarge;
  if (omitted.free_runs) columns.end = kLengthRowsOfLarge;
  add_head(out, columns, "pages, at most");
  for (unsigned i = 0; i < FreeRuns::kBins; ++i) {
    const uint64_t pages = FreeRuns::most_pages(i);
    if (!all_zero(report.lengths[i])) add_row(out, columns, "", &pages, figures_of(report.lengths[i]));
  }
}

void add_arena(Output& out, const ArenaReport& report, const Omitted& omitted) {
  add_list(out, StatScope::kArena, figures_of(report.arena));
  if (!omitted.classes) add_classes(out, report);
  if (!omitted.large || !omitted.free_runs) add_lengths(out, report, omitted);
  if (!omitted.locks) add_locks(out, report);
}

// Adds a text that may not fit into one part.
void add_long(Output& out, const char* text) {
  for (; *text != '\0'; ++text) out.text().add(*text);
}

constexpr unsigned kTagsShown = 10;

// The tags with the most live bytes, largest first.
struct LargestTags {
  TagInfo info[kTagsShown];
  unsigned shown = 0;
  unsigned all = 0;

  void add(const TagInfo& tag) {
    ++all;
    unsigned at = shown < kTagsShown ? shown++ : kTagsShown;
    for (; at != 0 && info[at - 1].live < tag.live; --at) {
      if (at < kTagsShown) info[at] = info[at - 1];
    }
    if (at < kTagsShown) info[at] = tag;
  }
};

void add_tags(Output& out) {
  LargestTags largest;
  for_each_tag([&](const TagInfo& info) { largest.add(info); });
  if (largest.all == 0) return;
  add_title(out, "tags");
  const Columns columns(StatScope::kTag);
  add_head(out, columns, largest.all > largest.shown ? "largest ten" : "tag");
  for (unsigned i = 0; i < largest.shown; ++i) {
    Line<Tag::kNameBytes * 5> name;
    for (const char* at = largest.info[i].name; *at != '\0';) {
      const bool is_control = static_cast<unsigned char>(*at) < ' ' || *at == '\x7f';
      at = is_control ? name.add('?'), at + 1 : add_letter(name, at);
    }
    const TagStatistics figures = statistics_of(largest.info[i]);
    add_row(out, columns, name.c_str(), nullptr, figures_of(figures));
  }
}

void add_options(Output& out) {
  add_title(out, "options");
  for (unsigned i = 0; i < kOptionCount; ++i) {
    Text& text = out.text();
    const size_t start = text.size();
    pad(text.add("  ").add(kOptionTable[i].name), start, kNameWidth + 2);
    const char* name = option_value_name(i, option_value(i));
    if (kOptionTable[i].type == OptionType::kPath) {
      add_long(out, path_of(option_value(i)));
      out.text().add('\n');
    } else if (*name != '\0') {
      text.add(name).add('\n');
    } else {
      text.signed_decimal(option_value(i)).add('\n');
    }
  }
}

}  // namespace

void print_text(const Report& report, const Omitted& omitted, Output& out) {
  Line<kSummaryBytes> summary;
  add_summary(summary, report.process);
  add_long(out, summary.c_str());
  if (!omitted.general) add_options(out);
  add_title(out, "process");
  add_list(out, StatScope::kProcess, figures_of(report.process));
  if (!omitted.locks) {
    const Columns columns(StatScope::kLock);
    add_head(out, columns, "lock");
    for (unsigned i = 0; i < kProcessLocks; ++i) {
      add_row(out, columns, kProcessLockNames[i], nullptr, figures_of(report.locks[i]));
    }
  }
  if (!omitted.merged) {
    add_title(out, "all arenas");
    add_arena(out, report.all, omitted);
  }
  add_tags(out);
  if (omitted.arenas) return;
  report.for_each([&](unsigned number, const ArenaReport& arena) {
    out.text().add("\narena ").decimal(number).add('\n');
    add_arena(out, arena, omitted);
  });
}

Omitted read_letters(const char* letters, StatsFormat* format) {
  Omitted omitted;
  for (; letters != nullptr && *letters != '\0'; ++letters) {
    switch (*letters) {
      case 'J': *format = StatsFormat::kJson; break;
      case 'g': omitted.general = true; break;
      case 'm': omitted.merged = true; break;
      case 'a': omitted.arenas = true; break;
      case 'b': omitted.classes = true; break;
      case 'l': omitted.large = true; break;
      case 'x': omitted.locks = true; break;
      case 'e': omitted.free_runs = true; break;
      default: break;
    }
  }
  return omitted;
}

int print_statistics(StatsFormat format, const Omitted& omitted, WriteText write, void* opaque) {
  int standard_error = STDERR_FILENO;
  if (write == nullptr) {
    write = write_to_fd;
    opaque = &standard_error;
  }
  Output out(write, opaque);
  if (format == StatsFormat::kSummary) {
    add_summary(out.text(), gather_process());
    return 0;
  }
  Report* report = make_report();
  if (report == nullptr) return EAGAIN;
  switch (format) {
    case StatsFormat::kJson: print_json(*report, omitted, out); break;
    case StatsFormat::kOpenMetrics: print_openmetrics(*report, out); break;
    default: print_text(*report, omitted, out); break;
  }
  drop_report(report);
  return 0;
}

void print_statistics(StatsFormat format, int fd) {
  if (print_statistics(format, {}, write_to_fd, &fd) != 0) write_to_fd(&fd, "acre: no memory for statistics\n");
}

}  // namespace acre
