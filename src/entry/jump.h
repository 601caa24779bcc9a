// A call in place of a return, by a jump: the function called finds the caller's return address, as if called by it.
#pragma once

#if defined(__clang__)
#define ACRE_JUMP [[clang::musttail]] return
#define ACRE_JUMPING
#else
#define ACRE_JUMP return
#define ACRE_JUMPING __attribute__((optimize("O2")))  // in debug builds too
#endif
