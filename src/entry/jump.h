// A call by a jump, in place of a return: the function finds its caller's caller as its return address.
#pragma once

#if defined(__clang__)
#define ACRE_JUMP [[clang::musttail]] return
#define ACRE_JUMPING
#else
#define ACRE_JUMP return
#define ACRE_JUMPING __attribute__((optimize("O2")))  // for debug builds
#endif
