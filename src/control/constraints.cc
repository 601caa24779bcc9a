#include "control/constraints.h"

#include <errno.h>

#include "base/atomics.h"
#include "os/os.h"
#include "pages/file_source.h"
#include "pages/limit.h"
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

// Names every possible reason, since the system does not tell which one it was.
void add_refused_memory(Text& text, const os::Refusals& refusals) {
  if (refusals.memory == 0) return;
  text.add("  requests to the system refused: ").decimal(refusals.memory).add(" (");
  const char* between = "";
  if (os::address_space_limit() != SIZE_MAX) {
    text.add("address space is limited, ulimit -v, to ").bytes(os::address_space_limit());
    between = "; ";
  }
  if (os::data_limit() != SIZE_MAX) {
    text.add(between).add("data is limited, ulimit -d, to ").bytes(os::data_limit());
    between = "; ";
  }
  if (os::commits_strictly()) {
    text.add(between).add("vm.overcommit_memory is 2");
    between = "; ";
  }
  text.add(*between == '\0' ? "no memory, no address space, or more than the system has" : "").add(")\n");
}

void add_refused_files(Text& text) {
  const FileSource::Refusals refusals = FileSource::refusals();
  if (refusals.all() == 0) return;
  text.add("  requests to a file or device refused: ").decimal(refusals.all()).add(" (");
  const char* between = "";
  if (refusals.no_space != 0) {
    text.add("no space is left in its file system");
    between = "; ";
  }
  if (refusals.limit != 0) {
    text.add(between).add("its limit is reached");
    between = "; ";
  }
  if (refusals.other != 0) text.add(between).add("it was closed, or may not be mapped");
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

}  // namespace acre
