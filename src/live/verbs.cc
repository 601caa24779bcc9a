#include "live/verbs.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "acre/acre.h"
#include "control/block_lists.h"
#include "control/print.h"
#include "control/thread_caches.h"
#include "leaks/checker.h"
#include "live/authority.h"
#include "live/base64.h"
#include "manual/manual_arena.h"
#include "observe/hooks.h"
#include "reclaim/quiet_runs.h"
#include "record/record.h"
#include "report/profile_file.h"
#include "sample/capture.h"
#include "sample/profile.h"
#include "tables/parse.h"

namespace acre::live {

namespace {

constexpr size_t kMostMessage = 300;

bool takes_no_more(const char* rest, Reply& reply) {
  if (*rest != '\0') reply.refuse("there is more in this request than the verb takes; `info` shows its form");
  return *rest == '\0';
}

// Joins runs that lie side by side to one region.
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

void add_run(void* opaque, uintptr_t start, size_t bytes, int, double) {
  Regions& regions = *static_cast<Regions*>(opaque);
  if (start != regions.end) {
    regions.put();
    regions.start = start;
  }
  regions.end = start + bytes;
}

// Writes a report to the answer. start: is written before the report's first byte.
struct Body {
  Reply& reply;
  const char* start;

  // EPIPE, for a lost client, ends the report.
  int add(const char* data, size_t bytes) {
    if (!reply.has_begun()) {
      reply.extend();
      Reply::write(&reply, start);
    }
    reply.add(data, bytes);
    return reply.lost() ? EPIPE : 0;
  }
  void finish(int error, const char* what, const char* end) {
    if (error == 0) return Reply::write(&reply, end);
    Line<kMostMessage> message;
    message.add("the ").add(what).add(" cannot be made: error ").decimal(static_cast<uint64_t>(error));
    reply.has_begun() ? reply.cut_off() : reply.refuse(message.c_str());
  }
};

struct EncodedBody {
  Body body;
  Base64 encode;

  static int take(void* opaque, const char* data, size_t bytes) {
    auto& self = *static_cast<EncodedBody*>(opaque);
    char text[Base64::most_text(1024)];
    for (size_t part; bytes != 0; data += part, bytes -= part) {
      part = smaller<size_t>(bytes, 1024);
      if (const int error = self.body.add(text, self.encode.add(data, part, text))) return error;
    }
    return 0;
  }
};

}  // namespace

void answer_info(const Request& request, Reply& reply) {
  if (!takes_no_more(request.name, reply)) return;
  Output out(Reply::write, &reply);
  out.text().add("{\"acre\":\"" ACRE_VERSION "\",\"protocol\":").decimal(kProtocol);
  out.text().add(",\"pid\":").decimal(static_cast<uint64_t>(getpid())).add(",\"user\":").decimal(owner());
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
  int64_t form = static_cast<int64_t>(StatsFormat::kSummary);
  const Slice name{request.name, strlen(request.name)};
  if (name.size != 0 && !parse_value(index_of(Option::stats_format), name, &form)) {
    return reply.refuse("statistics are summary, text, json or openmetrics");
  }
  StatsFormat format = static_cast<StatsFormat>(form);
  StatsFormat unused = format;
  const Omitted omitted = read_letters(request.value, &unused);
  if (print_statistics(format, omitted, Reply::write, &reply) != 0) reply.refuse("memory for statistics was refused");
}

void answer_purge(const Request& request, Reply& reply) {
  if (!takes_no_more(request.name, reply)) return;
  const uint64_t returned = (quiet_runs::purge_all() + arenas::purge_all(0)) * kPageBytes;
  Output out(Reply::write, &reply);
  out.text().add("{\"returned\":").decimal(returned)
      .add(",\"dirty\":").decimal(arenas::dirty_pages() * kPageBytes).add("}\n");
}

void answer_pages(const Request& request, Reply& reply) {
  if (!takes_no_more(request.name, reply)) return;
  const quiet_runs::PageUse use = quiet_runs::use_of_pages();
  Output out(Reply::write, &reply);
  out.text().add("{\"runs\":").decimal(use.runs * kPageBytes).add(",\"live\":").decimal(use.live * kPageBytes);
  out.text().add(",\"returned\":").decimal(use.returned * kPageBytes).add("}\n");
}

void answer_heap(const Request& request, Reply& reply) {
  static constexpr const char* kNames[] = {"live", "peak", "growth", "text"};  // by report::Kind
  unsigned which = 0;
  while (which < 4 && *request.name != '\0' && strcmp(request.name, kNames[which]) != 0) ++which;
  if (which == 4) return reply.refuse("a heap profile is live, peak, growth or text");
  if (!profile::is_prepared()) {
    return reply.refuse(
        "the heap profiler is off: start the program with `acre run --profile`, or let it begin now with "
        "`acre ctl PID prof.active true`");
  }
  EncodedBody to{{reply, "{\"profile\":\""}, {}};
  const int error = report::write_profile({EncodedBody::take, &to}, static_cast<report::Kind>(which));
  char rest[Base64::kMostRest];
  const size_t left = to.encode.finish(rest);
  if (error == 0) to.body.add(rest, left);
  to.body.finish(error, "profile", "\"}\n");
}

void answer_leaks(const Request& request, Reply& reply) {
  if (!takes_no_more(request.name, reply)) return;
  Body to{reply, ""};
  const auto take = [](void* body, const char* data, size_t bytes) {
    return static_cast<Body*>(body)->add(data, bytes);
  };
  to.finish(leaks::dump({take, &to}), "report", "");
}

void answer_threads(const Request& request, Reply& reply) {
  if (!takes_no_more(request.name, reply)) return;
  static constinit ThreadCaches caches;  // of this thread, which answers one client at a time
  caches.gather();
  Output out(Reply::write, &reply);
  out.text().add("{\"threads\":[");
  const char* before = "\n";
  caches.for_each([&](const ThreadCache& cache) {
    out.text().add(before).add("{\"thread\":").decimal(cache.thread).add(",\"arena\":").decimal(cache.arena);
    out.text().add(",\"private_lists\":").decimal(cache.private_lists).add(",\"deferred\":").decimal(cache.deferred);
    out.text().add(",\"uncarved\":").decimal(cache.uncarved).add(",\"outboxes\":").decimal(cache.outboxes).add('}');
    before = ",\n";
  });
  out.text().add("],\"left_out\":").decimal(caches.left_out()).add("}\n");
}

// A collector is two numbers with a slash between, so that no other path can be made of it.
static bool is_collector(const char* text) {
  const size_t process = strspn(text, "0123456789");
  if (process == 0 || process > 10 || text[process] != '/') return false;
  const size_t descriptor = strspn(text + process + 1, "0123456789");
  return descriptor != 0 && descriptor <= 10 && text[process + 1 + descriptor] == '\0';
}

static void prepare_stacks() {
  if (record::has_stacks()) capture::prepare();
}

void answer_record(const Request& request, Reply& reply) {
  if (strcmp(request.name, "stop") == 0) {
    record::stop();
  } else if (!is_collector(request.name)) {
    return reply.refuse("a collector is the number of its process and of its descriptor, as 123/4");
  } else if (const int error = hooks::start_recording(request.name, prepare_stacks)) {
    if (error == EBUSY) return reply.refuse("the process is being recorded already");
    Line<kMostMessage> message;
    message.add("the recording cannot begin: error ").decimal(static_cast<uint64_t>(error));
    return reply.refuse(message.c_str());
  }
  Output out(Reply::write, &reply);
  out.text().add("{}\n");
}

void answer_regions(const Request& request, Reply& reply) {
  if (!takes_no_more(request.name, reply)) return;
  Output out(Reply::write, &reply);
  out.text().add("{\"regions\":[");
  Regions regions{out};
  block_lists::ranges(add_run, &regions);
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
