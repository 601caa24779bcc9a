#include "control/node_calls.h"

#include <string.h>

#include "cache/registry.h"
#include "control/ctl.h"
#include "leaks/checker.h"
#include "os/os.h"
#include "pages/release_rate.h"
#include "reclaim/pressure.h"
#include "sample/python.h"

namespace acre::ctl {

size_t size_of_large(size_t index) {
  if (index < kStepsOfAPage) return kSmallMax + (index + 1) * kPageBytes;
  const size_t doublings = index - kStepsOfAPage + 1;
  return doublings <= kDoublings ? kLargestRun << doublings : align_down(size_t{PTRDIFF_MAX}, os::page_bytes());
}

int tag_name(Call& call) {
  const Tag* tag = tags::of_number(call.index);
  if (tag == nullptr) return ENOENT;
  call.value = &tag->name[0];
  return 0;
}

int dss(Call& call) {
  const char* is = !options().sbrk ? "disabled" : options().mmap ? "secondary" : "primary";
  call.value = is;
  if (!call.is_told) return 0;
  const auto* to = call.to.as<const char*>();
  return to == nullptr ? EINVAL : strcmp(to, is) == 0 ? 0 : EFAULT;
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
    case Option::prof_python: python::set_active(value != 0); return 0;
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

int dump_profile(Call& call) {
  const auto* path = call.to.as<const char*>();
  if (!profile::is_prepared()) return ENOENT;
  if (path == nullptr) return report::write_profile(report::Kind::kLive, report::Naming::kNumbered) == 0 ? 0 : EFAULT;
  report::Kind kind = report::Kind::kLegacy;
  if (ends_with(path, ".pb.gz")) kind = report::Kind::kLive;
  if (ends_with(path, ".peak.pb.gz")) kind = report::Kind::kPeak;
  if (ends_with(path, ".growth.pb.gz")) kind = report::Kind::kGrowth;
  return report::write_profile(path, kind) == 0 ? 0 : EFAULT;
}

int dump_leaks(Call& call) {
  const int error = leaks::dump(call.to.as<const char*>());
  return error == 0 || error == EAGAIN ? error : EFAULT;
}

int reset_profile(Call& call) {
  constexpr size_t kMostLog = 62;
  const auto lg_sample = call.to.as<size_t>();
  if (!profile::is_prepared()) return ENOENT;
  if (lg_sample > kMostLog) return EINVAL;
  profile::reset(call.is_told ? uint64_t{1} << lg_sample : profile::mean());
  return 0;
}

int thread_prof_active(Call& call) {
  Heap* heap = t_heap == &kUninitializedHeap ? registry::initialize_thread() : heap_if_any();
  if (heap == nullptr) return EAGAIN;
  if (call.is_told) sampler::set_thread(*heap, call.to.as<bool>());
  call.value = !heap->unsampled;
  return 0;
}

}  // namespace acre::ctl
