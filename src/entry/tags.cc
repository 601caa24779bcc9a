// The functions of include/acre/tags.h and trace.h.
#include "acre/tags.h"

#include <errno.h>
#include <string.h>

#include "acre/trace.h"
#include "entry/api.h"
#include "manual/tags.h"
#include "record/record.h"

using namespace acre;

namespace {

Tag* tag_of(acre_tag_t* tag) { return reinterpret_cast<Tag*>(tag); }
const Tag* tag_of(const acre_tag_t* tag) { return reinterpret_cast<const Tag*>(tag); }
acre_tag_t* handle_of(Tag* tag) { return reinterpret_cast<acre_tag_t*>(tag); }

// The end of a call that may have changed the tag in force.
int told(int error) {
  if (error == 0) record::tag_changed();
  return error;
}

}  // namespace

extern "C" {

ACRE_EXPORT void acre_trace_mark(const char* text) { record::mark(text); }

ACRE_EXPORT acre_tag_t* acre_tag(const char* name) { return handle_of(tags::find(name)); }
ACRE_EXPORT int acre_tag_push(const char* name) { return told(tags::push(name)); }
ACRE_EXPORT int acre_tag_enter(acre_tag_t* tag) { return told(tags::enter(tag_of(tag))); }
ACRE_EXPORT int acre_tag_pop() { return told(tags::pop()); }
ACRE_EXPORT acre_tag_t* acre_tag_in_force() { return handle_of(tags::in_force()); }

ACRE_EXPORT acre_tag_t* acre_tag_of(const void* block) {
  const Found found = find_block(block);
  return handle_of(found.slab == nullptr && found.run == nullptr ? nullptr : tags::of(found, block));
}

ACRE_EXPORT void acre_tag_limit(acre_tag_t* tag, size_t bytes) { tags::set_limit(tag_of(tag), bytes); }

ACRE_EXPORT void acre_tag_on_limit(acre_tag_t* tag, int (*callback)(acre_tag_t* tag, size_t wanted, void* argument),
                                   void* argument) {
  tags::set_callback(tag_of(tag), callback, argument);
}

ACRE_EXPORT void acre_tag_drop(acre_tag_t* tag) { tags::drop(tag_of(tag)); }

ACRE_EXPORT int acre_tag_get(const acre_tag_t* tag, struct acre_tag_info* info) {
  static_assert(sizeof(acre_tag_info) == sizeof(TagInfo) && offsetof(acre_tag_info, refused) == offsetof(TagInfo, refused));
  TagInfo found;
  if (!tags::describe(tag_of(tag), &found)) return ESRCH;
  memcpy(info, &found, sizeof found);
  return 0;
}

ACRE_EXPORT acre_tag_t* acre_tag_next(const acre_tag_t* tag) { return handle_of(tags::next(tag_of(tag))); }

}  // extern "C"
