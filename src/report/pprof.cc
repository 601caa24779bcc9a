#include "report/pprof.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>

#include "acre/acre.h"
#include "base/text.h"
#include "os/mapped.h"
#include "report/address_set.h"
#include "report/mappings.h"
#include "report/protobuf.h"
#include "sample/capture.h"
#include "sample/profile.h"
#include "sample/python.h"

namespace acre::report {

namespace {

// The fields' numbers.
namespace of_profile {
enum { kSampleType = 1, kSample, kMapping, kLocation, kFunction, kString, kDropFrames, kKeepFrames, kTime, kDuration,
       kPeriodType, kPeriod, kComment, kDefaultType };
}
namespace of_value_type { enum { kType = 1, kUnit }; }
namespace of_sample { enum { kLocations = 1, kValues, kLabel }; }
namespace of_label { enum { kKey = 1, kText }; }
namespace of_mapping { enum { kId = 1, kStart, kLimit, kOffset, kFile, kBuildId }; }
namespace of_location { enum { kId = 1, kMapping, kAddress, kLine }; }
namespace of_line { enum { kFunction = 1, kLine }; }
namespace of_function { enum { kId = 1, kName, kSystemName, kFile, kStartLine }; }

constexpr size_t kMostMappings = 2048;
constexpr size_t kMostValues = 9;
constexpr char kLifetimeNames[profile::kLifetimes][8] = {"short", "medium", "long"};
constexpr char kFreedByNames[2][16] = {"same thread", "other thread"};
constexpr size_t kVarint = 10;

// Where a call is, given where it returns to.
Address call_before(Address return_address) { return return_address - 1; }

// Visits the frames as people read them: in place of the interpreter's function, the Python functions that it runs.
template <class Native, class Python>
void for_each_frame(const profile::Stack* stack, Native&& visit_native, Python&& visit_python) {
  const Address* code;
  const python::Frame* python;
  const unsigned count = profile::frames_of(stack, &code), python_count = profile::python_frames_of(stack, &python);
  unsigned next = 0;
  for (unsigned i = 0; i <= count; ++i) {
    const unsigned before = next;
    for (; next < python_count && python[next].native() <= i; ++next) visit_python(python[next].place());
    if (next == before && i < count) visit_native(call_before(code[i]));
  }
}

struct CodeRange {
  Address start, end;
};

// Of samples, as numbers of texts.
struct Label {
  uint64_t key = 0, text = 0;
};

class Writer {
 public:
  Writer(Gzip& to, Kind kind) : to_(to), kind_(kind) {}
  int write();

 private:
  struct Column {
    char name[16];
    char unit[16];
  };
  enum Live { kAllocObjects, kAllocSpace, kInuseObjects, kInuseSpace, kFreedElsewhere, kHeldSpace, kFreedObjects,
              kFreedSpace, kLifetime };
  static constexpr Column kLiveColumns[] = {
      {"alloc_objects", "count"},   {"alloc_space", "bytes"}, {"inuse_objects", "count"},
      {"inuse_space", "bytes"},     {"freed_elsewhere", "count"}, {"held_space", "bytes"},
      {"freed_objects", "count"},   {"freed_space", "bytes"}, {"lifetime", "milliseconds"},
  };
  static constexpr Column kPeakColumns[] = {{"peak_objects", "count"}, {"peak_space", "bytes"}};
  static constexpr Column kGrowthColumns[] = {{"growth_count", "count"}, {"growth_space", "bytes"}};

  struct Columns {
    const Column* first;
    size_t count;
    const char* initial;
  };
  Columns columns() const {
    switch (kind_) {
      case Kind::kPeak: return {kPeakColumns, 2, "peak_space"};
      case Kind::kGrowth: return {kGrowthColumns, 2, "growth_space"};
      default: return {kLiveColumns, sizeof kLiveColumns / sizeof kLiveColumns[0], "inuse_space"};
    }
  }

  // Numbers of texts: each is written when it is first needed, and then has the next number.
  uint64_t text(const char* text) {
    to_profile(of_profile::kString, text, strlen(text));
    return texts_++;
  }

  void to_profile(unsigned field, const void* data, size_t size) {
    Message<2 * kVarint> head;
    head.varint(field << 3 | 2);
    head.varint(size);
    to_.add(head.data(), head.size());
    to_.add(data, size);
  }
  void integer(unsigned field, uint64_t value) {
    Message<2 * kVarint> message;
    message.integer(field, value);
    to_.add(message.data(), message.size());
  }
  void value_type(unsigned field, const Column& column) {
    Message<4 * kVarint> message;
    message.integer(of_value_type::kType, text(column.name));
    message.integer(of_value_type::kUnit, text(column.unit));
    to_profile(field, message.data(), message.size());
  }

  void write_head();
  static void add_mapping(const Mapping& mapping, void* writer);
  uint64_t mapping_of(Address code) const;
  void write_location(Address call);
  void write_location(const python::Place& place);
  void write_function(const python::Function& function);
  bool write_locations(const profile::Stack* last, size_t frames);
  void values(const profile::StackSums& sums, uint64_t* values) const;
  void write_sample(const profile::Stack* stack, const uint64_t* values, Label first = {}, Label second = {});
  void write_stack(const profile::Stack* stack);

  Gzip& to_;
  const Kind kind_;
  uint64_t texts_ = 0;
  Label truncated_;
  Label lifetimes_[profile::kLifetimes];
  Label freed_by_[2];
  size_t mappings_ = 0;
  CodeRange ranges_[kMostMappings];
};

void Writer::write_head() {
  text("");
  const Columns all = columns();
  for (size_t i = 0; i < all.count; ++i) value_type(of_profile::kSampleType, all.first[i]);
  value_type(of_profile::kPeriodType, {"space", "bytes"});
  integer(of_profile::kPeriod, larger<uint64_t>(profile::mean(), 1));
  integer(of_profile::kTime, os::wall_clock_ns());
  integer(of_profile::kComment, text("acre " ACRE_VERSION));
  Line<32> process;
  process.add("process ").decimal(static_cast<uint64_t>(getpid()));
  integer(of_profile::kComment, text(process.c_str()));
  integer(of_profile::kDefaultType, text(all.initial));
  truncated_ = {text("stack"), text("truncated")};
  if (kind_ != Kind::kLive) return;
  const uint64_t lifetime = text("lifetime"), freed_by = text("freed_by");
  for (unsigned i = 0; i < profile::kLifetimes; ++i) lifetimes_[i] = {lifetime, text(kLifetimeNames[i])};
  for (unsigned i = 0; i < 2; ++i) freed_by_[i] = {freed_by, text(kFreedByNames[i])};
}

void Writer::add_mapping(const Mapping& mapping, void* argument) {
  auto& writer = *static_cast<Writer*>(argument);
  if (writer.mappings_ == kMostMappings) return;
  writer.ranges_[writer.mappings_++] = {mapping.start, mapping.end};
  Message<8 * kVarint> message;
  message.integer(of_mapping::kId, writer.mappings_);
  message.integer(of_mapping::kStart, mapping.start);
  message.integer(of_mapping::kLimit, mapping.end);
  message.integer(of_mapping::kOffset, mapping.offset);
  message.integer(of_mapping::kFile, writer.text(mapping.path));
  if (mapping.build_id[0] != '\0') message.integer(of_mapping::kBuildId, writer.text(mapping.build_id));
  writer.to_profile(of_profile::kMapping, message.data(), message.size());
}

// Numbers begin with 1.
uint64_t Writer::mapping_of(Address code) const {
  for (size_t i = 0; i < mappings_; ++i) {
    if (code >= ranges_[i].start && code < ranges_[i].end) return i + 1;
  }
  return 0;
}

void Writer::write_location(Address call) {
  Message<6 * kVarint> message;
  message.integer(of_location::kId, call);
  message.integer(of_location::kMapping, mapping_of(call));
  message.integer(of_location::kAddress, call);
  to_profile(of_profile::kLocation, message.data(), message.size());
}

void Writer::write_location(const python::Place& place) {
  Message<4 * kVarint> line;
  line.integer(of_line::kFunction, address_of(place.function));
  line.integer(of_line::kLine, place.line);
  Message<4 * kVarint + line.kCapacity> message;
  message.integer(of_location::kId, address_of(&place));
  message.message(of_location::kLine, line);
  to_profile(of_profile::kLocation, message.data(), message.size());
}

void Writer::write_function(const python::Function& function) {
  Message<10 * kVarint> message;
  const uint64_t name = text(function.name);
  message.integer(of_function::kId, address_of(&function));
  message.integer(of_function::kName, name);
  message.integer(of_function::kSystemName, name);
  message.integer(of_function::kFile, text(function.file));
  message.integer(of_function::kStartLine, function.first_line);
  to_profile(of_profile::kFunction, message.data(), message.size());
}

// A location's number is its address, or where acre keeps the Python function and line.
bool Writer::write_locations(const profile::Stack* last, size_t frames) {
  AddressSet known(frames);
  if (!known.is_made()) return false;
  for (const profile::Stack* stack = nullptr; stack != last;) {
    stack = profile::next(stack);
    for_each_frame(
        stack,
        [&](Address call) {
          if (known.add(call)) write_location(call);
        },
        [&](const python::Place& place) {
          if (known.add(address_of(place.function))) write_function(*place.function);
          if (known.add(address_of(&place))) write_location(place);
        });
  }
  return true;
}

uint64_t rounded(double value) { return static_cast<uint64_t>(value + 0.5); }

void Writer::values(const profile::StackSums& sums, uint64_t* values) const {
  if (kind_ == Kind::kPeak) {
    values[0] = rounded(sums.live_at_peak.estimated_blocks);
    values[1] = rounded(sums.live_at_peak.estimated_bytes);
    return;
  }
  if (kind_ == Kind::kGrowth) {
    values[0] = sums.grown;
    values[1] = sums.grown_bytes;
    return;
  }
  values[kAllocObjects] = rounded(sums.allocated.estimated_blocks);
  values[kAllocSpace] = rounded(sums.allocated.estimated_bytes);
  values[kInuseObjects] = rounded(sums.live.estimated_blocks);
  values[kInuseSpace] = rounded(sums.live.estimated_bytes);
  values[kHeldSpace] = rounded(sums.held_bytes);
  double elsewhere = 0;
  for (const auto& freed : sums.freed_after) elsewhere += freed[1].blocks;
  values[kFreedElsewhere] = rounded(elsewhere);
}

// Nothing where all values are 0.
void Writer::write_sample(const profile::Stack* stack, const uint64_t* values, Label first, Label second) {
  bool any = false;
  Message<kMostValues * kVarint> packed_values;
  for (size_t i = 0; i < columns().count; ++i) {
    packed_values.varint(values[i]);
    any |= values[i] != 0;
  }
  if (!any) return;
  Message<(capture::kMostFrames + python::kMostFrames) * kVarint> locations;
  for_each_frame(
      stack, [&](Address call) { locations.varint(call); },
      [&](const python::Place& place) { locations.varint(address_of(&place)); });
  Message<locations.kCapacity + packed_values.kCapacity + 20 * kVarint> sample;
  sample.message(of_sample::kLocations, locations);
  sample.message(of_sample::kValues, packed_values);
  for (const Label& label : {first, second, profile::is_truncated(stack) ? truncated_ : Label{}}) {
    if (label.key == 0) continue;
    Message<4 * kVarint> message;
    message.integer(of_label::kKey, label.key);
    message.integer(of_label::kText, label.text);
    sample.message(of_sample::kLabel, message);
  }
  to_profile(of_profile::kSample, sample.data(), sample.size());
}

// What was freed is told by how long it lived and by whom it was freed, in samples of their own.
void Writer::write_stack(const profile::Stack* stack) {
  const profile::StackSums sums = profile::sums_of(stack);
  uint64_t value[kMostValues] = {};
  values(sums, value);
  write_sample(stack, value);
  if (kind_ != Kind::kLive) return;
  for (unsigned lifetime = 0; lifetime < profile::kLifetimes; ++lifetime) {
    for (unsigned by = 0; by < 2; ++by) {
      const profile::Freed& freed = sums.freed_after[lifetime][by];
      uint64_t of_freed[kMostValues] = {};
      of_freed[kFreedObjects] = rounded(freed.blocks);
      of_freed[kFreedSpace] = rounded(freed.bytes);
      of_freed[kLifetime] = rounded(freed.ms);
      write_sample(stack, of_freed, lifetimes_[lifetime], freed_by_[by]);
    }
  }
}

// Stacks that come meanwhile are left out: their locations would lack.
int Writer::write() {
  const profile::Stack* last = nullptr;
  size_t frames = 0;
  for (const profile::Stack* stack = nullptr; (stack = profile::next(stack)) != nullptr; last = stack) {
    const Address* unused;
    const python::Frame* unused_too;
    frames += profile::frames_of(stack, &unused) + 2 * profile::python_frames_of(stack, &unused_too);
  }
  if (kind_ == Kind::kLive) profile::count_held();
  write_head();
  for_each_mapping(add_mapping, this);
  if (!write_locations(last, frames)) return EAGAIN;
  for (const profile::Stack* stack = nullptr; stack != last;) {
    stack = profile::next(stack);
    write_stack(stack);
  }
  return 0;
}

}  // namespace

int write_pprof(Gzip& to, Kind kind) {
  const os::Mapped<Writer> writer(to, kind);
  return writer.get() == nullptr ? EAGAIN : writer->write();
}

}  // namespace acre::report
