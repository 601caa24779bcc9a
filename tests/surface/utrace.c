// acre-test: libs=pthread
// The option utrace: every allocation and every free is a line, and the lines balance; over fork, with closed and
// foreign descriptors, and where the file cannot grow.
#include "again.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>

#define THREADS 4
#define KEPT 200

static struct {
    void *kept[THREADS][KEPT];
    size_t size[THREADS][KEPT];
    void *handed[THREADS][KEPT];  // freed by threads that do nothing else
    void *moved, *grown, *huge;
    pid_t child;
} *told;  // shared with the traced program

// --- The traced program ---------------------------------------------------------------------------------------

static void *work(void *number) {
    const size_t me = (size_t)number;
    uint64_t random = me + 1;
    for (size_t i = 0; i < KEPT; i++) {
        for (int j = 0; j < 5; j++) free(must_malloc(random_below(&random, 3000)));
        const size_t first = 1 + random_below(&random, 100);
        const size_t then = 1 + random_below(&random, i % 50 == 0 ? 200000 : 2000);
        void *block = hide(must_malloc(first));
        const uintptr_t before = (uintptr_t)block;
        told->kept[me][i] = hide(realloc(block, then));
        told->size[me][i] = (uintptr_t)told->kept[me][i] == before ? first : then;  // no line where nothing changes
        told->handed[me][i] = must_malloc(100 + i);
    }
    return NULL;
}

// Frees what another thread has allocated, and does nothing else.
static void *free_handed(void *number) {
    for (size_t i = 0; i < KEPT; i++) free(told->handed[(size_t)number][i]);
    return NULL;
}

static void in_threads(void *(*body)(void *)) {
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&threads[i], NULL, body, (void *)i), 0);
    for (size_t i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

static void allocate_much(void) {
    for (int i = 0; i < 5000; i++) free(must_malloc(12345));
}

static int traced(const char *what) {
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, 9, 0);
    CHECK(told != MAP_FAILED);
    if (strcmp(what, "threads") == 0) {
        in_threads(work);
        in_threads(free_handed);
        void *aligned = NULL;
        CHECK_EQ(posix_memalign(&aligned, 4096, 100), 0);
        free(aligned);
        free(hide(calloc(3, 16)));
        told->moved = hide(realloc(must_malloc(5 << 20), 20 << 20));  // would move pages
        told->grown = hide(realloc(hide(calloc(1, 100000)), 110000));
        told->huge = must_malloc(100 << 20);
        free(must_malloc(70 << 20));
    } else if (strcmp(what, "fork") == 0) {
        void *before = must_malloc(777);
        const pid_t child = fork();
        if (child == 0) {
            free(before);
            told->grown = must_malloc(4321);
            in_threads(work);
            exit(0);
        }
        check_child(child, 0);
        told->child = child;
        told->moved = before;
    } else if (strcmp(what, "exec") == 0) {
        start_again("/proc/self/exe", "after exec", NULL);
    } else if (strcmp(what, "after exec") == 0) {
        free(must_malloc(4321));
    } else if (strcmp(what, "closed") == 0) {
        const int foreign = open(getenv("FOREIGN"), O_CREAT | O_RDWR, 0600);
        for (int fd = 3; fd < 256; fd++) CHECK(fd == foreign || dup2(foreign, fd) == fd);
        allocate_much();
    } else {
        signal(SIGXFSZ, SIG_IGN);
        allocate_much();
    }
    return 0;
}

// --- What it wrote --------------------------------------------------------------------------------------------

#define PLACES (1 << 16)
static struct {
    uint64_t address;  // 0: none
    size_t size;
    int is_live;
} *blocks;
static char *text;
static size_t lines;
static char folder[64], program[4096];

static size_t place_of(uint64_t address) {
    size_t at = (address >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 48;
    while (blocks[at].address != 0 && blocks[at].address != address) at = (at + 1) % PLACES;
    blocks[at].address = address;
    return at;
}
static void begins(uint64_t address, size_t size, const char *line) {
    const size_t at = place_of(address);
    CHECK_AT(!blocks[at].is_live, line - text);
    blocks[at].is_live = 1;
    blocks[at].size = size;
}
// A child's file does not say what was there before the fork.
static void ends(uint64_t address, const char *line, int is_childs) {
    const size_t at = place_of(address);
    CHECK_AT(blocks[at].is_live || is_childs, line - text);
    blocks[at].is_live = 0;
}

// Every line is one of two kinds, in an order in which no block begins that lives or ends that does not.
static void read_trace(const char *path, int is_childs) {
    memset(blocks, 0, PLACES * sizeof *blocks);
    const size_t length = read_file(path, text, 64 * MIB);
    CHECK(length > 0 && text[length - 1] == '\n');
    lines = 0;
    for (const char *line = text, *end; line < text + length; line = end + 1, lines++) {
        uint64_t block, seconds;
        size_t size;
        long nanoseconds, thread;
        int read = 0, head = 0;
        end = strchr(line, '\n');
        CHECK_AT(sscanf(line, "%" SCNu64 ".%9ld %ld %n", &seconds, &nanoseconds, &thread, &head) == 3, line - text);
        CHECK(seconds > 1500000000 && thread > 0);
        if (sscanf(line + head, "malloc(%zu) = 0x%" SCNx64 "%n", &size, &block, &read) == 2) {
            begins(block, size, line);
        } else {
            CHECK_AT(sscanf(line + head, "free(0x%" SCNx64 ")%n", &block, &read) == 1, line - text);
            ends(block, line, is_childs);
        }
        CHECK_AT(line + head + read == end, line - text);
    }
}
static int lives(const void *block, size_t size) {
    const size_t at = place_of((uint64_t)(uintptr_t)block);
    return blocks[at].is_live && blocks[at].size == size;
}
static int is_known(const void *block) { return blocks[place_of((uint64_t)(uintptr_t)block)].is_live; }

// --- Running it -----------------------------------------------------------------------------------------------

static char said[4096];  // on its stderr

static pid_t run(const char *what, const char *conf, size_t most_of_file) {
    char path[128];
    snprintf(path, sizeof path, "%s/said", folder);
    const int to = open(path, O_CREAT | O_TRUNC | O_RDWR, 0600);
    const pid_t pid = fork();
    if (pid == 0) {
        CHECK_EQ(dup2(to, STDERR_FILENO), STDERR_FILENO);
        CHECK_EQ(setenv("ACRE_CONF", conf, 1), 0);
        if (most_of_file != 0) {
            const struct rlimit limit = {most_of_file, most_of_file};
            CHECK_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
            signal(SIGXFSZ, SIG_IGN);
        }
        start_again(program, what, NULL);
        _exit(99);
    }
    close(to);
    int status = 0;
    CHECK_EQ(waitpid(pid, &status, 0), pid);
    said[read_file(path, said, sizeof said)] = '\0';
    if (status != 0) check_write(said, (int)strlen(said));
    CHECK_EQ(status, 0);
    return pid;
}

static int is_silent(void) {
    check_write(said, (int)strlen(said));
    return said[0] == '\0';
}

static int is_one_line(const char *with) {
    const char *end = strchr(said, '\n');
    return strstr(said, with) != NULL && end != NULL && end[1] == '\0';
}

static const char *path_in(const char *name) {
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}
static const char *path_of_process(pid_t pid) {
    char name[32];
    snprintf(name, sizeof name, "t.%d", (int)pid);
    return path_in(name);
}

// While blocks are filled, a realloc is an allocation and a free, or nothing.
static void check_threads(const char *more) {
    const int is_filled = strstr(more, "junk") != NULL;
    char conf[256];
    snprintf(conf, sizeof conf, "utrace:%s/t.%%p%s", folder, more);
    memset(told, 0, sizeof *told);
    const pid_t pid = run("threads", conf, 0);
    CHECK(is_silent());
    read_trace(path_of_process(pid), 0);
    CHECK_GE(lines, THREADS * KEPT * 14);  // five pairs, malloc and realloc, malloc and free
    for (int thread = 0; thread < THREADS; thread++) {
        for (int i = 0; i < KEPT; i++) {
            const void *block = told->kept[thread][i];
            CHECK_AT(!lives(told->handed[thread][i], 100 + i), i);
            CHECK_AT(is_filled ? is_known(block) : lives(block, told->size[thread][i]), i);
        }
    }
    CHECK(lives(told->moved, 20 << 20) && lives(told->huge, 100 << 20));
    CHECK(is_filled ? is_known(told->grown) : lives(told->grown, 110000));
    size_t large = 0;
    for (size_t at = 0; at < PLACES; at++) large += blocks[at].is_live && blocks[at].size >= 300000;
    CHECK_EQ(large, 2);
    CHECK(strstr(text, " malloc(48) = 0x") != NULL);
    CHECK(is_filled || strstr(text, " malloc(110000) = 0x") != NULL);
    CHECK_EQ(unlink(path_of_process(pid)), 0);
}

static void check_fork(const char *conf) {
    char name[256], again[256];
    pid_t pid = run("fork", conf, 0);
    CHECK(is_silent());
    read_trace(path_of_process(pid), 0);
    CHECK(lives(told->moved, 777));
    CHECK(strstr(text, "malloc(4321)") == NULL);  // the child's
    read_trace(path_of_process(told->child), 1);
    CHECK(lives(told->grown, 4321));
    CHECK_GE(lines, THREADS * KEPT * 13);
    CHECK(strstr(text, "malloc(777)") == NULL);  // the parent's
    unlink(path_of_process(pid));
    unlink(path_of_process(told->child));

    pid = run("exec", conf, 0);
    CHECK(is_silent());
    snprintf(again, sizeof again, "%s.1", path_of_process(pid));
    read_trace(again, 0);
    CHECK(strstr(text, "malloc(4321)") != NULL);
    unlink(path_of_process(pid));
    unlink(again);

    snprintf(name, sizeof name, "utrace:%s/one", folder);
    run("fork", name, 0);
    CHECK(is_silent());
    read_trace(path_in("one"), 0);
    CHECK(strstr(text, "malloc(4321)") == NULL);
    run("fork", name, 0);
    CHECK(is_one_line("is there already"));
    const size_t before = lines;
    read_trace(path_in("one"), 0);
    CHECK_EQ(lines, before);
}

int main(int count, char **arguments) {
    if (count > 1) return traced(arguments[1]);
    const int shared = memfd_create("told", 0);
    CHECK(shared >= 0 && ftruncate(shared, sizeof *told) == 0);
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED, shared, 0);
    CHECK_EQ(dup2(shared, 9), 9);
    blocks = map_pages(PLACES * sizeof *blocks);
    text = map_pages(64 * MIB);
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    CHECK(length > 0);
    strcpy(folder, "/tmp/acre-utrace-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);

    check_threads("");
    check_threads(",junk:true");
    check_threads(",prof:true,prof_sample:1000,prof_final:false");
    check_threads(",arenas:1,thread_cache_max:0");
    char conf[256];
    snprintf(conf, sizeof conf, "utrace:%s/t.%%p", folder);
    check_fork(conf);

    snprintf(conf, sizeof conf, "utrace:%s/closed", folder);
    setenv("FOREIGN", path_in("foreign"), 1);
    run("closed", conf, 0);
    CHECK(is_one_line("the program has closed"));
    struct stat file;
    CHECK(stat(path_in("foreign"), &file) == 0 && file.st_size == 0);

    snprintf(conf, sizeof conf, "utrace:%s/full", folder);
    run("full", conf, 100000);
    CHECK(is_one_line("could not be written (error 27)"));
    CHECK(stat(path_in("full"), &file) == 0 && file.st_size == 100000);
    snprintf(conf, sizeof conf, "utrace:%s/none/here", folder);
    run("full", conf, 0);
    CHECK(is_one_line("cannot be made"));

    for (const char *names = "one\0closed\0foreign\0full\0said\0"; *names != '\0'; names += strlen(names) + 1) {
        CHECK_EQ(unlink(path_in(names)), 0);
    }
    CHECK_EQ(rmdir(folder), 0);
    return 0;
}
