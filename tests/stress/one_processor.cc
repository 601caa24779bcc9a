// acre-test: libs=pthread timeout=60
// Two threads under SCHED_FIFO share a processor. The one of the higher priority comes while the other is in the middle of
// something that it has to wait for. Unless it sleeps, the other one never goes on: to yield lets nobody run whose priority
// is lower.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <functional>

#include "acre/extent_hooks.h"
#include "pages/metadata.h"
#include "pages/page_heap.h"
#include "sample/at_work.h"
#include "stress.h"

namespace {

using Body = std::function<void()>;

constexpr unsigned kMostSeconds = 10;  // for milliseconds of work

sem_t g_comes;  // the other thread may come
int g_times_come = 0;
void let_the_other_come() {
    if (g_times_come++ == 0) CHECK_EQ(sem_post(&g_comes), 0);
}

void *run_body(void *body) {
    (*static_cast<Body *>(body))();
    return nullptr;
}

pthread_t start(Body *body, int priority) {
    pthread_attr_t attributes;
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED), 0);
    CHECK_EQ(pthread_attr_setschedpolicy(&attributes, SCHED_FIFO), 0);
    const sched_param parameters = {priority};
    CHECK_EQ(pthread_attr_setschedparam(&attributes, &parameters), 0);
    pthread_t thread;
    const int error = pthread_create(&thread, &attributes, run_body, body);
    if (error == EPERM) check_skip("may not use SCHED_FIFO");
    CHECK_EQ(error, 0);
    return thread;
}

void stay_on_one_processor() {
    cpu_set_t may, one;
    CHECK_EQ(sched_getaffinity(0, sizeof may, &may), 0);
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++) {
        if (CPU_ISSET(i, &may)) CPU_SET(i, &one);
    }
    CHECK_EQ(sched_setaffinity(0, sizeof one, &one), 0);
}

// How a process ends in which `high` comes when `low` calls let_the_other_come().
int status_with(Body low, Body high) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(kMostSeconds);
        stay_on_one_processor();
        CHECK_EQ(sem_init(&g_comes, 0, 0), 0);
        Body when_it_may = [&] {
            CHECK_EQ(sem_wait(&g_comes), 0);
            high();
        };
        const pthread_t other = start(&when_it_may, 2);
        const pthread_t one = start(&low, 1);
        CHECK_EQ(pthread_join(one, nullptr), 0);
        CHECK_EQ(pthread_join(other, nullptr), 0);
        _exit(0);
    }
    int status;
    CHECK_EQ(waitpid(child, &status, 0), child);
    return status;
}

bool g_failed = false;
void expect_end(const char *what, int status) {
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) _exit(77);
    if (status == 0) return;
    char text[200];
    const bool hangs = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;
    check_write(text, snprintf(text, sizeof text, "%s: %s\n", what, hangs ? "never ends" : "fails"));
    g_failed = true;
}

// --- Start-up ---------------------------------------------------------------------------------------------------

uint64_t now_ns() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec);
}

// Both threads allocate first, one so many nanoseconds after the other.
int status_of_two_first_allocations(uint64_t distance) {
    uint64_t when = 0;
    return status_with(
        [&] {
            when = now_ns() + 100000;
            let_the_other_come();
            while (now_ns() < when) {}
            acre_free(acre_malloc(1));
        },
        [&] {
            const uint64_t at = when + distance;
            const timespec time = {static_cast<time_t>(at / 1000000000), static_cast<long>(at % 1000000000)};
            CHECK_EQ(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr), 0);
            acre_free(acre_malloc(1));
        });
}

int g_status_of_starts = 0;

// Before acre's own constructor starts it. gcc warns of priorities up to 100; clang does not know the warning.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wprio-ctor-dtor"
#endif
__attribute__((constructor(90))) void start_in_two_threads() {
    for (uint64_t distance = 0; distance < 100000 && g_status_of_starts == 0; distance += 500) {
        g_status_of_starts = status_of_two_first_allocations(distance);
    }
}

// --- Purges -----------------------------------------------------------------------------------------------------

bool purge_while_the_other_comes(extent_hooks_t *, void *, size_t, size_t, size_t, unsigned) {
    let_the_other_come();
    return false;
}

// A page heap with dirty pages, which let the other thread come when they are purged.
acre::PageHeap &dirty_heap() {
    auto &heap = *new (acre::metadata::allocate(sizeof(acre::PageHeap))) acre::PageHeap;
    auto &source = *new (acre::metadata::allocate(sizeof(acre::Source))) acre::Source;
    auto &hooks = *new (acre::metadata::allocate(sizeof(extent_hooks_t))) extent_hooks_t(*acre::default_hooks());
    hooks.purge_forced = purge_while_the_other_comes;
    source.use_hooks(&hooks);
    heap.set_source(&source);
    heap.keep_chunks(nullptr);
    acre::Run *run = heap.allocate(100, 1);
    CHECK(run != nullptr);
    heap.free(run, true);
    return heap;
}

int status_with_purge(void (*wait)(acre::PageHeap &heap)) {
    acre::PageHeap &heap = dirty_heap();
    return status_with([&] { heap.purge_to(0); }, [&] {
        wait(heap);
        CHECK_EQ(heap.counts().dirty, 0);
    });
}

void wait_for_purge(acre::PageHeap &heap) { heap.wait_for_purge(); }
void look_for_used_runs(acre::PageHeap &heap) { CHECK(heap.used_runs() == nullptr); }
void release_chunks(acre::PageHeap &heap) { heap.release_chunks(); }

// --- Places for threads at work --------------------------------------------------------------------------------------------------

// So many threads are at work for a sampler that there is no place for another one, until one of them is done.
int status_with_threads_at_work() {
    constexpr int kPlaces = 64;
    return status_with(
        [] {
            std::atomic<int> at_work{0};
            std::vector<std::thread> others;
            sem_t done;
            CHECK_EQ(sem_init(&done, 0, 0), 0);
            const auto work = [&] {
                const acre::AtWork mine;
                at_work++;
                while (sem_wait(&done) != 0) {}
            };
            for (int i = 1; i < kPlaces; i++) others.emplace_back(work);
            while (at_work != kPlaces - 1) usleep(100);
            {
                const acre::AtWork mine;
                let_the_other_come();
            }
            for (int i = 1; i < kPlaces; i++) CHECK_EQ(sem_post(&done), 0);
            for (std::thread &other : others) other.join();
        },
        [] { const acre::AtWork mine; });
}

// --- The function for the soft limit ---------------------------------------------------------------------------------

// The one thread sets it all the time, and the other one, which interrupts it again and again, sets it too.
int status_with_callbacks() {
    std::atomic<bool> done{false};
    return status_with(
        [&] {
            let_the_other_come();
            while (!done) acre_on_soft_limit(nullptr, nullptr);
        },
        [&] {
            for (int i = 0; i < 200; i++) {
                usleep(50);
                acre_on_soft_limit(nullptr, nullptr);
            }
            done = true;
        });
}

}  // namespace

int main() {
    expect_end("a first allocation during another one", g_status_of_starts);
    expect_end("wait_for_purge", status_with_purge(wait_for_purge));
    expect_end("used_runs", status_with_purge(look_for_used_runs));
    expect_end("release_chunks", status_with_purge(release_chunks));
    expect_end("a turn", status_with_threads_at_work());
    expect_end("acre_on_soft_limit", status_with_callbacks());
    return g_failed;
}
