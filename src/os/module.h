// The loaded modules (the program and libraries): which one has code at an address, and what it exports.
#pragma once

#include "base/units.h"

namespace acre::os {

struct Module {
  const char* path = "";  // "": the program. Valid while the module is loaded
  Address base = 0;       // added to the addresses in its file
  const void* dynamic_section = nullptr;
};

// Finds the module with code at this address. False: there is none, or it is not known (find_object in os/unwind.h).
// Takes no lock; async-signal-safe. The module must not be unloaded meanwhile; a module on the call stack cannot be.
bool find_module(Address code, Module* module);

// Whether the loader searches the module with code at this address before acre. These are the program and libraries
// preloaded before acre. True if not known.
bool is_loaded_before_acre(Address code);

// The function of this name that the module exports, or null. As find_in_library_of (os/linux_library.h).
void* find_exported(const Module& module, const char* name);

}  // namespace acre::os
