// Thread-local storage: pointers, and a list whose head and nodes are in TLS blocks, of the first thread and another.
// leaks normal: none
#include "support.h"

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

static sem_t ready;
static __thread void *own;
static __thread struct link { struct link *next, *before; } head;
static pthread_key_t key, high_key;

static NOINLINE void keep(void) {
    own = malloc(50);
    struct link *first = malloc(sizeof *first + 8);
    head.next = head.before = first;
    first->next = first->before = &head;
    pthread_setspecific(key, malloc(60));
    pthread_setspecific(high_key, malloc(70));  // whose place is made by calloc
}

static void *run(void *unused) {
    LOSE(keep());
    sem_post(&ready);
    pause();
    return unused;
}

int main(void) {
    pthread_t thread;
    sem_init(&ready, 0, 0);
    pthread_key_create(&key, NULL);
    for (int i = 0; i < 100; i++) pthread_key_create(&high_key, NULL);
    pthread_create(&thread, NULL, run, NULL);
    sem_wait(&ready);
    LOSE(keep());
    return 0;
}
