// acre-test: not-preload
// Accounting by tag: the functions of acre/tags.h, in one thread and in several.
#include "check.h"

#include <acre/acre.h>
#include <acre/tags.h>
#include <pthread.h>

static struct acre_tag_info info_of(const acre_tag_t *tag) {
    struct acre_tag_info info;
    CHECK_EQ(acre_tag_get(tag, &info), 0);
    return info;
}

// What the C library allocates for the program counts, too.
static void check_library_calls(acre_tag_t *tag) {
    CHECK_EQ(acre_tag_enter(tag), 0);
    char *copy = (char *)hide(strdup("a text"));
    char *line = NULL;
    CHECK(asprintf(&line, "%d of %s", 7, "many") > 0);
    CHECK_EQ(acre_tag_pop(), 0);
    CHECK(acre_tag_of(copy) == tag && acre_tag_of(line) == tag);
    CHECK_EQ(info_of(tag).live, acre_malloc_usable_size(copy) + acre_malloc_usable_size(line));
    free(copy);
    free(line);
    CHECK_EQ(info_of(tag).live, 0);
}

static void *last_words;
static pthread_key_t key;

static void in_destructor(void *argument) {
    (void)argument;
    // Before or after acre's own destructor: either it counts or it does not, and a pop matches a push.
    const int error = acre_tag_push("late");
    CHECK(error == 0 || error == ENOTSUP);
    last_words = hide(malloc(100));
    CHECK_EQ(acre_tag_pop(), error == 0 ? 0 : EINVAL);
}

static void *use(void *tag) {
    CHECK_EQ(pthread_setspecific(key, tag), 0);
    CHECK_EQ(acre_tag_enter((acre_tag_t *)tag), 0);
    void *block = hide(malloc(1000));
    CHECK(acre_tag_of(block) == tag);
    return block;  // with the tag still in force
}

int main(void) {
    acre_tag_t *tag = acre_tag("main");
    CHECK(tag != NULL);
    CHECK(acre_tag_next(NULL) == tag && acre_tag_next(tag) == NULL);
    check_library_calls(tag);

    CHECK_EQ(pthread_key_create(&key, in_destructor), 0);
    void *blocks[4];
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, use, tag), 0);
        CHECK_EQ(pthread_join(thread, &blocks[i]), 0);
        free(last_words);
    }
    CHECK_GE(info_of(tag).live, 4000);
    for (int i = 0; i < 4; i++) free(blocks[i]);
    CHECK_EQ(info_of(tag).live, 0);

    // A child goes on with what it has got.
    CHECK_EQ(acre_tag_push("main"), 0);
    void *block = must_malloc(100);
    const pid_t child = fork();
    if (child == 0) {
        CHECK(acre_tag_in_force() == tag && acre_tag_of(block) == tag);
        free(block);
        CHECK_EQ(info_of(tag).live, 0);
        _exit(0);
    }
    check_child(child, 0);
    CHECK(info_of(tag).live != 0);
    free(block);
    CHECK_EQ(acre_tag_pop(), 0);

    // At the limit malloc fails, and the program goes on.
    acre_tag_limit(tag, MIB);
    CHECK_EQ(acre_tag_enter(tag), 0);
    size_t had = 0;
    static void *many[20000];
    while ((many[had] = hide(malloc(100))) != NULL) had++;
    CHECK_EQ(errno, ENOMEM);
    CHECK_EQ(had, MIB / 112);
    CHECK_EQ(info_of(tag).refused, 1);
    while (had != 0) free(many[--had]);
    free(must_malloc(100000));
    CHECK_EQ(acre_tag_pop(), 0);
    CHECK_EQ(acre_tag_pop(), EINVAL);
    acre_tag_drop(tag);
    return 0;
}
