// Allocates more and more, and waits until files appear in a folder. usage: waits FOLDER FILES
#include <dirent.h>
#include <stdlib.h>
#include <time.h>

static int files_in(const char *folder) {
    DIR *open = opendir(folder);
    int found = 0;
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) found += entry->d_name[0] != '.';
    closedir(open);
    return found;
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    static void *volatile kept[20000];
    for (int i = 0; i < 20000 && files_in(argv[1]) < atoi(argv[2]); i++) {
        kept[i] = malloc(100000);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    // The last one may not be whole yet.
    for (int i = 0; i < 5000 && files_in(argv[1]) < atoi(argv[2]) + 1 && atoi(argv[2]) > 0; i++) {
        kept[i] = malloc(200000);
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    return files_in(argv[1]) >= atoi(argv[2]) ? 0 : 1;
}
