// acre-test: not-static
// acre-test: libs=dl
// A plugin opened with RTLD_DEEPBIND looks libc's names up in libc first. Blocks still cross the
// border in both directions.
#include "plugin.h"

#include <dlfcn.h>

static const char kSource[] =
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "char *plugin_make(const char *text) {\n"
    "    char *copy = malloc(strlen(text) + 1);\n"
    "    return copy ? strcpy(copy, text) : 0;\n"
    "}\n"
    "char *plugin_dup(const char *text) { return strdup(text); }\n"
    "void *plugin_grow(void *block, size_t size) { return realloc(block, size); }\n"
    "void plugin_free(void *block) { free(block); }\n";

int main(void) {
    struct Plugin plugin;
    plugin_build(&plugin, kSource);
    void *handle = dlopen(plugin.object, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    plugin_remove(&plugin);
    CHECK(handle != NULL);
    char *(*make)(const char *), *(*dup_in_plugin)(const char *);
    void *(*grow)(void *, size_t);
    void (*free_in_plugin)(void *);
    *(void **)&make = dlsym(handle, "plugin_make");
    *(void **)&dup_in_plugin = dlsym(handle, "plugin_dup");
    *(void **)&grow = dlsym(handle, "plugin_grow");
    *(void **)&free_in_plugin = dlsym(handle, "plugin_free");
    CHECK(make != NULL && dup_in_plugin != NULL && grow != NULL && free_in_plugin != NULL);

    static char text[200001];
    for (size_t length = 1; length <= 200000; length = length * 3 + 1) {
        for (int i = 0; i < 100; i++) {
            memset(text, 'a' + i % 26, length);
            text[length] = '\0';
            char *host = strdup(text);
            char *made = (char *)hide(make(text));
            char *dupped = (char *)hide(dup_in_plugin(text));
            CHECK(host != NULL && made != NULL && dupped != NULL);
            CHECK(strcmp(host, text) == 0 && strcmp(made, text) == 0 && strcmp(dupped, text) == 0);
            host = (char *)hide(grow(host, length + 1000));
            made = (char *)hide(realloc(made, length + 1000));
            CHECK(host != NULL && made != NULL);
            CHECK(strcmp(host, text) == 0 && strcmp(made, text) == 0);
            free_in_plugin(host);
            free(made);
            free(dupped);
        }
    }
    CHECK_EQ(dlclose(handle), 0);
    return 0;
}
