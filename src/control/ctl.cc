#include "control/ctl.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "control/nodes.h"

namespace acre::ctl {

namespace {

constexpr unsigned kMostComponents = 7;
constexpr unsigned kNoNode = ~0u;

// A node, and the numbers in its name if it has any.
struct Place {
  unsigned node = kNoNode;
  size_t index[kMostIndices] = {};
};

struct Component {
  const char* start;
  size_t size;
  bool is(const Component& other) const { return size == other.size && memcmp(start, other.start, size) == 0; }
  bool is_index() const { return size == 1 && *start == '#'; }
};

// The components of a name, one after the other.
class Components {
 public:
  explicit Components(const char* name) : rest_(name) {}
  bool next(Component* out) {
    if (rest_ == nullptr) return false;
    const char* dot = strchr(rest_, '.');
    *out = {rest_, dot == nullptr ? strlen(rest_) : static_cast<size_t>(dot - rest_)};
    rest_ = dot == nullptr ? nullptr : dot + 1;
    return true;
  }

 private:
  const char* rest_;
};

bool parse_index(Component text, size_t* index) {
  size_t n = 0;
  for (size_t i = 0; i < text.size; ++i) {
    const char c = text.start[i];
    if (c < '0' || c > '9') return false;
    if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, static_cast<size_t>(c - '0'), &n)) return false;
  }
  *index = n;
  return text.size != 0;
}

// Returns true if this node's name begins with all components of `name`. *whole: it has no more components.
bool matches(unsigned at, const char* name, bool* whole, size_t* index) {
  unsigned indices = 0;
  Components pattern(node(at).name), given(name);
  Component wanted, got;
  while (given.next(&got)) {
    if (!pattern.next(&wanted)) return false;
    if (!wanted.is_index()) {
      if (!wanted.is(got)) return false;
    } else {
      if (!parse_index(got, index + indices) || !is_valid_index(at, indices, index[indices])) return false;
      ++indices;
    }
  }
  *whole = !pattern.next(&wanted);
  return true;
}

Place find_name(const char* name, bool whole_name) {
  for (unsigned i = 0; i < node_count(); ++i) {
    Place place{i, {}};
    bool whole;
    if (matches(i, name, &whole, place.index) && (whole || !whole_name)) return place;
  }
  return {};
}

// Returns the first node whose name begins with the same `count` components as this node's name.
unsigned first_with(unsigned at, unsigned count) {
  const char* name = node(at).name;
  Components components(name);
  Component last{name, 0};
  for (unsigned i = 0; i < count; ++i) components.next(&last);
  const size_t size = static_cast<size_t>(last.start + last.size - name);
  unsigned first = 0;
  for (;; ++first) {
    const char* other = node(first).name;
    if (strncmp(other, name, size) == 0 && (other[size] == '.' || other[size] == '\0')) return first;
  }
}

unsigned make_mib(const Place& place, size_t* mib) {
  Components components(node(place.node).name);
  Component component;
  unsigned count = 0, indices = 0;
  while (components.next(&component)) {
    mib[count] = component.is_index() ? place.index[indices++] : first_with(place.node, count + 1);
    ++count;
  }
  return count;
}

// The last number of a MIB is the place of the node itself. The other numbers must agree with its name.
Place find_mib(const size_t* mib, size_t length) {
  if (length == 0 || length > kMostComponents || mib[length - 1] >= node_count()) return {};
  Place place{static_cast<unsigned>(mib[length - 1]), {}};
  unsigned indices = 0;
  Components components(node(place.node).name);
  Component component;
  for (size_t i = 0; components.next(&component); ++i) {
    if (i >= length || !component.is_index()) continue;
    if (!is_valid_index(place.node, indices, mib[i])) return {};
    place.index[indices++] = mib[i];
  }
  size_t own[kMostComponents];
  if (make_mib(place, own) != length || memcmp(own, mib, length * sizeof own[0]) != 0) return {};
  return place;
}

// Returns false if the program gave no buffer for the text.
bool copy_text(const char* text, const void* oldp, size_t size) {
  char* buffer = nullptr;
  if (size == sizeof buffer) memcpy(&buffer, oldp, sizeof buffer);
  if (buffer != nullptr) memcpy(buffer, text, strlen(text) + 1);
  return buffer != nullptr;
}

Call call_of(const Place& place) {
  Call call;
  call.index = place.index[0];
  call.second = place.index[1];
  return call;
}

int read_out(const Place& place, void* oldp, size_t* oldlenp) {
  Call call = call_of(place);
  if (const int error = use(place.node, call)) return error;
  const Type type = node(place.node).type;
  if (type == Type::kText && copy_text(call.value.as<const char*>(), oldp, *oldlenp)) return 0;
  const size_t size = size_of(type);
  const size_t copied = smaller(size, *oldlenp);
  const bool fits = *oldlenp == size;
  memcpy(oldp, &call.value, copied);
  *oldlenp = copied;
  return fits ? 0 : EINVAL;
}

// newp: null if an order or action gets no value.
int write_in(const Place& place, const void* newp) {
  Call call = call_of(place);
  call.is_told = newp != nullptr;
  if (newp != nullptr) memcpy(&call.to, newp, size_of(node(place.node).type));
  if (node(place.node).type == Type::kBool) call.to = call.to.word != 0;
  return use(place.node, call);
}

// A maker and a lookup give their result in full or not at all.
int give(const Place& place, void* oldp, size_t* oldlenp, const void* address) {
  const size_t size = size_of(node(place.node).type);
  if (oldp == nullptr || oldlenp == nullptr || *oldlenp != size) {
    if (oldlenp != nullptr) *oldlenp = 0;
    return EINVAL;
  }
  Call call = call_of(place);
  call.address = address;
  const int error = use(place.node, call);
  if (error == 0) memcpy(oldp, &call.value, size);
  return error;
}

int look_up_in(const Place& place, void* oldp, size_t* oldlenp, const void* newp, size_t newlen) {
  const void* address = nullptr;
  if (newlen != (newp == nullptr ? 0 : sizeof address)) return EINVAL;
  if (newp != nullptr) memcpy(&address, newp, sizeof address);
  return give(place, oldp, oldlenp, address);
}

int query(const Place& place, void* oldp, const size_t* oldlenp, const void* newp, size_t newlen) {
  if (oldp == nullptr || oldlenp == nullptr || *oldlenp == 0 || newp == nullptr || newlen == 0) return EINVAL;
  Call call = call_of(place);
  call.in = newp;
  call.in_bytes = newlen;
  call.out = oldp;
  call.out_bytes = *oldlenp;
  return use(place.node, call);
}

int act_on(const Place& place, const void* oldp, const size_t* oldlenp, const void* newp, size_t newlen) {
  const bool nothing = oldp == nullptr && oldlenp == nullptr && newp == nullptr && newlen == 0;
  return nothing ? write_in(place, nullptr) : EPERM;
}

int access(const Place& place, void* oldp, size_t* oldlenp, void* newp, size_t newlen) {
  if (place.node == kNoNode) return ENOENT;
  const Node& what = node(place.node);
  if (what.kind == Kind::kAction) return act_on(place, oldp, oldlenp, newp, newlen);
  if (what.kind == Kind::kQuery) return query(place, oldp, oldlenp, newp, newlen);
  if (what.kind == Kind::kLookup) return look_up_in(place, oldp, oldlenp, newp, newlen);
  if (!what.writable && (newp != nullptr || newlen != 0)) return EPERM;
  if (what.kind == Kind::kMaker) return give(place, oldp, oldlenp, nullptr);
  const bool unread = what.kind == Kind::kSink || what.kind == Kind::kOrder;
  if (unread && (oldp != nullptr || oldlenp != nullptr)) return EPERM;
  if (what.kind == Kind::kSink && newp == nullptr) return EINVAL;
  if (newp != nullptr && newlen != size_of(what.type)) return EINVAL;
  if (what.kind == Kind::kOrder) return write_in(place, newp);
  const bool write_first = what.type == Type::kU64 && what.writable;  // epoch: the new value is read
  if (newp != nullptr && write_first) {
    if (const int error = write_in(place, newp)) return error;
  }
  if (oldp != nullptr && oldlenp != nullptr) {
    if (const int error = read_out(place, oldp, oldlenp)) return error;
  }
  return newp != nullptr && !write_first ? write_in(place, newp) : 0;
}

}  // namespace

struct TypeInfo {
  char name[20];
  size_t bytes;
};
static constexpr TypeInfo kTypes[] = {
    {"void", 0}, {"bool", sizeof(bool)}, {"unsigned", sizeof(unsigned)}, {"uint32_t", 4}, {"uint64_t", 8},
    {"size_t", sizeof(size_t)}, {"ssize_t", sizeof(ssize_t)}, {"const char *", sizeof(void*)},
    {"char *", sizeof(void*)}, {"extent_hooks_t *", sizeof(void*)}, {"uint64_t *", sizeof(void*)},
    {"void (*)()", sizeof(void*)},
};

size_t size_of(Type type) { return kTypes[static_cast<unsigned>(type)].bytes; }
const char* name_of(Type type) { return kTypes[static_cast<unsigned>(type)].name; }

const Node* node_named(const char* name) {
  const Place place = find_name(name, true);
  return place.node == kNoNode ? nullptr : &node(place.node);
}

int by_name(const char* name, void* oldp, size_t* oldlenp, void* newp, size_t newlen) {
  return access(find_name(name, true), oldp, oldlenp, newp, newlen);
}

int by_mib(const size_t* mib, size_t length, void* oldp, size_t* oldlenp, void* newp, size_t newlen) {
  return access(find_mib(mib, length), oldp, oldlenp, newp, newlen);
}

int name_to_mib(const char* name, size_t* mib, size_t* length) {
  const Place place = find_name(name, false);
  if (place.node == kNoNode) return ENOENT;
  size_t whole[kMostComponents];
  make_mib(place, whole);
  Components given(name);
  Component unused;
  size_t count = 0;
  while (given.next(&unused)) ++count;
  *length = smaller(*length, count);
  for (size_t i = 0; i < *length; ++i) mib[i] = whole[i];
  return 0;
}

}  // namespace acre::ctl
