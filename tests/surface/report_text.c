// malloc_stats writes to stderr; malloc_info writes XML whose elements are balanced.
#include "check.h"

#include <malloc.h>

static char text[1 << 20];

// Balanced tags, quotes closed, nothing but spaces outside the root: enough of XML for one report.
static void check_xml(const char *xml) {
    static char open_tags[64][64];
    int depth = 0;
    const char *at = xml;
    int elements = 0;
    for (;;) {
        const char *tag = strchr(at, '<');
        if (tag == NULL) break;
        const char *end = strchr(tag, '>');
        CHECK(end != NULL);
        CHECK(memchr(tag + 1, '<', (size_t)(end - tag - 1)) == NULL);
        int quotes = 0;
        for (const char *c = tag; c < end; c++) quotes += *c == '"';
        CHECK_EQ(quotes % 2, 0);
        const int closes = tag[1] == '/';
        const char *name = tag + 1 + closes;
        const size_t length = strcspn(name, " \t\r\n/>");
        CHECK(length > 0 && length < 64);
        if (closes) {
            CHECK(depth > 0);
            depth--;
            CHECK(strncmp(open_tags[depth], name, length) == 0 && open_tags[depth][length] == '\0');
        } else if (end[-1] != '/' && tag[1] != '?' && tag[1] != '!') {
            CHECK(depth < 64);
            CHECK(depth > 0 || elements == 0);
            memcpy(open_tags[depth], name, length);
            open_tags[depth++][length] = '\0';
        }
        elements++;
        at = end + 1;
    }
    CHECK_EQ(depth, 0);
    CHECK(elements >= 2);
}

int main(void) {
    void *blocks[100];
    for (size_t i = 0; i < 100; i++) blocks[i] = must_malloc(i * i * 40 + 1);

    FILE *file = tmpfile();
    CHECK(file != NULL);
    CHECK_EQ(malloc_info(0, file), 0);
    CHECK_EQ(fflush(file), 0);
    rewind(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    char *start = text;
    if (strncmp(start, "<?xml", 5) == 0) start = strchr(start, '\n') + 1;
    CHECK(strncmp(start, "<malloc", 7) == 0);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' ')) length--;
    CHECK(length > 9 && strncmp(text + length - 9, "</malloc>", 9) == 0);
    check_xml(start);

    // Options other than 0 are refused, and nothing is written.
    FILE *unused = tmpfile();
    CHECK(unused != NULL);
    CHECK_NE(malloc_info(1, unused), 0);
    CHECK_EQ(ftell(unused), 0);
    fclose(unused);

    // malloc_stats goes to descriptor 2 or to stdio's stderr: catch both.
    FILE *capture = tmpfile();
    CHECK(capture != NULL);
    fflush(stderr);
    const int saved = dup(STDERR_FILENO);
    CHECK(saved >= 0);
    CHECK_EQ(dup2(fileno(capture), STDERR_FILENO), STDERR_FILENO);
    malloc_stats();
    fflush(stderr);
    CHECK_EQ(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    rewind(capture);
    length = fread(text, 1, sizeof text - 1, capture);
    fclose(capture);
    text[length] = '\0';
    CHECK(length > 20);
    CHECK(strpbrk(text, "0123456789") != NULL);
    CHECK_EQ(text[length - 1], '\n');

    for (int i = 0; i < 100; i++) free(blocks[i]);
    return 0;
}
