// Scripts: what a program may do while the OS refuses memory.
#pragma once

#include <cstddef>

#include "blocks.h"

namespace acre::fake_os {

struct Script {
  const char* name;
  void (*run)(Blocks& blocks);
  bool threads;  // the order of its requests differs from run to run
};

extern const Script kScripts[];
extern const size_t kScriptCount;

}  // namespace acre::fake_os
