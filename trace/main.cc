// acre-trace: records and reads traces of allocation events. The command acre calls it (acre record, acre trace).
#include <getopt.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "arguments.h"
#include "check.h"
#include "collector.h"
#include "plot.h"
#include "print.h"
#include "say.h"
#include "schedule.h"

namespace acre::trace {
namespace {

constexpr char kUsage[] =
    "acre-trace collect -o FILE [--limit BYTES] [--for SECONDS] [--stacks EVERY] [--preload LIBRARIES] [--conf WORDS]\n"
    "                   -- PROGRAM ...\n"
    "acre-trace collect -o FILE ... --attach     prints PID/FD for the option record of a running program\n"
    "acre-trace check FILE [--json]\n"
    "acre-trace print FILE [--json] [--process N] [--thread N] [--kind WORD] [--size N[-N]] [--address N[-N]]\n"
    "                 [--from S] [--to S] [--all] [--stacks]\n"
    "acre-trace info FILE [--json]\n"
    "acre-trace plot FILE -o DATA [--process N] [--from S] [--to S] [--budget BYTES]\n"
    "acre-trace schedule FILE -o SCHEDULE [--process N] [--json]     what acre-replay plays\n";

Range range_of(const char* text, const char* what) {
  const char* rest;
  Range range;
  range.first = range.last = whole_of(text, what, &rest);
  if (*rest == '-')
    range.last = rest[1] == 0 ? UINT64_MAX : whole_of(rest + 1, what);
  else if (*rest != 0)
    refuse(what, text);
  if (range.last < range.first) refuse(what, text);
  return range;
}

int run_collect(int count, char** words) {
  CollectOptions options;
  static const option kOptions[] = {{"limit", required_argument, nullptr, 'l'},
                                    {"for", required_argument, nullptr, 'f'},
                                    {"stacks", required_argument, nullptr, 's'},
                                    {"preload", required_argument, nullptr, 'p'},
                                    {"conf", required_argument, nullptr, 'c'},
                                    {"attach", no_argument, nullptr, 'a'},
                                    {nullptr, 0, nullptr, 0}};
  int letter;
  while ((letter = getopt_long(count, words, "+o:", kOptions, nullptr)) != -1) {
    switch (letter) {
      case 'o': options.path = optarg; break;
      case 'l': options.limit = whole_of(optarg, "record: this is no number of bytes:"); break;
      case 'f': options.seconds = number_of(optarg, "record: these are no seconds:"); break;
      case 's': options.stack_every = static_cast<uint32_t>(whole_of(optarg, "record: this is no number:")); break;
      case 'p': options.preload = optarg; break;
      case 'c': options.conf = optarg; break;
      case 'a': options.attach = true; break;
      default: return 2;
    }
  }
  for (int i = optind; i < count; ++i) options.program.emplace_back(words[i]);
  if (options.path.empty() || options.attach == !options.program.empty()) {
    fputs(kUsage, stderr);
    return 2;
  }
  if (options.limit != 0 && options.limit < kLeastLimit) {
    say("record: the least bound is %llu bytes", static_cast<unsigned long long>(kLeastLimit));
    return 2;
  }
  return collect(options);
}

int run_reader(const char* what, int count, char** words) {
  PrintOptions options;
  static const option kOptions[] = {
      {"json", no_argument, nullptr, 'j'},         {"process", required_argument, nullptr, 'P'},
      {"thread", required_argument, nullptr, 't'}, {"kind", required_argument, nullptr, 'k'},
      {"size", required_argument, nullptr, 's'},   {"address", required_argument, nullptr, 'a'},
      {"from", required_argument, nullptr, 'f'},   {"to", required_argument, nullptr, 'T'},
      {"all", no_argument, nullptr, 'A'},          {"stacks", no_argument, nullptr, 'S'},
      {"tag", required_argument, nullptr, 'g'},
      {nullptr, 0, nullptr, 0}};
  int letter;
  while ((letter = getopt_long(count, words, "", kOptions, nullptr)) != -1) {
    switch (letter) {
      case 'j': options.json = true; break;
      case 'P': options.process = static_cast<uint32_t>(whole_of(optarg, "trace: this is no process's number:")); break;
      case 't': options.thread = static_cast<uint32_t>(whole_of(optarg, "trace: this is no thread's number:")); break;
      case 'k':
        options.kind = optarg;
        if (!is_kind(options.kind)) refuse("trace: there is no kind", optarg);
        break;
      case 's': options.size = range_of(optarg, "trace: this is no size or range of sizes:"); break;
      case 'a': options.address = range_of(optarg, "trace: this is no address or range of addresses:"); break;
      case 'f': options.from = number_of(optarg, "trace: these are no seconds:"); break;
      case 'T': options.to = number_of(optarg, "trace: these are no seconds:"); break;
      case 'A': options.all = true; break;
      case 'S': options.stacks = true; break;
      case 'g': options.tag = optarg; break;
      default: return 2;
    }
  }
  if (optind + 1 != count) {
    fputs(kUsage, stderr);
    return 2;
  }
  options.path = words[optind];
  if (strcmp(what, "check") == 0) return check(options.path, options.json);
  if (strcmp(what, "info") == 0) return info(options.path, options.json);
  return print(options);
}

int run_schedule(int count, char** words) {
  ScheduleOptions options;
  static const option kOptions[] = {{"json", no_argument, nullptr, 'j'},
                                    {"process", required_argument, nullptr, 'P'},
                                    {nullptr, 0, nullptr, 0}};
  int letter;
  while ((letter = getopt_long(count, words, "o:", kOptions, nullptr)) != -1) {
    switch (letter) {
      case 'o': options.output = optarg; break;
      case 'j': options.json = true; break;
      case 'P':
        options.process = static_cast<uint32_t>(whole_of(optarg, "replay: this is no process's number:"));
        break;
      default: return 2;
    }
  }
  if (optind + 1 != count || options.output.empty()) {
    fputs(kUsage, stderr);
    return 2;
  }
  options.path = words[optind];
  return schedule(options);
}

int run_plot(int count, char** words) {
  PlotOptions options;
  static const option kOptions[] = {{"process", required_argument, nullptr, 'P'},
                                    {"from", required_argument, nullptr, 'f'},
                                    {"to", required_argument, nullptr, 'T'},
                                    {"budget", required_argument, nullptr, 'b'},
                                    {nullptr, 0, nullptr, 0}};
  int letter;
  while ((letter = getopt_long(count, words, "o:", kOptions, nullptr)) != -1) {
    switch (letter) {
      case 'o': options.output = optarg; break;
      case 'P': options.process = static_cast<uint32_t>(whole_of(optarg, "plot: this is no process's number:")); break;
      case 'f': options.from = number_of(optarg, "plot: these are no seconds:"); break;
      case 'T': options.to = number_of(optarg, "plot: these are no seconds:"); break;
      case 'b': options.budget = whole_of(optarg, "plot: this is no number of bytes:"); break;
      default: return 2;
    }
  }
  if (optind + 1 != count || options.output.empty()) {
    fputs(kUsage, stderr);
    return 2;
  }
  if (options.from && options.to && *options.from >= *options.to) {
    say("plot: --from is not before --to");
    return 2;
  }
  options.path = words[optind];
  return plot(options);
}

}  // namespace
}  // namespace acre::trace

int main(int count, char** words) {
  using namespace acre::trace;
  const char* const what = count > 1 ? words[1] : "";
  if (strcmp(what, "collect") == 0) return run_collect(count - 1, words + 1);
  if (strcmp(what, "plot") == 0) return run_plot(count - 1, words + 1);
  if (strcmp(what, "schedule") == 0) return run_schedule(count - 1, words + 1);
  for (const char* known : {"print", "check", "info"}) {
    if (strcmp(what, known) == 0) return run_reader(what, count - 1, words + 1);
  }
  int code;
  if (run_for_exports(what, count - 1, words + 1, code)) return code;
  FILE* const to = strcmp(what, "--help") == 0 ? stdout : stderr;
  fputs(kUsage, to);
  fputs(kExportUsage, to);
  return strcmp(what, "--help") == 0 ? 0 : 2;
}
