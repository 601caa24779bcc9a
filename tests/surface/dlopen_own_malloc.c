// acre-test: not-static
// acre-test: libs=dl
// acre-test: not-hardened
// A library with a malloc of its own, of whose operators acre replaces but some: operator delete is exported, nothrow
// operator new is not. What the hidden one has allocated goes back to the library, by its own operator delete; what acre
// has allocated to acre. (chdb, ClickHouse in a Python module, is such a library.)
// The hardened mode tells who frees what operator new allocated.
#include "plugin.h"

#include <dlfcn.h>

static const char kSource[] =
    "#include <stddef.h>\n"
    "#define HIDDEN __attribute__((visibility(\"hidden\")))\n"
    "static char space[4096];\n"
    "static size_t used;\n"
    "static int frees[4];\n"
    "static size_t alignment;\n"
    "static int is_own(void *p) { return (size_t)((char *)p - space) < sizeof space; }\n"
    "HIDDEN void *_ZnwmRKSt9nothrow_t(size_t n, const void *t) { used += 64; return space + used; }\n"
    "void *_Znwm(size_t n) { return _ZnwmRKSt9nothrow_t(n, 0); }\n"
    "void _ZdlPv(void *p) { frees[0] += is_own(p); }\n"
    "void _ZdaPv(void *p) { frees[1] += is_own(p); }\n"
    "void _ZdlPvSt11align_val_t(void *p, size_t a) { frees[2] += is_own(p); alignment = a; }\n"
    "void _ZdaPvSt11align_val_t(void *p, size_t a) { frees[3] += is_own(p); alignment = a; }\n"
    "void _ZdlPvm(void *p, size_t n) { _ZdlPv(p); }\n"
    "void _ZdaPvm(void *p, size_t n) { _ZdaPv(p); }\n"
    "void _ZdlPvmSt11align_val_t(void *p, size_t n, size_t a) { _ZdlPvSt11align_val_t(p, a); }\n"
    "void _ZdaPvmSt11align_val_t(void *p, size_t n, size_t a) { _ZdaPvSt11align_val_t(p, a); }\n"
    "void give(int form, void *p) {\n"
    "    switch (form) {\n"
    "        case 0: _ZdlPv(p); break;\n"
    "        case 1: _ZdaPv(p); break;\n"
    "        case 2: _ZdlPvSt11align_val_t(p, 64); break;\n"
    "        case 3: _ZdaPvSt11align_val_t(p, 64); break;\n"
    "        case 4: _ZdlPvm(p, 64); break;\n"
    "        case 5: _ZdaPvm(p, 64); break;\n"
    "        case 6: _ZdlPvmSt11align_val_t(p, 64, 64); break;\n"
    "        case 7: _ZdaPvmSt11align_val_t(p, 64, 64); break;\n"
    "    }\n"
    "}\n"
    "int own(int form) {\n"
    "    int before = frees[form % 4];\n"
    "    alignment = 64;\n"
    "    give(form, _ZnwmRKSt9nothrow_t(64, 0));\n"
    "    return frees[form % 4] == before + 1 && alignment == 64;\n"
    "}\n"
    "int acres(int form) {\n"
    "    int before = frees[form % 4];\n"
    "    void *p = _Znwm(64);\n"
    "    if (is_own(p)) return 0;\n"
    "    give(form, p);\n"
    "    return frees[form % 4] == before;\n"
    "}\n";

int main(void) {
    struct Plugin plugin;
    plugin_build(&plugin, kSource);
    void *handle = dlopen(plugin.object, RTLD_NOW | RTLD_LOCAL);
    plugin_remove(&plugin);
    CHECK(handle != NULL);
    int (*own)(int), (*acres)(int);
    *(void **)&own = dlsym(handle, "own");
    *(void **)&acres = dlsym(handle, "acres");
    CHECK(own != NULL && acres != NULL);
    for (int form = 0; form < 8; form++) {
        CHECK_AT(acres(form), form);
        CHECK_AT(own(form), form);
    }
    return 0;
}
