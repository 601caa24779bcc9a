// A library's first page has its header. The header leads to the dynamic section, and that to the symbols, which are in
// lists by hash (System V ABI, chapters 4 and 5; the lists are DT_GNU_HASH, of binutils and glibc). The kernel's
// library may have only the ABI's own lists (DT_HASH). Its dozen symbols are tried one by one.
#include "os/linux_library.h"

#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/units.h"
#include "os/module.h"
#include "os/unwind.h"

namespace acre::os {

namespace {

struct Library {
  Address base = 0;
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const uint32_t* hash = nullptr;      // DT_GNU_HASH
  const uint32_t* abi_hash = nullptr;  // DT_HASH: number of lists, number of symbols, …
};

// Goes from a function of the library back to its first page. Returns 0 if that is not found.
Address base_of(const void* function) {
  constexpr size_t kMostPages = 4096;
  Address page = align_down(address_of(function), kPageBytes);
  for (size_t i = 0; i < kMostPages && is_readable(page); ++i, page -= kPageBytes) {
    if (memcmp(pointer_to(page), ELFMAG, SELFMAG) == 0) return page;
  }
  return 0;
}

// The value is a distance, unless the loader has replaced it by an address.
template <class T>
const T* at(const Library& library, Address place) {
  return static_cast<const T*>(pointer_to(place < library.base ? library.base + place : place));
}

bool read_dynamic_section(Library* library, const ElfW(Dyn)* entry) {
  for (; entry->d_tag != DT_NULL; ++entry) {
    switch (entry->d_tag) {
      case DT_SYMTAB: library->symbols = at<ElfW(Sym)>(*library, entry->d_un.d_ptr); break;
      case DT_STRTAB: library->names = at<char>(*library, entry->d_un.d_ptr); break;
      case DT_HASH: library->abi_hash = at<uint32_t>(*library, entry->d_un.d_ptr); break;
      case DT_GNU_HASH: library->hash = at<uint32_t>(*library, entry->d_un.d_ptr); break;
      default: break;
    }
  }
  return library->symbols != nullptr && library->names != nullptr && (library->hash != nullptr || library->abi_hash != nullptr);
}

bool read_headers(Library* library) {
  const auto* head = at<ElfW(Ehdr)>(*library, library->base);
  const auto* segment = at<ElfW(Phdr)>(*library, library->base + head->e_phoff);
  const auto* end = segment + head->e_phnum;
  for (; segment != end && segment->p_type != PT_DYNAMIC; ++segment) {
    if (segment->p_type == PT_LOAD && segment->p_offset == 0 && segment->p_vaddr != 0) return false;  // a fixed place
  }
  return segment != end && read_dynamic_section(library, at<ElfW(Dyn)>(*library, library->base + segment->p_vaddr));
}

uint32_t hash_of(const char* name) {
  constexpr uint32_t kStart = 5381, kFactor = 33;
  uint32_t hash = kStart;
  for (; *name != '\0'; ++name) hash = hash * kFactor + static_cast<unsigned char>(*name);
  return hash;
}

bool has_name(const Library& library, const ElfW(Sym)& symbol, const char* name) {
  return symbol.st_shndx != SHN_UNDEF && strcmp(library.names + symbol.st_name, name) == 0;
}

// The table: the number of lists; the first symbol in them; the words of a filter, not needed here, and its shift; the
// filter; the first symbol of each list; the hash of each symbol, with the last bit set at the end of a list.
const ElfW(Sym)* find_in_list(const Library& library, const char* name) {
  constexpr size_t kHeadWords = 4;
  const uint32_t lists = library.hash[0], first = library.hash[1], filter_words = library.hash[2];
  const uint32_t* list = library.hash + kHeadWords + filter_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const uint32_t* hashes = list + lists;
  const uint32_t hash = hash_of(name);
  uint32_t i = list[hash % lists];
  if (i < first) return nullptr;
  for (;; ++i) {
    const uint32_t other = hashes[i - first];
    if ((other | 1) == (hash | 1) && has_name(library, library.symbols[i], name)) return &library.symbols[i];
    if ((other & 1) != 0) return nullptr;
  }
}

const ElfW(Sym)* find_among_all(const Library& library, const char* name) {
  for (uint32_t i = 0; i < library.abi_hash[1]; ++i) {
    if (has_name(library, library.symbols[i], name)) return &library.symbols[i];
  }
  return nullptr;
}

void* find_symbol(const Library& library, const char* name) {
  const ElfW(Sym)* symbol = library.hash != nullptr ? find_in_list(library, name) : find_among_all(library, name);
  return symbol == nullptr ? nullptr : pointer_to(library.base + symbol->st_value);
}

void* find(Address base, const char* name) {
  Library library;
  library.base = base;
  return base == 0 || !read_headers(&library) ? nullptr : find_symbol(library, name);
}

}  // namespace

void* find_in_library_of(const void* function, const char* name) { return find(base_of(function), name); }

void* find_in_kernel_library(const char* name) {
  const int saved_errno = errno;
  const Address base = getauxval(AT_SYSINFO_EHDR);
  errno = saved_errno;
  return find(base, name);
}

bool find_module(Address code, Module* module) {
  CodeObject object;
  if (!find_object(code, &object) || object.link_map == nullptr) return false;
  const auto* map = static_cast<const link_map*>(object.link_map);
  *module = {map->l_name, map->l_addr, map->l_ld};
  return true;
}

void* find_exported(const Module& module, const char* name) {
  Library library;
  library.base = module.base;
  const auto* entry = static_cast<const ElfW(Dyn)*>(module.dynamic_section);
  return entry == nullptr || !read_dynamic_section(&library, entry) ? nullptr : find_symbol(library, name);
}

// Modules before acre in the loader's list were loaded with the program, and stay.
bool is_loaded_before_acre(Address code) {
  CodeObject object, own;
  const void* here = reinterpret_cast<void*>(&is_loaded_before_acre);
  if (!find_object(code, &object) || !find_object(address_of(here), &own)) return true;
  for (const auto* map = static_cast<const link_map*>(own.link_map); map != nullptr; map = map->l_prev) {
    if (map == object.link_map) return true;
  }
  return false;
}

}  // namespace acre::os
