// acre-test: not-preload
// acre_stats_print and malloc_stats_print: all formats, from a callback that allocates, and to stderr.
#include "check.h"

#include <acre/jemalloc.h>
#include <errno.h>

static char text[8 << 20];
static size_t length;

static void collect(void *opaque, const char *part) {
    CHECK(opaque == text);
    free(malloc(strlen(part)));  // no lock is held
    CHECK(length + strlen(part) < sizeof text);
    length += strlen(strcpy(text + length, part));
}

static const char *printed(const char *format) {
    length = 0;
    CHECK_EQ(acre_stats_print(format, collect, text), 0);
    return text;
}

static size_t line_count(const char *from) {
    size_t lines = 0;
    for (; *from != '\0'; from++) lines += *from == '\n';
    return lines;
}

int main(void) {
    for (size_t i = 1; i < 1000; i++) free(must_malloc(i * 100));
    CHECK(strncmp(printed("summary"), "acre ", 5) == 0);
    const size_t summary = line_count(text);
    CHECK(strncmp(printed("text"), "acre ", 5) == 0);
    CHECK_GE(line_count(text), 5 * summary);
    CHECK(strncmp(printed("json"), "{\"acre\":{\"version\"", 18) == 0);
    CHECK(strcmp(text + length - 3, "}}\n") == 0);
    CHECK(strncmp(printed("openmetrics"), "# TYPE acre info\n", 17) == 0);
    CHECK(strcmp(text + length - 6, "# EOF\n") == 0);
    length = 0;
    CHECK_EQ(acre_stats_print("xml", collect, text), EINVAL);
    CHECK_EQ(length, 0);

    length = 0;
    malloc_stats_print(collect, text, NULL);
    const size_t whole = line_count(text);
    CHECK_GE(whole, 5 * summary);
    length = 0;
    malloc_stats_print(collect, text, "gmablxe");
    CHECK_LE(line_count(text), whole / 2);
    length = 0;
    malloc_stats_print(collect, text, "J");
    CHECK(strncmp(text, "{\"acre\":", 8) == 0);

    FILE *capture = tmpfile();
    CHECK(capture != NULL);
    const int saved = dup(STDERR_FILENO);
    CHECK_EQ(dup2(fileno(capture), STDERR_FILENO), STDERR_FILENO);
    CHECK_EQ(acre_stats_print("openmetrics", NULL, NULL), 0);
    CHECK_EQ(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    rewind(capture);
    length = fread(text, 1, sizeof text - 1, capture);
    CHECK(length > 1000 && memcmp(text + length - 6, "# EOF\n", 6) == 0);
    fclose(capture);

    struct acre_stat stat;
    unsigned count = 0;
    while (acre_stat_info(count, &stat) == 0) {
        CHECK(*stat.name != '\0' && *stat.help != '\0' && *stat.ctl_name != '\0');
        count++;
    }
    CHECK_GE(count, 100);
    return 0;
}
