// acre-test: not-static timeout=20 libs=pthread env=ACRE_CONF=dirty_decay_ms:50
// The program has a clock_gettime of its own, as a preloaded library for tests at a certain date has. It must not be called
// before its constructor has run, although libstdc++ allocates before that; and it stands still. Dirty pages decay
// nevertheless.
#include "check.h"

#include <pthread.h>
#include <time.h>

#include <exception>

static int is_ready;
static int calls_before;

extern "C" int clock_gettime(clockid_t, struct timespec *time) noexcept {
    if (!is_ready) calls_before++;
    time->tv_sec = 1000000000;
    time->tv_nsec = 0;
    return 0;
}

__attribute__((constructor)) static void get_ready(void) { is_ready = 1; }

enum { kBlocks = 64 };
static const size_t kBlock = 256 << 10;

// As many slow-path events as a tick takes, and more.
static void allocate_a_little(void) {
    for (int i = 0; i < 200; i++) free(must_malloc(40000));
}

static void *do_nothing(void *) { return NULL; }

int main(void) {
    CHECK(std::get_terminate() != nullptr);  // so that libstdc++ is loaded
    CHECK_EQ(calls_before, 0);
    pthread_t thread;  // whose heap and arena are new
    CHECK_EQ(pthread_create(&thread, NULL, do_nothing, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    without_huge_pages();
    allocate_a_little();
    const size_t before = resident_bytes();
    void *blocks[kBlocks];
    for (int i = 0; i < kBlocks; i++) {
        blocks[i] = must_malloc(kBlock);
        memset(blocks[i], 1, kBlock);
    }
    CHECK_GE(resident_bytes(), before + kBlocks * kBlock / 2);
    for (int i = 0; i < kBlocks; i++) free(blocks[i]);
    const struct timespec pause = {0, 10000000};
    while (resident_bytes() > before + kBlocks * kBlock / 4) {  // until the test's time is over
        nanosleep(&pause, NULL);
        allocate_a_little();
    }
    return 0;
}
