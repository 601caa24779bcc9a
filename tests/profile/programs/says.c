// Writes profiles by ctl: one of before it samples, one with another prefix, and one at a new maximum. usage: says FOLDER
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int mallctl(const char *name, void *old, size_t *old_size, void *new, size_t size);

static void *kept[50];
static void *volatile large;

__attribute__((noinline)) void *site(void) {
    void *volatile block = malloc(1000);
    return block;
}

static int profiles_in(const char *folder) {
    DIR *open = opendir(folder);
    int found = 0;
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) found += strstr(entry->d_name, ".pb.gz") != NULL;
    closedir(open);
    return found;
}
static bool set(const char *name, bool on) { return mallctl(name, NULL, NULL, &on, sizeof on) == 0; }
static bool is_set(const char *name) {
    bool on = false;
    size_t size = sizeof on;
    return mallctl(name, &on, &size, NULL, 0) == 0 && on;
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    for (int i = 0; i < 50; i++) kept[i] = site();
    if (mallctl("prof.dump", NULL, NULL, NULL, 0) != 0) return 3;
    const char *prefix = "mine";
    if (mallctl("prof.prefix", NULL, NULL, &prefix, sizeof prefix) != 0) return 4;
    if (is_set("prof.active") || !set("prof.active", true) || !is_set("prof.active")) return 5;
    for (int i = 0; i < 50; i++) kept[i] = site();
    if (mallctl("prof.dump", NULL, NULL, NULL, 0) != 0) return 6;
    const int before = profiles_in(argv[1]);
    if (is_set("prof.gdump") || !set("prof.gdump", true) || !is_set("prof.gdump")) return 7;
    large = malloc((size_t)300 << 20);
    for (int i = 0; i < 10000 && profiles_in(argv[1]) < before + 2; i++) nanosleep(&(struct timespec){0, 5000000}, NULL);
    return profiles_in(argv[1]) == before + 2 ? 0 : 8;
}
