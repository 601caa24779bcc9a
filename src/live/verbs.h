// What can be asked at the socket: a table of verbs.
#pragma once

#include "live/reply.h"
#include "live/request.h"

namespace acre::live {

inline constexpr unsigned kProtocol = 1;

// X(name, what follows it, help): a verb is a line here and a function answer_NAME(const Request&, Reply&) that writes
// a body or refuses. It allocates nothing, holds no lock while it writes, and may take as long as the client.
// clang-format off
#define ACRE_VERBS(X) \
  X(info, "", "the process, and what can be asked") \
  X(stats, "[summary|text|json|openmetrics [LETTERS]]", "statistics, in the form and with the letters of docs/statistics.md") \
  X(ctl, "[NAME [VALUE]]", "reads a name of docs/ctl.md, writes it, or does what it stands for; without one, all names") \
  X(purge, "", "returns all dirty pages to the system") \
  X(heap, "[live|peak|growth|text]", "writes the heap profile to a file beside the socket, for whoever asks to read and remove, and says which") \
  X(leaks, "", "looks for leaks, which stops the program for a while, and writes a report beside the socket in the same way") \
  X(regions, "", "the addresses that blocks come from")
// clang-format on

#define ACRE_X(name, form, help) void answer_##name(const Request& request, Reply& reply);
ACRE_VERBS(ACRE_X)
#undef ACRE_X

// Answers a line that a client has sent. line: changed.
void answer(char* line, Reply& reply);

}  // namespace acre::live
