#include "control/summary.h"

#include <errno.h>
#include <unistd.h>

#include "acre/acre.h"
#include "control/constraints.h"
#include "observe/fill.h"
#include "os/os.h"
#include "pages/release_rate.h"
#include "reclaim/background.h"
#include "tables/options.h"

namespace acre {

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
