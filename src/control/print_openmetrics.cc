// The OpenMetrics text format, version 1.0.0: families of samples, all samples of a family together.
#include "acre/acre.h"
#include "control/print.h"

namespace acre {

namespace {

const char* unit_name(StatUnit unit) {
  switch (unit) {
    case StatUnit::kBytes: return "bytes";
    case StatUnit::kNanoseconds: return "seconds";
    case StatUnit::kPermille: return "ratio";
    default: return "";
  }
}

// A family: one row of a table.
struct Family {
  Output& out;
  StatScope scope;
  unsigned row;

  const StatInfo& info() const { return stat_table(scope).rows[row]; }

  Text& add_name(Text& text) const {
    text.add("acre_");
    if (scope != StatScope::kProcess) text.add(stat_scope_name(scope)).add('_');
    text.add(info().name);
    const char* unit = unit_name(info().unit);
    if (*unit != '\0') text.add('_').add(unit);
    return text;
  }

  void begin() const {
    const bool counter = info().kind == StatKind::kCounter;
    add_name(out.text().add("# TYPE ")).add(counter ? " counter\n" : " gauge\n");
    const char* unit = unit_name(info().unit);
    if (*unit != '\0') add_name(out.text().add("# UNIT ")).add(' ').add(unit).add('\n');
    add_name(out.text().add("# HELP ")).add(' ').add(stat_help(scope, row)).add('\n');
  }

  // The caller adds the sample's labels, then its value.
  Text& sample() const {
    return add_name(out.text()).add(info().kind == StatKind::kCounter ? "_total" : "");
  }

  void value(Text& text, const uint64_t* figures) const {
    const uint64_t figure = figures[row];
    text.add(' ');
    switch (info().unit) {
      case StatUnit::kNanoseconds: text.fixed(figure, 1000000000, 9); break;
      case StatUnit::kPermille: text.fixed(figure, 1000, 3); break;
      default: text.decimal(figure); break;
    }
    text.add('\n');
  }
};

template <class AddSamples>
void add_families(Output& out, StatScope scope, AddSamples add_samples) {
  for (unsigned row = 0; row < stat_table(scope).count; ++row) {
    const Family family{out, scope, row};
    family.begin();
    add_samples(family);
  }
}

void add_lock_samples(const Family& family, const Report& report) {
  for (unsigned i = 0; i < kProcessLocks; ++i) {
    Text& text = family.sample().add("{lock=\"").add(kProcessLockNames[i]).add("\"}");
    family.value(text, figures_of(report.locks[i]));
  }
  report.for_each([&](unsigned number, const ArenaReport& arena) {
    Text& text = family.sample().add("{lock=\"pages\",arena=\"").decimal(number).add("\"}");
    family.value(text, figures_of(arena.pages_lock));
  });
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    if (all_zero(report.all.bin_locks[c])) continue;
    Text& text = family.sample().add("{lock=\"bin\",size=\"").decimal(size_of_class(c)).add("\"}");
    family.value(text, figures_of(report.all.bin_locks[c]));
  }
}

// Adds a label's value as the format requires, with its quotes.
void add_label(Text& text, const char* name) {
  text.add('"');
  while (*name != '\0') {
    if (*name == '\n') {
      text.add("\\n");
      ++name;
      continue;
    }
    if (*name == '"' || *name == '\\') text.add('\\');
    name = add_letter(text, name);
  }
  text.add('"');
}

void add_tag_samples(const Family& family) {
  for_each_tag([&](const TagInfo& info) {
    const TagStatistics figures = statistics_of(info);
    if (figures_of(figures)[family.row] == UINT64_MAX) return;  // no limit
    Text& text = family.sample().add("{tag=");
    add_label(text, info.name);
    family.value(text.add('}'), figures_of(figures));
  });
}

}  // namespace

void print_openmetrics(const Report& report, Output& out) {
  out.text().add("# TYPE acre info\n# HELP acre the allocator\nacre_info{version=\"" ACRE_VERSION "\"} 1\n");
  add_families(out, StatScope::kProcess, [&](const Family& family) {
    family.value(family.sample(), figures_of(report.process));
  });
  add_families(out, StatScope::kArena, [&](const Family& family) {
    report.for_each([&](unsigned number, const ArenaReport& arena) {
      family.value(family.sample().add("{arena=\"").decimal(number).add("\"}"), figures_of(arena.arena));
    });
  });
  add_families(out, StatScope::kClass, [&](const Family& family) {
    for (SizeClass c = 0; c < kSmallClasses; ++c) {
      if (all_zero(report.all.classes[c])) continue;
      family.value(family.sample().add("{size=\"").decimal(size_of_class(c)).add("\"}"),
                   figures_of(report.all.classes[c]));
    }
  });
  add_families(out, StatScope::kLock, [&](const Family& family) { add_lock_samples(family, report); });
  add_families(out, StatScope::kTag, add_tag_samples);
  out.text().add("# EOF\n");
}

}  // namespace acre
