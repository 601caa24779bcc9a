#include "live/verbs.h"

#include <string.h>
#include <unistd.h>

#include "acre/acre.h"
#include "control/census.h"
#include "control/print.h"
#include "heap/explicit.h"
#include "leaks/checker.h"
#include "live/socket.h"
#include "os/socket.h"
#include "report/profile_file.h"
#include "sample/profile.h"
#include "tables/options.h"

namespace acre::live {

namespace {

constexpr size_t kMostMessage = 300;

bool takes_no_more(const char* rest, Reply& reply) {
  if (*rest != '\0') reply.refuse("there is more in this request than the verb takes; `info` shows its form");
  return *rest == '\0';
}

// 0 … 3; -1: there is no such form.
int form_of(const char* name) {
  if (*name == '\0') return static_cast<int>(StatsFormat::kSummary);
  for (int i = 0;; ++i) {
    const char* known = option_value_name(index_of(Option::stats_format), i);
    if (*known == '\0') return -1;
    if (strcmp(known, name) == 0) return i;
  }
}

// Runs that lie side by side are one region.
struct Regions {
  Output& out;
  const char* before = "";
  Address start = 0;
  Address end = 0;

  void put() {
    if (start == end) return;
    out.text().add(before).add('[').decimal(start).add(',').decimal(end).add(']');
    before = ",\n";
  }
};

void add_run(void* opaque, uintptr_t start, size_t bytes, census::Kind, double) {
  Regions& regions = *static_cast<Regions*>(opaque);
  if (start != regions.end) {
    regions.put();
    regions.start = start;
  }
  regions.end = start + bytes;
}

// The answer says which file was written, and is not what is in it, which may have bytes of 0. write: returns 0 or an
// error number.
template <class Write>
void tell_file(Reply& reply, const char* what, const char* suffix, Write write) {
  Line<os::kMostSocketPath + 16> path;
  add_path_beside(path, suffix);
  const int error = path.size() == 0 ? ENOENT : write(path.c_str());
  reply.extend(os::now_ms() + Reply::kPatienceMs);
  if (error != 0) {
    Line<kMostMessage> message;
    message.add("the ").add(what).add(" cannot be written to ").add(path.c_str());
    return reply.refuse(message.add(": error ").decimal(static_cast<uint64_t>(error)).c_str());
  }
  Output out(Reply::write, &reply);
  out.text().add("{\"file\":\"").add(path.c_str()).add("\"}\n");
}

}  // namespace

void answer_info(const Request& request, Reply& reply) {
  if (!takes_no_more(request.name, reply)) return;
  Output out(Reply::write, &reply);
  out.text().add("{\"acre\":\"" ACRE_VERSION "\",\"protocol\":").decimal(kProtocol);
  out.text().add(",\"pid\":").decimal(static_cast<uint64_t>(getpid())).add(",\"user\":").decimal(os::user());
  out.text().add(",\n\"verbs\":[");
  const char* before = "\n";
#define ACRE_X(name, form, help)                                                                               \
  out.text().add(before).add("{\"verb\":\"" #name "\",\"form\":\"" form "\",\"help\":\"" help "\"}");          \
  before = ",\n";
  ACRE_VERBS(ACRE_X)
#undef ACRE_X
  out.text().add("]}\n");
}

void answer_stats(const Request& request, Reply& reply) {
  const int form = form_of(request.name);
  if (form < 0) return reply.refuse("statistics are summary, text, json or openmetrics");
  StatsFormat format = static_cast<StatsFormat>(form);
  StatsFormat unused = format;
  const Omitted omitted = read_letters(request.value, &unused);
  if (print_statistics(format, omitted, Reply::write, &reply) != 0) reply.refuse("memory for statistics was refused");
}

void answer_purge(const Request& request, Reply& reply) {
  if (!takes_no_more(request.name, reply)) return;
  const uint64_t returned = arenas::purge_all(0) * kPageBytes;
  Output out(Reply::write, &reply);
  out.text().add("{\"returned\":").decimal(returned).add(",\"dirty\":").decimal(arenas::dirty_pages() * kPageBytes).add("}\n");
}

void answer_heap(const Request& request, Reply& reply) {
  static constexpr const char* kNames[] = {"live", "peak", "growth", "text"};
  constexpr report::Kind kKinds[] = {report::Kind::kLive, report::Kind::kPeak, report::Kind::kGrowth,
                                     report::Kind::kLegacy};
  unsigned which = 0;
  while (which < 4 && *request.name != '\0' && strcmp(request.name, kNames[which]) != 0) ++which;
  if (which == 4) return reply.refuse("a heap profile is live, peak, growth or text");
  if (!profile::is_prepared()) {
    return reply.refuse("the heap profiler is off: start the program with `acre run --profile`, or let it begin now with "
                        "`acre ctl PID prof.active true`");
  }
  tell_file(reply, "profile", which == 3 ? ".heap.txt" : ".heap.pb.gz",
            [&](const char* path) { return report::write_profile(path, kKinds[which]); });
}

void answer_leaks(const Request& request, Reply& reply) {
  if (!takes_no_more(request.name, reply)) return;
  tell_file(reply, "report", ".leaks.json", [](const char* path) { return leaks::dump(path); });
}

void answer_regions(const Request& request, Reply& reply) {
  if (!takes_no_more(request.name, reply)) return;
  Output out(Reply::write, &reply);
  out.text().add("{\"regions\":[");
  Regions regions{out};
  census::ranges(add_run, &regions);
  regions.put();
  out.text().add("]}\n");
}

void answer(char* line, Reply& reply) {
  Request request;
  if (const char* wrong = parse(line, &request)) return reply.refuse(wrong);
#define ACRE_X(name, form, help)                \
  if (strcmp(request.verb, #name) == 0) {       \
    answer_##name(request, reply);              \
    return reply.finish();                      \
  }
  ACRE_VERBS(ACRE_X)
#undef ACRE_X
  Line<kMostMessage> message;
  reply.refuse(message.add("there is no verb '").add(request.verb).add("'; `info` names them").c_str());
}

}  // namespace acre::live
