// Searches the scenarios; run.py builds this program, plants bugs in it, and says what it should find.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "scenarios.h"

using namespace interleave;

namespace {

int usage() {
  std::fputs(
      "usage: search [--all] [--stop] [--preemptions N] [--executions N] [--weaken PC[,PC…] --to ORDER] [--sites] [SCENARIO…]\n",
      stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  bool all = false, sites = false, stop = false;
  std::vector<std::string> chosen;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (word == "--all") {
      all = true;
    } else if (word == "--stop") {
      stop = true;
    } else if (word == "--sites") {
      sites = true;
    } else if (word.rfind("--", 0) != 0) {
      chosen.push_back(word);
    } else if (value == nullptr) {
      return usage();
    } else {
      ++i;
      if (word == "--preemptions") {
        options.most_preemptions = static_cast<unsigned>(std::atoi(value));
      } else if (word == "--executions") {
        options.most_executions = std::strtoull(value, nullptr, 10);
      } else if (word == "--to") {
        options.weaker = value;
      } else if (word == "--weaken") {
        for (char* at = argv[i]; *at != '\0'; at += *at == ',') options.weakened.insert(std::strtoull(at, &at, 16));
      } else {
        return usage();
      }
    }
  }
  std::set<Site> met;
  int failed = 0, passed = 0;
  for (const Case& each : all_cases()) {
    bool wanted = chosen.empty() ? all || !each.large : false;
    for (const std::string& name : chosen) wanted |= name == each.scenario.name;
    if (!wanted) continue;
    const Result result = explore(each.scenario, options);
    std::printf("%-32s %9llu interleavings, %3zu steps at most: %s\n", each.scenario.name,
                static_cast<unsigned long long>(result.executions), result.deepest, result.failed ? "FAILED" : "ok");
    if (result.failed) std::printf("%s\n%s", result.message.c_str(), result.trace.c_str());
    std::fflush(stdout);
    ++(result.failed ? failed : passed);
    met.insert(result.sites.begin(), result.sites.end());
    if (result.failed && stop) break;
  }
  for (const Site& site : met) {
    if (sites) std::printf("site %#lx %s %s\n", static_cast<unsigned long>(site.pc), site.kind, site.order);
  }
  return failed != 0 ? 1 : passed == 0 ? usage() : 0;
}
