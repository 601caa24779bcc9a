// The name of an operator leads to what the linker or the loader has chosen (cmake/replaceable.list), acre's second name for
// it to acre's own. In a static program both are null where nothing calls the operator.
#include "os/operators.h"

#include "base/compiler.h"

#if ACRE_PREFIX_ONLY
bool acre::os::base_operators_are_replaced() { return true; }
#else

#define ACRE_PAIR(form, name)                                            \
  extern "C" __attribute__((weak)) ACRE_HIDDEN void acre_own_##form();   \
  extern "C" __attribute__((weak)) void bound_##form() __asm__(name);
ACRE_PAIR(new, "_Znwm")
ACRE_PAIR(new_array, "_Znam")
ACRE_PAIR(new_aligned, "_ZnwmSt11align_val_t")
ACRE_PAIR(new_array_aligned, "_ZnamSt11align_val_t")
ACRE_PAIR(delete, "_ZdlPv")
ACRE_PAIR(delete_array, "_ZdaPv")
ACRE_PAIR(delete_aligned, "_ZdlPvSt11align_val_t")
ACRE_PAIR(delete_array_aligned, "_ZdaPvSt11align_val_t")
#undef ACRE_PAIR

namespace acre::os {

namespace {

using Function = void (*)();

// Compilers may take it that two functions are at two addresses.
bool differ(Function bound, Function own) {
  asm("" : "+r"(bound), "+r"(own));
  return bound != own;
}

}  // namespace

#define ACRE_DIFFERS(form) differ(bound_##form, acre_own_##form)
bool base_operators_are_replaced() {
  return ACRE_DIFFERS(new) || ACRE_DIFFERS(new_array) || ACRE_DIFFERS(new_aligned) || ACRE_DIFFERS(new_array_aligned) ||
         ACRE_DIFFERS(delete) || ACRE_DIFFERS(delete_array) || ACRE_DIFFERS(delete_aligned) ||
         ACRE_DIFFERS(delete_array_aligned);
}
#undef ACRE_DIFFERS

}  // namespace acre::os

#endif
