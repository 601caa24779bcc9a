// expect: acre: free\(0x[0-9a-f]+\): foreign pointer
// A string that getenv gave.
#include "misuse.h"

int main(void) {
    CHECK_EQ(setenv("PATH", "/bin", 0), 0);
    extern char **environ;
    free(hide(environ[0]));
    return survived();
}
