// dlopened LIBRARY: acre in a program that runs on libc's malloc, across dlclose.
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *(*acre_malloc)(size_t);
static void (*acre_free)(void *);
static int (*acre_owns)(const void *);
static pthread_barrier_t closed;

static void *symbol(void *library, const char *name) {
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static int churn(void) {
    void *blocks[500];
    for (size_t i = 0; i < 500; i++) {
        blocks[i] = acre_malloc(i * 7);
        if (blocks[i] == NULL || !acre_owns(blocks[i])) return 1;
        memset(blocks[i], 1, i * 7);
    }
    for (size_t i = 0; i < 500; i++) acre_free(blocks[i]);
    return 0;
}

// Its heap outlives dlclose, and ends after it.
static void *worker(void *unused) {
    int failed = churn();
    (void)unused;
    pthread_barrier_wait(&closed);
    pthread_barrier_wait(&closed);
    return failed ? (void *)1 : NULL;
}

int main(int count, char **words) {
    void *library = dlopen(count > 1 ? words[1] : "", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    acre_malloc = (void *(*)(size_t))symbol(library, "acre_malloc");
    acre_free = (void (*)(void *))symbol(library, "acre_free");
    acre_owns = (int (*)(const void *))symbol(library, "acre_owns");

    void *foreign = malloc(100);
    if (acre_owns(foreign)) {
        fputs("malloc of a program that only dlopened acre went to acre\n", stderr);
        return 1;
    }
    free(foreign);

    pthread_t thread;
    void *result = NULL;
    pthread_barrier_init(&closed, NULL, 2);
    if (pthread_create(&thread, NULL, worker, NULL) != 0 || churn() != 0) return 1;
    void *block = acre_malloc(1000);
    pthread_barrier_wait(&closed);
    dlclose(library);
    pthread_barrier_wait(&closed);
    if (pthread_join(thread, &result) != 0 || result != NULL) return 1;

    // The library stays loaded (-z nodelete), so what it gave is still good.
    memset(block, 2, 1000);
    acre_free(block);
    if (churn() != 0) return 1;
    puts("dlopen and dlclose went well");
    return 0;
}
