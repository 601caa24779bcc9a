#include "control/node_calls.h"

#include <string.h>

#include "acre/acre.h"
#include "cache/registry.h"
#include "control/ctl.h"
#include "leaks/checker.h"
#include "os/os.h"
#include "pages/release_rate.h"
#include "reclaim/pressure.h"

namespace acre::ctl {

size_t size_of_large(size_t index) {
  if (index < kStepsOfAPage) return kSmallMax + (index + 1) * kPageBytes;
  const size_t doublings = index - kStepsOfAPage + 1;
  return doublings <= kDoublings ? kLargestRun << doublings : align_down(size_t{PTRDIFF_MAX}, os::page_bytes());
}

const char* version() { return ACRE_VERSION; }

int renew() { return refresh_if_due() ? 0 : EAGAIN; }

const char* name_of_tag(size_t index, int* error) {
  const Tag* tag = tags::of_number(index);
  if (tag == nullptr) *error = ENOENT;
  return tag == nullptr ? "" : tag->name;
}

int set_default_decay_time(Option of, int64_t ms) {
  return set_option(index_of(of), ms, OptionSource::kRunTime) ? 0 : EFAULT;
}

const char* dss() {
  if (!options().sbrk) return "disabled";
  return options().mmap ? "secondary" : "primary";
}
int set_dss(const char* to) {
  if (to == nullptr) return EINVAL;
  return strcmp(to, dss()) == 0 ? 0 : EFAULT;
}

int set_background_thread(bool on) {
  set_option(index_of(Option::background_thread), on, OptionSource::kRunTime);
  return background::follow_option() ? 0 : EAGAIN;
}

int set_most_background_threads(size_t most) {
  if (most > background::kMostThreads) return EINVAL;
  background::set_most_threads(static_cast<unsigned>(most));
  return 0;
}

int change_option(unsigned option, int64_t value) {
  if (!set_option(option, value, OptionSource::kRunTime)) return EINVAL;
  switch (static_cast<Option>(option)) {
    case Option::dirty_decay_ms:
    case Option::muzzy_decay_ms: return set_decay_time(static_cast<Option>(option), kAllArenas, value);
    case Option::release_rate: release_rate::set(value); return 0;
    case Option::hard_limit:
    case Option::soft_limit: pressure::set_limits(); return 0;
    case Option::background_thread: return set_background_thread(value != 0);
    default: return 0;  // the other options are read at each use
  }
}

int set_profiling(bool on) {
  if (on && !profile::prepare(static_cast<uint64_t>(options().prof_sample))) return EAGAIN;
  profile::set_active(on);
  return 0;
}

ssize_t lg_interval() {
  const int64_t bytes = options().prof_interval;
  return bytes == 0 ? -1 : static_cast<ssize_t>(floor_log2(static_cast<uint64_t>(bytes)));
}

static bool ends_with(const char* text, const char* end) {
  const size_t size = strlen(text), of_end = strlen(end);
  return size >= of_end && strcmp(text + size - of_end, end) == 0;
}

int dump_profile(const char* const* path) {
  if (!profile::is_prepared()) return ENOENT;
  const bool named = path != nullptr && *path != nullptr;
  if (!named) return report::write_profile(report::Kind::kLive, report::Naming::kNumbered) == 0 ? 0 : EFAULT;
  report::Kind kind = report::Kind::kLegacy;
  if (ends_with(*path, ".pb.gz")) kind = report::Kind::kLive;
  if (ends_with(*path, ".peak.pb.gz")) kind = report::Kind::kPeak;
  if (ends_with(*path, ".growth.pb.gz")) kind = report::Kind::kGrowth;
  return report::write_profile(*path, kind) == 0 ? 0 : EFAULT;
}

int dump_leaks(const char* const* path) {
  const int error = leaks::dump(path == nullptr ? nullptr : *path);
  return error == 0 || error == EAGAIN ? error : EFAULT;
}

int reset_profile(const size_t* lg_sample) {
  constexpr size_t kMostLog = 62;
  if (!profile::is_prepared()) return ENOENT;
  if (lg_sample != nullptr && *lg_sample > kMostLog) return EINVAL;
  profile::reset(lg_sample == nullptr ? profile::mean() : uint64_t{1} << *lg_sample);
  return 0;
}

static Heap* heap_of_thread(int* error) {
  Heap* heap = t_heap == &kUninitializedHeap ? registry::initialize_thread() : heap_if_any();
  if (heap == nullptr) *error = EAGAIN;
  return heap;
}
bool is_thread_profiled(int* error) {
  const Heap* heap = heap_of_thread(error);
  return heap != nullptr && !heap->unsampled;
}
int set_thread_profiled(bool on) {
  int error = 0;
  if (Heap* heap = heap_of_thread(&error)) sampler::set_thread(*heap, on);
  return error;
}

}  // namespace acre::ctl
