// Where the C++ library and pthread keep pointers: the argument of a thread's destructor that is still to be called, what
// a thread has returned that nobody has joined, and the value of a key.
// leaks normal: none
#include "support.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

extern "C" int __cxa_thread_atexit(void (*function)(void *), void *argument, void *library);
extern "C" void *__dso_handle;

static std::atomic<int> ready{0};
static pthread_key_t key;

static NOINLINE void register_destructor() { __cxa_thread_atexit(free, malloc(100), &__dso_handle); }
static NOINLINE void set_key() { pthread_setspecific(key, malloc(200)); }
static NOINLINE void *wait_for_ever(void *) {
    LOSE(register_destructor());
    LOSE(set_key());
    ++ready;
    for (;;) pause();
}
static void *return_block(void *) { return malloc(300); }

int main() {
    pthread_key_create(&key, free);
    pthread_t thread, unjoined;
    if (pthread_create(&thread, nullptr, wait_for_ever, nullptr) != 0) return 1;
    if (pthread_create(&unjoined, nullptr, return_block, nullptr) != 0) return 1;
    while (ready == 0) usleep(1000);
    usleep(100000);  // the other one has ended by then, or is about to, and has its block in any case
    return 0;
}
