// Builds a shared object from source text with the system's compiler, in a directory of its own.
#ifndef ACRE_TESTS_SURFACE_PLUGIN_H
#define ACRE_TESTS_SURFACE_PLUGIN_H

#include "check.h"

#include <spawn.h>

extern char **environ;

#ifndef PLUGIN_COMPILER
#define PLUGIN_COMPILER "cc"
#endif

struct Plugin {
    char directory[200];
    char source[256];
    char object[256];
};

// Runs a command found in PATH; its exit code, or 127 where it cannot be started.
static inline int plugin_run(char *const *arguments) {
    pid_t child;
    int status = 0;
    if (posix_spawnp(&child, arguments[0], NULL, NULL, arguments, environ) != 0) return 127;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 126;
    return WEXITSTATUS(status);
}

static inline void plugin_remove(const struct Plugin *plugin) {
    unlink(plugin->source);
    unlink(plugin->object);
    rmdir(plugin->directory);
}

static inline void plugin_build(struct Plugin *plugin, const char *text) {
    const char *base = getenv("TMPDIR");
    snprintf(plugin->directory, sizeof plugin->directory, "%s/acre-plugin-XXXXXX",
             base != NULL && strlen(base) < 150 ? base : "/tmp");
    CHECK(mkdtemp(plugin->directory) != NULL);
    snprintf(plugin->source, sizeof plugin->source, "%s/plugin.c", plugin->directory);
    snprintf(plugin->object, sizeof plugin->object, "%s/plugin.so", plugin->directory);
    FILE *file = fopen(plugin->source, "w");
    CHECK(file != NULL);
    CHECK(fputs(text, file) >= 0);
    CHECK_EQ(fclose(file), 0);

    char cc[] = PLUGIN_COMPILER, version[] = "--version", optimize[] = "-O1", shared[] = "-shared";
    char pic[] = "-fPIC", builtin[] = "-fno-builtin", out[] = "-o", quiet[] = "-w";
    char *const probe[] = {cc, version, NULL};
    fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    const int null = open("/dev/null", O_WRONLY);
    dup2(null, STDOUT_FILENO);
    const int found = plugin_run(probe);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    close(null);
    if (found == 127) {
        plugin_remove(plugin);
        check_skip("no C compiler to build a plugin with");
    }
    char *const build[] = {cc, optimize, shared, pic, builtin, quiet, out, plugin->object,
                           plugin->source, NULL};
    const int built = plugin_run(build);
    if (built != 0) plugin_remove(plugin);
    CHECK_EQ(built, 0);
}

#endif
