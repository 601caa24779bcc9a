#include "pages/decay.h"

#include "base/compiler.h"
#include "base/units.h"

namespace acre {

namespace {

constexpr unsigned kFractionBits = 16;

// h(i/n) in fixed point.
constexpr uint32_t smoothstep(unsigned i, unsigned n) {
  double x = static_cast<double>(i) / n;
  double h = x * x * x * (x * (x * 6 - 15) + 10);
  return static_cast<uint32_t>(h * (1u << kFractionBits));
}

template <unsigned N>
struct Curve {
  uint32_t h[N];
  constexpr Curve() : h() {
    for (unsigned i = 0; i < N; ++i) h[i] = smoothstep(i, N);
  }
};

}  // namespace

uint64_t Decay::interval() const { return larger<uint64_t>(1, static_cast<uint64_t>(time_ms_) / kEpochs); }

bool Decay::advance(uint64_t now, size_t dirty) {
  if (time_ms_ < 0) return false;
  if (time_ms_ == 0) {
    allowed_ = 0;
    return dirty != 0;
  }
  if (epoch_start_ == 0) epoch_start_ = now;
  uint64_t epochs = now > epoch_start_ ? (now - epoch_start_) / interval() : 0;
  if (epochs == 0) return false;
  epoch_start_ += epochs * interval();
  shift(epochs, dirty);
  allowed_ = allowed_after(0);
  return true;
}

// Pages that became dirty since the last epoch count for the newest epoch.
void Decay::shift(uint64_t epochs, size_t dirty) {
  unsigned steps = epochs < kEpochs ? static_cast<unsigned>(epochs) : kEpochs;
  for (unsigned i = 0; i < kEpochs; ++i) backlog_[i] = i + steps < kEpochs ? backlog_[i + steps] : 0;
  size_t fresh = dirty > dirty_at_epoch_ ? dirty - dirty_at_epoch_ : 0;
  backlog_[kEpochs - 1] = static_cast<uint32_t>(smaller<size_t>(fresh, UINT32_MAX));
  dirty_at_epoch_ = dirty;
}

// Pages that will be allowed so many epochs later if no page becomes dirty until then.
size_t Decay::allowed_after(unsigned epochs) const {
  static constexpr Curve<kEpochs> kCurve;
  uint64_t total = 0;
  for (unsigned i = epochs; i < kEpochs; ++i) total += static_cast<uint64_t>(backlog_[i]) * kCurve.h[i - epochs];
  return static_cast<size_t>(total >> kFractionBits);
}

uint64_t Decay::epoch_end() const {
  if (time_ms_ < 0) return kNever;
  return time_ms_ == 0 || epoch_start_ == 0 ? 0 : epoch_start_ + interval();
}

ACRE_COLD uint64_t Decay::next_release(uint64_t now, size_t dirty) const {
  if (time_ms_ < 0 || dirty == 0) return kNever;
  if (time_ms_ == 0) return now;
  Decay ahead = *this;  // at the end of this epoch
  if (ahead.epoch_start_ == 0) ahead.epoch_start_ = now;
  ahead.epoch_start_ += interval();
  ahead.shift(1, dirty);
  unsigned too_few = 0, enough = kEpochs;  // in epochs; fewer pages are allowed in each later epoch
  while (too_few < enough) {
    const unsigned middle = (too_few + enough) / 2;
    if (ahead.allowed_after(middle) < dirty) {
      enough = middle;
    } else {
      too_few = middle + 1;
    }
  }
  return ahead.epoch_start_ + enough * interval();
}

}  // namespace acre
