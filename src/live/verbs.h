// The table of the verbs that the socket answers.
#pragma once

#include "live/reply.h"
#include "live/request.h"

namespace acre::live {

inline constexpr unsigned kProtocol = 2;

// X(name, form, help): a verb is a line here, and a function answer_NAME(const Request&, Reply&) that writes a body or
// refuses. The function allocates nothing, holds no lock while it writes, and may take as long as the client does. No
// verb takes a path or writes a file: the client gets everything in the answer.
// clang-format off
#define ACRE_VERBS(X) \
  X(info, "", "the process, and what can be asked") \
  X(stats, "[summary|text|json|openmetrics [LETTERS]]", "statistics, in the form and with the letters of docs/statistics.md") \
  X(ctl, "[NAME [VALUE]]", "reads a name of docs/ctl.md, writes it, or does what it stands for; without one, all names") \
  X(purge, "", "returns all dirty pages to the system") \
  X(heap, "[live|peak|growth|text]", "the heap profile, in base64: a file of pprof, or with text of google-pprof and jeprof") \
  X(leaks, "", "looks for leaks, which stops the program for a while, and tells what it found") \
  X(record, "COLLECTOR|stop", "begins to tell a collector, given as PROCESS/DESCRIPTOR, of each allocation and free, or ends it") \
  X(threads, "", "what the cache of each thread holds, of 1024 threads at most") \
  X(regions, "", "the addresses that blocks come from") \
  X(pages, "", "pages of small runs: how many hold a live block, and how many of the others were returned; looks at all free blocks")
// clang-format on

#define ACRE_X(name, form, help) void answer_##name(const Request& request, Reply& reply);
ACRE_VERBS(ACRE_X)
#undef ACRE_X

// Answers a line that a client has sent. Changes the line.
void answer(char* line, Reply& reply);

}  // namespace acre::live
