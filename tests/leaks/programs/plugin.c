// For dlclosed.c: a library with a global, a variable of each thread, and blocks that only they lead to.
#include "support.h"

static void *global;
static __thread void *own;

NOINLINE void plugin_keep(void) { global = malloc(300); }
NOINLINE void plugin_keep_own(void) { own = malloc(400); }
