#include <errno.h>
#include <unistd.h>

#include "acre/acre.h"
#include "base/atomics.h"
#include "control/print.h"
#include "observe/fill.h"
#include "os/os.h"
#include "pages/file_source.h"
#include "pages/limit.h"
#include "pages/release_rate.h"
#include "reclaim/background.h"
#include "reclaim/pressure.h"
#include "tables/options.h"

namespace acre {

namespace {

void add_limits(Text& text) {
  const size_t hard = static_cast<size_t>(relaxed_load(options().hard_limit));
  const size_t soft = static_cast<size_t>(relaxed_load(options().soft_limit));
  if (hard == 0 && soft == 0) return;
  text.add("  limits: ").bytes(limit::held()).add(" held");
  if (soft != 0) text.add(", soft ").bytes(soft);
  if (hard != 0) text.add(", hard ").bytes(hard).add(", refused ").decimal(limit::refusals()).add(" times");
  text.add('\n');
}

void add_group(Text& text) {
  const pressure::Found found = pressure::found();
  if (smaller(found.group_most, found.group_high) != SIZE_MAX) {
    text.add("  cgroup:");
    if (found.group_most != SIZE_MAX) text.add(" limit ").bytes(found.group_most).add(',');
    if (found.group_high != SIZE_MAX) text.add(" memory.high ").bytes(found.group_high).add(',');
    text.add(" dirty pages are kept up to ").bytes(found.ceiling).add(" held\n");
  }
  if (found.stalls) text.add("  memory is short in the system: dirty pages are returned at once\n");
}

void add_refused_purges(Text& text, const os::Refusals& refusals) {
  if (refusals.purges == 0) return;
  text.add("  purges refused: ").decimal(refusals.purges).add(" (");
  switch (refusals.purge_error) {
    case EPERM:
    case EACCES:
    case ENOSYS: text.add("madvise is not allowed here"); break;
    case EINVAL: text.add("memory is locked, or madvise is not allowed here"); break;
    default: text.add("madvise: error ").decimal(static_cast<uint64_t>(refusals.purge_error)); break;
  }
  text.add("); dirty pages stay\n");
}

// Reasons in parentheses, each after the first one behind a semicolon.
struct Reasons {
  Text& text;
  unsigned count = 0;

  Text& add(const char* reason) { return text.add(count++ == 0 ? " (" : "; ").add(reason); }
};

// Names every possible reason, since the system does not tell which one it was.
void add_refused_memory(Text& text, const os::Refusals& refusals) {
  if (refusals.memory == 0) return;
  Reasons reasons{text.add("  requests to the system refused: ").decimal(refusals.memory)};
  const size_t space = os::address_space_limit(), data = os::data_limit();
  if (space != SIZE_MAX) reasons.add("address space is limited, ulimit -v, to ").bytes(space);
  if (data != SIZE_MAX) reasons.add("data is limited, ulimit -d, to ").bytes(data);
  if (os::commits_strictly()) reasons.add("vm.overcommit_memory is 2");
  if (reasons.count == 0) reasons.add("no memory, no address space, or more than the system has");
  text.add(")\n");
}

void add_refused_files(Text& text) {
  const FileSource::Refusals refusals = FileSource::refusals();
  if (refusals.all() == 0) return;
  Reasons reasons{text.add("  requests to a file or device refused: ").decimal(refusals.all())};
  if (refusals.no_space != 0) reasons.add("no space is left in its file system");
  if (refusals.limit != 0) reasons.add("its limit is reached");
  if (refusals.other != 0) reasons.add("it was closed, or may not be mapped");
  text.add(")\n");
}

}  // namespace

void add_constraints(Text& text) {
  const os::Refusals refusals = os::refusals();
  add_limits(text);
  add_group(text);
  add_refused_purges(text, refusals);
  add_refused_memory(text, refusals);
  add_refused_files(text);
}

static void add_fate_of_dirty_pages(Text& text, bool at_any_time) {
  const int64_t rate = release_rate::get();
  const int64_t decay_ms = relaxed_load(options().dirty_decay_ms);
  const char* when = at_any_time ? ")\n" : " of allocation activity)\n";
  if (rate > 0) {
    text.add("  (returned to the system at ").bytes(static_cast<size_t>(rate)).add(" a second").add(when);
  } else if (rate == 0) {
    text.add("  (kept: release_rate is 0)\n");
  } else if (decay_ms < 0) {
    text.add("  (kept: dirty_decay_ms is negative)\n");
  } else {
    text.add("  (returned to the system within ").signed_decimal(decay_ms);
    text.add(" ms").add(when);
  }
}

static void add_background_thread(Text& text, background::State state) {
  const char* what = "not made, too little was allocated";
  if (state == background::State::kRunning) what = "runs";
  if (fill::is_on()) what = "none while blocks are filled";
  if (state == background::State::kRefused) what = "refused by the system; memory returns with allocation activity";
  text.add("  background thread: ").add(what).add('\n');
}

void add_summary(Text& text, const ProcessStatistics& s) {
  const background::State thread = background::state();
  text.add("acre " ACRE_VERSION ", ").add(program_invocation_short_name).add(", process ");
  text.decimal(static_cast<uint64_t>(getpid())).add('\n');
  text.add("  live            ").bytes(s.allocated).add('\n');
  text.add("  free in runs    ").bytes(s.active - s.allocated).add('\n');
  text.add("  dirty pages     ").bytes(s.dirty);
  add_fate_of_dirty_pages(text, thread == background::State::kRunning);
  if (relaxed_load(options().muzzy_decay_ms) != 0) {
    text.add("  muzzy pages     ").bytes(s.muzzy).add("  (resident until the system takes them)\n");
  }
  text.add("  metadata        ").bytes(s.metadata).add('\n');
  text.add("  resident        ").bytes(s.process_resident).add("  (the whole process)\n");
  text.add("  mapped          ").bytes(s.mapped).add(" of address space\n");
  text.add("  threads ").decimal(s.threads).add(", arenas ").decimal(s.arenas);
  text.add(", refills ").decimal(s.refills).add(", new runs ").decimal(s.new_runs);
  text.add(", adoptions ").decimal(s.adoptions);
  text.add(", remote frees ").decimal(s.remote_frees).add('\n');
  text.add("  purged ").bytes(s.purged).add(" in ").decimal(s.purges).add(" calls\n");
  if (options().background_thread) add_background_thread(text, thread);
  add_constraints(text);
}

}  // namespace acre
