// soak SECONDS FOLDER [leak|damage]: mixed load in threads, with other threads that come and go, purge, read figures,
// write profiles and fork, all at once. Every block has a sum over its contents, which is looked at before it is
// resized or freed, in whatever thread. The bytes in use are kept about the same, so what is resident has to stay as
// it was in the first tenth of the time, to 5 %; in less than a minute it does not settle, and a quarter is allowed.
// Progress on stderr; one line of JSON on stdout; ends with 0 if all held.
//
// leak, damage: faults that it has to find.
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "../faults/programs/load.h"

enum { kWorkers = 4, kPlaces = 16000, kShared = 1024, kTenths = 10 };
static const size_t kBytesOfWorker = 16 << 20;

int mallctl(const char *, void *, size_t *, void *, size_t) __attribute__((weak));
void malloc_stats_print(void (*)(void *, const char *), void *, const char *) __attribute__((weak));

struct block {
    size_t words;
    uint64_t sum;
    uint64_t content[];
};

static _Atomic(struct block *) shared[kShared];
static atomic_size_t operations, checked, live_bytes;
static atomic_size_t threads_ended, purges, reads, profiles, forks;
static atomic_int done;
static int leaks, damages;
static const char *folder;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void nap(unsigned ms) { usleep(ms * 1000); }

static size_t step_of(size_t i) { return i < 4096 || i % 512 < 4 ? 1 : 512 - i % 512; }

// All words of a block up to 32 KiB, and of larger ones four in each page.
static uint64_t sum_of(const struct block *block) {
    uint64_t sum = block->words;
    for (size_t i = 0; i < block->words; i += step_of(i)) {
        sum = (sum ^ block->content[i]) * 0x100000001b3;
    }
    return sum;
}

static void check(const struct block *block) {
    CHECK(block->sum == sum_of(block));
    atomic_fetch_add_explicit(&checked, 1, memory_order_relaxed);
}

static size_t size_of(uint64_t random) {
    if (random % 4096 == 0) return random / 4096 % (2 << 20);
    if (random % 64 == 0) return random / 64 % (100 << 10);
    if (random % 8 == 0) return random / 8 % 6000;
    return random / 8 % 500;
}

static size_t bytes_of(const struct block *block) { return sizeof *block + block->words * 8; }

static struct block *give(struct block *block, uint64_t random) {
    const size_t words = size_of(random >> 4) / 8;
    if (block != NULL) {
        check(block);
        atomic_fetch_sub(&live_bytes, bytes_of(block));
    }
    struct block *made = (struct block *)(block == NULL && random % 4 == 0
                                              ? aligned_alloc(64, (sizeof *made + words * 8 + 63) & ~(size_t)63)
                                              : realloc(block, sizeof *made + words * 8));
    CHECK(made != NULL);
    made->words = words;
    uint64_t word = random;
    for (size_t i = 0; i < words; i += step_of(i)) made->content[i] = word += 0x9e3779b9;
    made->sum = sum_of(made);
    atomic_fetch_add(&live_bytes, bytes_of(made));
    return made;
}

static void take(struct block *block) {
    if (block == NULL) return;
    check(block);
    atomic_fetch_sub(&live_bytes, bytes_of(block));
    free(block);
}

static void step(struct block **places, size_t count, size_t most, size_t *bytes, uint64_t *random) {
    const uint64_t r = load_random(random);
    struct block **place = &places[(r >> 32) % count];
    if (*place != NULL) *bytes -= bytes_of(*place);
    if (*bytes > most || r % 8 == 0) {
        take(*place);
        *place = NULL;
    } else if (r % 16 == 1) {  // to another thread
        take(atomic_exchange(&shared[(r >> 8) % kShared], *place));
        *place = NULL;
    } else {
        *place = give(*place, r);
        *bytes += bytes_of(*place);
    }
    atomic_fetch_add_explicit(&operations, 1, memory_order_relaxed);
}

static void *work(void *seed) {
    struct block **places = calloc(kPlaces, sizeof *places);
    uint64_t random = (uint64_t)(uintptr_t)seed;
    size_t bytes = 0;
    for (unsigned i = 0; atomic_load(&done) == 0; ++i) {
        step(places, kPlaces, kBytesOfWorker, &bytes, &random);
        if (leaks && i % 16 == 0) memset(malloc(8000), 1, 8000);
        struct block *some = places[i % kPlaces];
        if (damages && i % 5000 == 4999 && some != NULL && some->words != 0) some->content[0] ^= 1;
    }
    for (int i = 0; i < kPlaces; ++i) take(places[i]);
    free(places);
    return NULL;
}

static void *work_shortly(void *seed) {
    struct block *places[50] = {0};
    uint64_t random = (uint64_t)(uintptr_t)seed * 2 + 1;
    size_t bytes = 0;
    for (int i = 0; i < 300; ++i) step(places, 50, 100 << 10, &bytes, &random);
    for (int i = 0; i < 50; ++i) take(places[i]);
    return NULL;
}

static void *make_threads(void *unused) {
    for (uintptr_t i = 0; atomic_load(&done) == 0; i += 4) {
        pthread_t threads[4];
        for (uintptr_t k = 0; k < 4; ++k) CHECK(pthread_create(&threads[k], NULL, work_shortly, (void *)(i + k)) == 0);
        for (int k = 0; k < 4; ++k) pthread_join(threads[k], NULL);
        atomic_fetch_add(&threads_ended, 4);
        nap(5);
    }
    return unused;
}

static void *purge(void *unused) {
    while (atomic_load(&done) == 0) {
        CHECK(mallctl("arena.4096.purge", NULL, NULL, NULL, 0) == 0);
        nap(50);
        malloc_trim(0);
        CHECK(mallctl("arena.4096.decay", NULL, NULL, NULL, 0) == 0);
        nap(50);
        atomic_fetch_add(&purges, 1);
    }
    return unused;
}

static void count_text(void *bytes, const char *text) { *(size_t *)bytes += strlen(text); }

static void *read_figures(void *unused) {
    while (atomic_load(&done) == 0) {
        static const char *const kNames[] = {"stats.allocated", "stats.active", "stats.resident", "stats.mapped"};
        uint64_t epoch = 1;
        size_t size, figures[4];
        CHECK(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch) == 0);
        for (int i = 0; i < 4; ++i) {
            size = sizeof figures[i];
            CHECK(mallctl(kNames[i], &figures[i], &size, NULL, 0) == 0);
            CHECK(i == 0 || figures[i - 1] <= figures[i]);
        }
        size = 0;
        malloc_stats_print(count_text, &size, "J");
        CHECK(size > 1000);
        CHECK(mallinfo2().uordblks != 0);
        atomic_fetch_add(&reads, 1);
        nap(40);
    }
    return unused;
}

static void *write_profiles(void *unused) {
    char path[500];
    snprintf(path, sizeof path, "%s/soak.pb.gz", folder);
    const char *name = path;
    while (atomic_load(&done) == 0) {
        CHECK(mallctl("prof.dump", NULL, NULL, &name, sizeof name) == 0);
        atomic_fetch_add(&profiles, 1);
        nap(150);
    }
    CHECK(unlink(path) == 0);
    return unused;
}

static void *make_children(void *unused) {
    while (atomic_load(&done) == 0) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(60);
            work_shortly((void *)(uintptr_t)getpid());
            for (int i = 0; i < kShared; ++i) take(atomic_exchange(&shared[i], NULL));
            _exit(3);
        }
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 3);
        atomic_fetch_add(&forks, 1);
        nap(100);
    }
    return unused;
}

// The bytes in use grow at first. Time begins when they are nearly as many as they will be.
static void wait_for_load(void) {
    for (int i = 0; i < 6000 && atomic_load(&live_bytes) < kWorkers * kBytesOfWorker / 8 * 7; ++i) nap(10);
}

// The mean of what was resident in each tenth.
static void watch(double seconds, double *resident, double *live) {
    const double start = now();
    unsigned samples[kTenths] = {0};
    double said = start;
    for (double at; (at = now() - start) < seconds;) {
        const int tenth = (int)(at * kTenths / seconds);
        resident[tenth] += (double)load_resident();
        live[tenth] += (double)atomic_load(&live_bytes);
        ++samples[tenth];
        if (now() - said > (seconds > 100 ? 30 : 5)) {
            said = now();
            fprintf(stderr, "%3.0f s of %.0f: %zu operations, %zu MiB in use, %zu MiB resident, %zu forks\n", at,
                    seconds, atomic_load(&operations), atomic_load(&live_bytes) >> 20, load_resident() >> 20,
                    atomic_load(&forks));
        }
        nap(20);
    }
    for (int i = 0; i < kTenths; ++i) {
        resident[i] /= samples[i] == 0 ? 1 : samples[i];
        live[i] /= samples[i] == 0 ? 1 : samples[i];
    }
}

int main(int count, char **words) {
    CHECK(count >= 3 && mallctl != NULL && malloc_stats_print != NULL);
    const double seconds = atof(words[1]);
    folder = words[2];
    leaks = count > 3 && strcmp(words[3], "leak") == 0;
    damages = count > 3 && strcmp(words[3], "damage") == 0;
    void *(*const kBodies[])(void *) = {make_threads, purge, read_figures, write_profiles, make_children};
    enum { kBodyCount = sizeof kBodies / sizeof kBodies[0] };
    pthread_t threads[kWorkers + kBodyCount];
    for (uintptr_t i = 0; i < kWorkers + kBodyCount; ++i) {
        void *(*body)(void *) = i < kWorkers ? work : kBodies[i - kWorkers];
        CHECK(pthread_create(&threads[i], NULL, body, (void *)(i + 1)) == 0);
    }
    double resident[kTenths] = {0}, live[kTenths] = {0};
    wait_for_load();
    watch(seconds, resident, live);
    atomic_store(&done, 1);
    for (int i = 0; i < kWorkers + kBodyCount; ++i) pthread_join(threads[i], NULL);
    for (int i = 0; i < kShared; ++i) take(atomic_exchange(&shared[i], NULL));
    CHECK(atomic_load(&live_bytes) == 0);
    double most = 0, least = 1e18;
    for (int i = 1; i < kTenths; ++i) {
        if (resident[i] > most) most = resident[i];
        if (resident[i] < least) least = resident[i];
    }
    const double growth = most / resident[0] - 1, shrinking = 1 - least / resident[0];
    const int holds = growth < (seconds < 60 ? 0.25 : 0.05);
    printf("{\"seconds\": %.0f, \"operations\": %zu, \"checked\": %zu, \"threads\": %zu, \"purges\": %zu, "
           "\"reads\": %zu, \"profiles\": %zu, \"forks\": %zu, \"live_mib\": %.1f, \"resident_mib\": [",
           seconds, atomic_load(&operations),
           atomic_load(&checked), atomic_load(&threads_ended), atomic_load(&purges), atomic_load(&reads),
           atomic_load(&profiles), atomic_load(&forks), live[kTenths - 1] / (1 << 20));
    for (int i = 0; i < kTenths; ++i) printf("%s%.1f", i == 0 ? "" : ", ", resident[i] / (1 << 20));
    printf("], \"growth\": %.4f, \"shrinking\": %.4f, \"holds\": %s}\n", growth, shrinking, holds ? "true" : "false");
    return holds ? 0 : 1;
}
