// `bound`: what the linker or the loader chose for the operator's name (cmake/replaceable.list). `own`: acre's
// operator, by a second name. In a static program both are null if nothing calls the operator.
#include "os/operators.h"

#include "base/compiler.h"

#if ACRE_PREFIX_ONLY
bool acre::os::base_operators_are_replaced() { return true; }
#else

#define ACRE_OPERATOR(form, name)                                         \
  extern "C" __attribute__((weak)) ACRE_HIDDEN void acre_own_##form();    \
  extern "C" __attribute__((weak)) void acre_bound_##form() __asm__(name)
ACRE_OPERATOR(new, "_Znwm");
ACRE_OPERATOR(new_array, "_Znam");
ACRE_OPERATOR(new_aligned, "_ZnwmSt11align_val_t");
ACRE_OPERATOR(new_array_aligned, "_ZnamSt11align_val_t");
ACRE_OPERATOR(delete, "_ZdlPv");
ACRE_OPERATOR(delete_array, "_ZdaPv");
ACRE_OPERATOR(delete_aligned, "_ZdlPvSt11align_val_t");
ACRE_OPERATOR(delete_array_aligned, "_ZdaPvSt11align_val_t");
#undef ACRE_OPERATOR

namespace acre::os {

namespace {

struct Operator {
  void (*bound)();
  void (*own)();
};
#define ACRE_OPERATOR(form) {acre_bound_##form, acre_own_##form}
const Operator kOperators[] = {
    ACRE_OPERATOR(new),            ACRE_OPERATOR(new_array),
    ACRE_OPERATOR(new_aligned),    ACRE_OPERATOR(new_array_aligned),
    ACRE_OPERATOR(delete),         ACRE_OPERATOR(delete_array),
    ACRE_OPERATOR(delete_aligned), ACRE_OPERATOR(delete_array_aligned),
};

}  // namespace

bool base_operators_are_replaced() {
  const Operator* operators = kOperators;
  asm("" : "+r"(operators));  // compilers may assume that two functions have two addresses
  for (unsigned i = 0; i < sizeof kOperators / sizeof *kOperators; ++i) {
    if (operators[i].bound != operators[i].own) return true;
  }
  return false;
}

}  // namespace acre::os

#endif
