#include "leaks/report.h"

#include <errno.h>
#include <unistd.h>

#include <atomic>

#include "acre/acre.h"
#include "base/text.h"
#include "os/mapped.h"
#include "report/mappings.h"
#include "report/output.h"
#include "sample/profile.h"

namespace acre::leaks {

namespace {

constinit std::atomic<unsigned> g_written{0};

class Writer {
 public:
  explicit Writer(report::Output& to) : to_(to) {}

  void write(const Finding& finding, Moment moment, const char* name);

 private:
  void text(const char* key, const char* value);
  void number(const char* key, uint64_t value);
  void begin(const char* key);
  void stack(const char* key, const profile::Stack* stack);
  void leak(const Leak& leak);
  static void add_mapping(const report::Mapping& mapping, void* writer);
  void begin_list(const char* key) {
    begin(key);
    to_.add("[");
    first_ = true;
  }
  void end_list() {
    to_.add("]");
    first_ = false;
  }
  void comma() {
    if (!first_) to_.add(",");
    first_ = false;
  }

  report::Output& to_;
  bool first_ = true;
};

void Writer::begin(const char* key) {
  comma();
  to_.add("\n\"");
  to_.add(key);
  to_.add("\":");
}

void Writer::number(const char* key, uint64_t value) {
  begin(key);
  Line<24> digits;
  digits.decimal(value);
  to_.add(digits.c_str());
}

// Writes bytes that are not ASCII unchanged: paths are UTF-8, or the reader has to know their encoding.
void Writer::text(const char* key, const char* value) {
  begin(key);
  to_.add("\"");
  for (; *value != '\0'; ++value) {
    const unsigned char c = static_cast<unsigned char>(*value);
    if (c < ' ') {
      Line<8> escaped;
      escaped.add("\\u00").hex_digits(c);
      to_.add(escaped.c_str());
      continue;
    }
    if (c == '"' || c == '\\') to_.add("\\");
    to_.add(value, 1);
  }
  to_.add("\"");
}

void Writer::stack(const char* key, const profile::Stack* stack) {
  begin(key);
  if (stack == nullptr) return to_.add("null");
  const Address* frames;
  const unsigned count = profile::frames_of(stack, &frames);
  to_.add("[");
  for (unsigned i = 0; i < count; ++i) {
    Line<24> frame;
    frame.add(i == 0 ? "" : ",").decimal(frames[i]);
    to_.add(frame.c_str());
  }
  to_.add("]");
}

void Writer::leak(const Leak& leak) {
  comma();
  to_.add("\n{");
  first_ = true;
  stack("stack", leak.stack);
  if (!leak.direct) stack("held_by", leak.root);
  number("truncated", leak.stack != nullptr && profile::is_truncated(leak.stack));
  number("block_bytes", leak.block_bytes);
  number("blocks", leak.blocks);
  number("bytes", leak.bytes);
  to_.add("}");
}

void Writer::add_mapping(const report::Mapping& mapping, void* argument) {
  Writer& to = *static_cast<Writer*>(argument);
  to.comma();
  to.to_.add("\n{");
  to.first_ = true;
  to.number("start", mapping.start);
  to.number("end", mapping.end);
  to.number("offset", mapping.offset);
  to.text("build_id", mapping.build_id);
  to.text("path", mapping.path);
  to.to_.add("}");
}

void Writer::write(const Finding& finding, Moment moment, const char* name) {
  constexpr const char kMoments[][8] = {"exit", "live", "section"};
  to_.add("{");
  number("acre_leaks", 1);
  text("version", ACRE_VERSION);
  text("program", program_invocation_name);
  number("pid", static_cast<uint64_t>(getpid()));
  text("moment", kMoments[static_cast<unsigned>(moment)]);
  if (name != nullptr) text("name", name);
  text("mode", option_value_name(index_of(Option::leaks), static_cast<int64_t>(finding.mode)));
  number("threads", finding.threads);
  number("threads_not_stopped", finding.running);
  number("refusal", finding.refusal);
  number("stopped_us", finding.stopped_us);
  number("prof_sample", profile::mean());
  number("live_blocks", finding.live_blocks);
  number("live_bytes", finding.live_bytes);
  number("leaked_blocks", finding.leaked_blocks);
  number("leaked_bytes", finding.leaked_bytes);
  number("doubtful_blocks", finding.doubtful_blocks);
  number("profiled", profile::is_prepared());
  begin_list("leaks");
  for (size_t i = 0; i < finding.places; ++i) {
    if (finding.leaks[i].blocks != 0) leak(finding.leaks[i]);
  }
  end_list();
  begin_list("mappings");
  report::for_each_mapping(add_mapping, this);
  end_list();
  to_.add("\n}\n");
}

void default_path(Moment moment, Text& path) {
  const char* folder = path_of(options().leaks_folder);
  if (folder[0] != '\0') path.add(folder).add('/');
  path.add(program_invocation_short_name).add('.').decimal(static_cast<uint64_t>(getpid())).add('.');
  if (moment != Moment::kExit) path.decimal(g_written.fetch_add(1, std::memory_order_relaxed)).add('.');
  path.add("leaks.json");
}

template <class Target>
int write_to(Target target, const Finding& finding, Moment moment, const char* name) {
  struct Buffer {
    char bytes[64 << 10];
  };
  const os::Mapped<Buffer> buffer;
  if (buffer.get() == nullptr) return EAGAIN;
  report::Output to(target, buffer->bytes, sizeof buffer->bytes);
  Writer(to).write(finding, moment, name);
  return to.finish();
}

}  // namespace

int write_report(const char* path, const Finding& finding, Moment moment, const char* name, char* used) {
  Text where(used, kMostBytesOfPath);
  if (path != nullptr) {
    where.add(path);
  } else {
    default_path(moment, where);
  }
  return write_to<const char*>(used, finding, moment, name);
}

int write_report(report::Sink sink, const Finding& finding, Moment moment) {
  return write_to(sink, finding, moment, nullptr);
}

}  // namespace acre::leaks
