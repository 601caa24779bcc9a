/* Preloaded in the program that contention.c watches: starts a thread and waits for its end, before main. With its first
 * thread QEMU throws away what it has translated, and waits for all threads to stand still meanwhile; a thread that the
 * plugin lets wait does not. So the plugin begins when this thread has ended. */
#include <pthread.h>
#include <stddef.h>

static void *nothing(void *argument) { return argument; }

__attribute__((constructor)) static void start(void) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, nothing, NULL) == 0) pthread_join(thread, NULL);
}
