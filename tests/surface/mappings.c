// acre-test: libs=pthread timeout=300
// acre-test: not-hardened
// Many mappings: 100 GiB of addresses in large and huge blocks that come and go, in several threads, with small blocks
// among them, take a small part of the mappings that a process may have (vm.max_map_count, 65530 by default): fewer
// than there are blocks. As a rule there are 830 to 910; beside other programs there were 1100 once.
// In the hardened mode large blocks have guards and are moved by copying: a hundred GiB take minutes.
#include "check.h"

#include <pthread.h>

enum { kThreads = 4, kSlots = 400, kSteps = 4000, kSmall = 2000, kMostMappings = kThreads * kSlots };
static const size_t kAddresses = 100 * GIB;

static size_t count_mappings(void) {
    static char part[65536];
    size_t lines = 0;
    const int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    for (ssize_t got; (got = read(fd, part, sizeof part)) > 0;) {
        for (ssize_t i = 0; i < got; i++) lines += part[i] == '\n';
    }
    close(fd);
    return lines;
}

struct Slots {
    char *block[kSlots];
    size_t size[kSlots];
    size_t total;
};

static size_t size_for(uint64_t *random, size_t mean) {
    switch (random_below(random, 4)) {
        case 0: return 64 * MIB + 1 + random_below(random, mean);  // huge
        case 1: return 65 * MIB;
        default: return mean / 2 + random_below(random, mean);
    }
}

// One in eight is touched, at both ends.
static void replace(struct Slots *slots, size_t i, size_t size, uint64_t *random) {
    free(slots->block[i]);
    slots->total -= slots->size[i];
    slots->block[i] = (char *)must_malloc(size);
    slots->size[i] = size;
    slots->total += size;
    if (random_below(random, 8) == 0) slots->block[i][0] = slots->block[i][size - 1] = 1;
}

static struct Slots all[kThreads];

static void *run(void *argument) {
    struct Slots *mine = &all[(intptr_t)argument];
    uint64_t random = (uint64_t)(intptr_t)argument + 1;
    const size_t share = kAddresses / kThreads, mean = share / kSlots;
    void *small[kSmall];
    memset(small, 0, sizeof small);
    for (size_t i = 0; i < kSlots; i++) replace(mine, i, size_for(&random, mean), &random);
    for (int step = 0; step < kSteps; step++) {
        const size_t i = random_below(&random, kSlots);
        replace(mine, i, size_for(&random, mean), &random);
        const size_t j = random_below(&random, kSmall);
        free(small[j]);
        small[j] = must_malloc(random_below(&random, 40000));
        if (step % 8 == 0) {
            const size_t more = mine->size[i] + mine->size[i] / 4;
            char *grown = (char *)hide(realloc(mine->block[i], more));
            CHECK(grown != NULL);
            mine->total += more - mine->size[i];
            mine->block[i] = grown;
            mine->size[i] = more;
        }
    }
    while (mine->total < share) {  // as much as was promised
        size_t least = 0;
        for (size_t i = 1; i < kSlots; i++) {
            if (mine->size[i] < mine->size[least]) least = i;
        }
        replace(mine, least, 2 * mine->size[least] + MIB, &random);
    }
    for (int j = 0; j < kSmall; j++) free(small[j]);
    return NULL;
}

int main(void) {
    pthread_t threads[kThreads];
    for (intptr_t i = 0; i < kThreads; i++) CHECK_EQ(pthread_create(&threads[i], NULL, run, (void *)i), 0);
    size_t most = 0;
    for (int i = 0; i < 50; i++) {
        const size_t now = count_mappings();
        if (now > most) most = now;
        usleep(20000);
    }
    size_t total = 0;
    for (int i = 0; i < kThreads; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < kThreads; i++) total += all[i].total;
    CHECK_GE(total, kAddresses);
    const size_t at_end = count_mappings();
    if (at_end > most) most = at_end;
    char text[80];
    check_write(text, snprintf(text, sizeof text, "%zu mappings at most\n", most));
    CHECK_LE(most, kMostMappings);
    for (int i = 0; i < kThreads; i++) {
        for (size_t j = 0; j < kSlots; j += 2) free(all[i].block[j]);  // holes between those that live
    }
    CHECK_LE(count_mappings(), kMostMappings);
    return 0;
}
