// The program and the libraries that are loaded: whose code is at an address, and what a module exports.
#pragma once

#include "base/units.h"

namespace acre::os {

struct Module {
  const char* path = "";  // "": the program. Valid while the module is loaded.
  Address base = 0;       // what the addresses in its file are counted from
  const void* dynamic_section = nullptr;
};

// The one that has code at this address. False: none, or nobody can tell (find_object in os/unwind.h). Takes no lock;
// for signal handlers as well. The module must not be unloaded meanwhile: true of one that waits for a call to
// return.
bool find_module(Address code, Module* module);

// Whether the loader asks the module that has code at this address for symbols before it asks acre: the program, and
// what is preloaded before. True where nobody can tell.
bool is_loaded_before_acre(Address code);

// The function of this name that the module exports; null: it has none. As find_in_library_of (os/linux_library.h).
void* find_exported(const Module& module, const char* name);

}  // namespace acre::os
