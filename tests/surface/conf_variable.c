// acre-test: not-preload
// acre-test: env=ACRE_CONF=arenas:2,chunk:4M
// The program's acre_conf counts, more than the environment does, and acre_option_info tells.
#include "check.h"

#include <acre/acre.h>

const char *acre_conf = "arenas:5";

static struct acre_option find(const char *name) {
    struct acre_option option;
    for (unsigned i = 0; acre_option_info(i, &option) == 0; i++) {
        if (strcmp(option.name, name) == 0) return option;
    }
    check_fail(__FILE__, __LINE__, name);
}

int main(void) {
    CHECK_EQ(find("arenas").value, 5);
    CHECK_EQ(find("arenas").default_value, 0);
    CHECK_EQ(find("arenas").most, 256);
    CHECK(strcmp(find("arenas").source, "acre_conf") == 0);
    CHECK(strcmp(find("arenas").type, "number") == 0);
    CHECK(find("arenas").choices[0] == '\0');
    CHECK_EQ(find("chunk").value, 4 * MIB);
    CHECK(strcmp(find("chunk").source, "ACRE_CONF") == 0);
    CHECK(strcmp(find("chunk").type, "bytes") == 0);
    CHECK(strcmp(find("unit_table").source, "default") == 0);
    CHECK(memcmp(find("unit_table").choices, "false\0true\0", 12) == 0);
    struct acre_option unused;
    CHECK_EQ(acre_option_info(100000, &unused), -1);
    return 0;
}
