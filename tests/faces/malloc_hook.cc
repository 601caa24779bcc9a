// MallocHook: each allocation and each free is seen while a hook is in force, and none before and after.
#include <gperftools/malloc_hook.h>
#include <pthread.h>

#include <new>

#include "../surface/check.h"

struct Seen {
    long allocated, freed;
    const void *last_allocated, *last_freed;
    size_t bytes;
};
static __thread Seen seen;  // of this thread
static __thread long second;

static void on_new(const void *block, size_t bytes) {
    seen.allocated++;
    seen.last_allocated = block;
    seen.bytes = bytes;
}
static void on_delete(const void *block) {
    seen.freed++;
    seen.last_freed = block;
}
static void on_new_too(const void *, size_t) { second++; }

static const size_t sizes[] = {1, 48, 1000, 5000, 32768, 40000, 1 << 20, 70 << 20};

static void check_all_seen() {
    for (int round = 0; round < 50; round++) {
        for (size_t size : sizes) {
            const Seen before = seen;
            void *block = must_malloc(size);
            CHECK_EQ(seen.allocated, before.allocated + 1);
            CHECK(seen.last_allocated == block && seen.bytes >= size);
            free(block);
            CHECK_EQ(seen.freed, before.freed + 1);
            CHECK(seen.last_freed == block);
        }
        const Seen before = seen;
        char *text = (char *)hide(calloc(10, 10));
        CHECK_EQ(seen.allocated, before.allocated + 1);
        text = (char *)hide(realloc(text, 3000));
        CHECK_EQ(seen.allocated, before.allocated + 2);
        CHECK_EQ(seen.freed, before.freed + 1);
        delete (int *)hide(new int);
        void *aligned = hide(aligned_alloc(4096, 8192));
        free(aligned);
        free(text);
        CHECK_EQ(seen.allocated, before.allocated + 4);
        CHECK_EQ(seen.freed, before.freed + 4);
    }
}

static void *work(void *) {
    check_all_seen();
    return nullptr;
}

static void *old_thread(void *barrier) {
    void *blocks[2000];
    for (void *&block : blocks) block = must_malloc(48);
    pthread_barrier_wait((pthread_barrier_t *)barrier);  // the hooks are added
    pthread_barrier_wait((pthread_barrier_t *)barrier);
    for (int i = 0; i < 2000; i++) free(must_malloc(100));  // it comes to the slow path
    check_all_seen();
    const long freed = seen.freed;
    for (void *block : blocks) free(block);
    CHECK_EQ(seen.freed, freed + 2000);
    pthread_barrier_wait((pthread_barrier_t *)barrier);  // they are removed
    pthread_barrier_wait((pthread_barrier_t *)barrier);
    const Seen before = seen;
    for (int i = 0; i < 2000; i++) free(must_malloc(100));
    CHECK_EQ(seen.allocated, before.allocated);
    CHECK_EQ(seen.freed, before.freed);
    return nullptr;
}

int main() {
    void *blocks[1000];
    for (int i = 0; i < 1000; i++) blocks[i] = must_malloc(i % 2 == 0 ? 48 : 50000);
    free(blocks[0]);
    CHECK_EQ(seen.allocated, 0);
    pthread_barrier_t barrier;
    CHECK_EQ(pthread_barrier_init(&barrier, nullptr, 2), 0);
    pthread_t old, thread;
    CHECK_EQ(pthread_create(&old, nullptr, old_thread, &barrier), 0);
    pthread_barrier_wait(&barrier);

    CHECK(MallocHook::AddNewHook(on_new));
    CHECK(MallocHook::AddDeleteHook(on_delete));
    pthread_barrier_wait(&barrier);
    seen = {};
    for (int i = 1; i < 1000; i++) free(blocks[i]);  // from before
    CHECK_EQ(seen.freed, 999);
    check_all_seen();
    CHECK_EQ(pthread_create(&thread, nullptr, work, nullptr), 0);
    CHECK_EQ(pthread_join(thread, nullptr), 0);

    CHECK(MallocHook_AddNewHook(on_new_too));
    free(must_malloc(10));
    CHECK_EQ(second, 1);
    CHECK(MallocHook_RemoveNewHook(on_new_too));
    CHECK(!MallocHook_RemoveNewHook(on_new_too));
    CHECK(MallocHook::SetNewHook(on_new_too) == nullptr);
    free(must_malloc(10));
    CHECK_EQ(second, 2);
    CHECK(MallocHook::SetNewHook(nullptr) == on_new_too);

    pthread_barrier_wait(&barrier);
    CHECK(MallocHook::RemoveNewHook(on_new));
    CHECK(MallocHook::RemoveDeleteHook(on_delete));
    pthread_barrier_wait(&barrier);
    seen = {};
    for (size_t size : sizes) free(must_malloc(size));
    CHECK_EQ(seen.allocated, 0);
    CHECK_EQ(seen.freed, 0);
    CHECK_EQ(pthread_join(old, nullptr), 0);

    void *frames[10];
    CHECK(MallocHook::GetCallerStackTrace(frames, 10, 0) > 0);
    return 0;
}
