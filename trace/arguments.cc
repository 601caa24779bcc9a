#include "arguments.h"

#include <getopt.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "export.h"
#include "import.h"
#include "mappings.h"
#include "say.h"
#include "sites.h"
#include "timeline.h"

namespace acre::trace {

const char kExportUsage[] =
    "acre-trace mappings FILE     JSON: what names the addresses of each process\n"
    "acre-trace sites FILE [--process N] [--from S] [--to S] [--at S] [--within N]\n"
    "                                              JSON: what each call stack allocated\n"
    "acre-trace timeline FILE [--process N] [--from S] [--to S] [--parts N] [--blocks BYTES]     JSON: over time\n"
    "acre-trace export FILE --format text|heaptrack [--names FILE] [--process N] [--from S] [--to S]\n"
    "acre-trace import FILE -o FILE     what heaptrack has written, or plain text\n";

void refuse(const char* what, const char* word) {
  say("%s '%s'", what, word);
  exit(2);
}

double number_of(const char* text, const char* what) {
  char* end;
  const double value = strtod(text, &end);
  if (end == text || *end != 0 || !std::isfinite(value) || value < 0) refuse(what, text);
  return value;
}

uint64_t whole_of(const char* text, const char* what, const char** rest) {
  char* end;
  errno = 0;
  const uint64_t value = strtoull(text, &end, 0);
  if (end == text || text[0] == '-' || errno != 0 || (rest == nullptr && *end != 0)) refuse(what, text);
  if (rest != nullptr) *rest = end;
  return value;
}

bool run_for_exports(const char* what, int count, char** words, int& code) {
  bool is_known = false;
  for (const char* known : {"mappings", "sites", "timeline", "export", "import"}) is_known |= strcmp(what, known) == 0;
  if (!is_known) return false;
  static const option kOptions[] = {
      {"process", required_argument, nullptr, 'P'}, {"from", required_argument, nullptr, 'f'},
      {"to", required_argument, nullptr, 'T'},      {"at", required_argument, nullptr, 'a'},
      {"parts", required_argument, nullptr, 'n'},   {"blocks", required_argument, nullptr, 'b'},
      {"format", required_argument, nullptr, 'F'},  {"names", required_argument, nullptr, 'N'},
      {"within", required_argument, nullptr, 'w'},
      {nullptr, 0, nullptr, 0}};
  constexpr const char* kSeconds = "trace: these are no seconds:";
  SitesOptions sites_options;
  TimelineOptions timeline_options;
  ExportOptions export_options;
  ImportOptions import_options;
  code = 2;
  int letter;
  while ((letter = getopt_long(count, words, "o:", kOptions, nullptr)) != -1) {
    switch (letter) {
      case 'o': import_options.to = optarg; break;
      case 'P':
        export_options.process = static_cast<uint32_t>(whole_of(optarg, "trace: this is no process's number:"));
        sites_options.process = timeline_options.process = export_options.process;
        break;
      case 'f': sites_options.from = timeline_options.from = export_options.from = number_of(optarg, kSeconds); break;
      case 'T': sites_options.to = timeline_options.to = export_options.to = number_of(optarg, kSeconds); break;
      case 'a': sites_options.at = number_of(optarg, kSeconds); break;
      case 'n': {
        const uint64_t parts = whole_of(optarg, "trace: this is no number of parts:");
        if (parts == 0 || parts > 1'000'000) refuse("trace: this is no number of parts:", optarg);
        timeline_options.parts = static_cast<uint32_t>(parts);
        break;
      }
      case 'b': timeline_options.blocks_every = whole_of(optarg, "trace: this is no number of bytes:"); break;
      case 'F':
        export_options.format = optarg;
        if (export_options.format != "text" && export_options.format != "heaptrack") {
          refuse("trace: there is no format", optarg);
        }
        break;
      case 'N': export_options.names = optarg; break;
      case 'w': sites_options.within = whole_of(optarg, "trace: this is no number of events:"); break;
      default: return true;
    }
  }
  if (optind + 1 != count || (strcmp(what, "export") == 0 && export_options.format.empty()) ||
      (strcmp(what, "import") == 0 && import_options.to.empty())) {
    fputs(kExportUsage, stderr);
    return true;
  }
  sites_options.path = timeline_options.path = export_options.path = import_options.from = words[optind];
  code = strcmp(what, "mappings") == 0   ? mappings(words[optind])
         : strcmp(what, "sites") == 0    ? sites(sites_options)
         : strcmp(what, "timeline") == 0 ? timeline(timeline_options)
         : strcmp(what, "export") == 0   ? export_events(export_options)
                                         : import(import_options);
  return true;
}

}  // namespace acre::trace
