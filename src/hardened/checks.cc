#include "hardened/protect.h"

#include "base/text.h"
#include "slab/free_list.h"

namespace acre::hardened {

namespace {

constexpr size_t kCheckedEnd = 64;
constexpr unsigned kCheckedWords = 8;

// The first byte from `from` on that is not zero, or `to`.
size_t first_written(const void* block, size_t from, size_t to) {
  const char* bytes = static_cast<const char*>(block);
  while (from < to && bytes[from] == 0) ++from;
  return from;
}

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::kNew: return "operator new";
    case Kind::kNewArray: return "operator new[]";
    case Kind::kNewAligned: return "operator new with an alignment";
    case Kind::kNewArrayAligned: return "operator new[] with an alignment";
    default: return "malloc";
  }
}

Text& begin(Text& text, const char* caller, const void* p) {
  return text.add(caller).add('(').hex(address_of(p)).add("): ");
}

}  // namespace

ACRE_COLD void written_past_end(const char* caller, const void* p, size_t most) {
  Line<240> text;
  begin(text, caller, p).add("written past its end: the canary behind the block, of at most ");
  text.decimal(most).add(" bytes, was overwritten");
  fatal(text.c_str());
}

ACRE_COLD void written_past_end_by(const char* caller, const void* p, size_t n, size_t end) {
  written_past_end_at(caller, p, n, first_written(p, n, end));
}

ACRE_COLD void written_past_end_at(const char* caller, const void* p, size_t n, size_t at) {
  Line<240> text;
  begin(text, caller, p).add("written past its end: byte ").decimal(at);
  text.add(" of a block of ").decimal(n).add(" bytes was written");
  fatal(text.c_str());
}

ACRE_COLD void written_before(const char* caller, const void* p) {
  Line<240> text;
  begin(text, caller, p).add("written before its start, or past the end of the block before it: the ");
  text.add("canary there was overwritten");
  fatal(text.c_str());
}

ACRE_COLD void written_after_free(const void* p, size_t bytes) {
  const size_t at = first_written(p, sizeof(Link), bytes);
  Line<240> text;
  text.add("malloc: write after free: byte ").decimal(at == bytes ? 0 : at);
  text.add(" of the free block of ").decimal(bytes).add(" bytes at ").hex(address_of(p)).add(" was written");
  fatal(text.c_str());
}

ACRE_COLD void wrong_function(const char* caller, const void* p, Kind kind) {
  Line<240> text;
  begin(text, caller, p).add("wrong function: the block was allocated by ").add(name_of(kind));
  text.add(" (ACRE_CONF=kind_checks:false lets it pass)");
  fatal(text.c_str());
}

bool samples_are_zero(const void* block, size_t bytes, Random* random) {
  if (!are_zero(block, 0, kCheckedEnd) || !are_zero(block, bytes - kCheckedEnd, bytes)) return false;
  uint64_t any = 0;
  for (unsigned i = 0; random != nullptr && i < kCheckedWords; ++i) {
    any |= static_cast<const uint64_t*>(block)[random->below(static_cast<uint32_t>(bytes / sizeof(uint64_t) - 1)) + 1];
  }
  return any == 0;
}

ACRE_COLD void check_protected_already(void* block, size_t bytes) {
  if (!read_tail(block, bytes).is_whole) written_after_free(block, bytes);
  tail_word(block, bytes) = 0;
}

}  // namespace acre::hardened
