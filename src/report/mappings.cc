#include "report/mappings.h"

#include <elf.h>
#include <string.h>

#include "base/text.h"
#include "os/os.h"

namespace acre::report {

namespace {

// By the calling thread: of a process whose first thread has ended, /proc/self says nothing.
constexpr char kMaps[] = "/proc/thread-self/maps", kMemory[] = "/proc/thread-self/mem";

// Lines of a file, cut off at the buffer's end.
class Lines {
 public:
  explicit Lines(int file) : file_(file) {}

  // Without the end of line; null after the last one.
  const char* next() {
    size_t size = 0;
    for (;;) {
      if (at_ == filled_) {
        const long got = os::read_some(file_, buffer_, sizeof buffer_);
        if (got <= 0 && size == 0) return nullptr;
        if (got <= 0) break;
        at_ = 0;
        filled_ = static_cast<size_t>(got);
      }
      const char c = buffer_[at_++];
      if (c == '\n') break;
      if (size + 1 < sizeof line_) line_[size++] = c;
    }
    line_[size] = '\0';
    return line_;
  }

 private:
  int file_;
  size_t at_ = 0, filled_ = 0;
  char buffer_[1024];
  char line_[768];
};

uint64_t parse_hex(const char** at) {
  uint64_t value = 0;
  for (;; ++*at) {
    const char c = **at;
    if (c >= '0' && c <= '9') {
      value = value * 16 + static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      value = value * 16 + static_cast<uint64_t>(c - 'a' + 10);
    } else {
      return value;
    }
  }
}

const char* after_blanks(const char* at) {
  while (*at == ' ') ++at;
  return at;
}
const char* after_word(const char* at) {
  while (*at != '\0' && *at != ' ') ++at;
  return after_blanks(at);
}

// START-END PERMISSIONS OFFSET DEVICE INODE PATH
bool parse(const char* line, Mapping* mapping) {
  mapping->start = parse_hex(&line);
  if (*line++ != '-') return false;
  mapping->end = parse_hex(&line);
  line = after_blanks(line);
  if (strlen(line) < 4) return false;
  mapping->readable = line[0] == 'r';
  mapping->writable = line[1] == 'w';
  mapping->executable = line[2] == 'x';
  line = after_word(line);
  mapping->offset = parse_hex(&line);
  line = after_word(after_word(after_blanks(line)));
  Text(mapping->path, sizeof mapping->path).add(line);
  return true;
}

// --- Build ids ------------------------------------------------------------------------------------------------

// Reads this process's memory as a file, so that it never faults.
class Memory {
 public:
  explicit Memory(long file) : file_(file) {}
  bool read(Address from, void* to, size_t bytes) const {
    return file_ >= 0 && os::read_at(static_cast<int>(file_), from, to, bytes) == static_cast<long>(bytes);
  }

 private:
  long file_;
};

// Among notes that take `size` bytes from here on.
bool find_in_notes(const Memory& memory, Address at, size_t size, char* id) {
  constexpr size_t kMostId = 32;
  const Address end = at + size;
  for (int notes = 0; notes < 16 && at + sizeof(Elf64_Nhdr) <= end; ++notes) {
    Elf64_Nhdr note;
    if (!memory.read(at, &note, sizeof note)) return false;
    at += sizeof note;
    char name[4] = {};
    unsigned char bytes[kMostId];
    const Address content = at + align_up(note.n_namesz, 4);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof name && note.n_descsz <= sizeof bytes &&
        memory.read(at, name, sizeof name) && memcmp(name, "GNU", sizeof name) == 0) {
      if (!memory.read(content, bytes, note.n_descsz)) return false;
      Text text(id, sizeof Mapping::build_id);
      for (size_t i = 0; i < note.n_descsz; ++i) text.hex_digits(bytes[i]);
      return true;
    }
    at = content + align_up(note.n_descsz, 4);
  }
  return false;
}

// Of the ELF file whose start is mapped here.
void find_build_id(const Memory& memory, const Mapping& first, char* id) {
  constexpr unsigned kMostHeaders = 64;
  Elf64_Ehdr file;
  id[0] = '\0';
  if (!memory.read(first.start, &file, sizeof file) || memcmp(file.e_ident, ELFMAG, SELFMAG) != 0) return;
  if (file.e_ident[EI_CLASS] != ELFCLASS64 || file.e_phentsize != sizeof(Elf64_Phdr)) return;
  for (unsigned i = 0; i < file.e_phnum && i < kMostHeaders; ++i) {
    Elf64_Phdr header;
    if (!memory.read(first.start + file.e_phoff + i * sizeof header, &header, sizeof header)) return;
    if (header.p_type != PT_NOTE || header.p_offset + header.p_filesz > first.end - first.start) continue;
    if (find_in_notes(memory, first.start + header.p_offset, header.p_filesz, id)) return;
  }
}

// Calls action(mapping) for all that is mapped. Returns false if it could not be read.
template <class Action>
bool for_each_line(Action action) {
  const long maps = os::open_file(kMaps);
  if (maps < 0) return false;
  Lines lines(static_cast<int>(maps));
  Mapping mapping;
  while (const char* line = lines.next()) {
    if (parse(line, &mapping)) action(mapping);
  }
  os::close_file(static_cast<int>(maps));
  return true;
}

}  // namespace

bool for_each_mapping(void (*visit)(const Mapping& mapping, void* argument), void* argument) {
  const long mem = os::open_file(kMemory);
  const Memory memory(mem);
  Mapping first;  // the latest one that began with its file
  const bool done = for_each_line([&](Mapping& mapping) {
    if (mapping.offset == 0 && mapping.path[0] != '\0') {
      first = mapping;
      find_build_id(memory, first, first.build_id);
    }
    if (!mapping.executable) return;
    const bool same_file = strcmp(first.path, mapping.path) == 0;
    strcpy(mapping.build_id, same_file ? first.build_id : "");
    visit(mapping, argument);
  });
  if (mem >= 0) os::close_file(static_cast<int>(mem));
  return done;
}

bool for_each_part(void (*visit)(const Mapping& mapping, void* argument), void* argument) {
  return for_each_line([&](const Mapping& mapping) { visit(mapping, argument); });
}

}  // namespace acre::report
