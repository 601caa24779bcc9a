// acre-test: libs=pthread env=ACRE_CONF=control:true env=XDG_RUNTIME_DIR=
// While the process may open no descriptor, the kernel refuses to wait for clients, and the thread of the control socket
// sleeps between two attempts. The client is answered when descriptors are allowed again.
#include "background.h"

#include <sys/socket.h>
#include <sys/un.h>

static struct sockaddr_un control_socket(void) {
    struct sockaddr_un socket = {.sun_family = AF_UNIX};
    snprintf(socket.sun_path, sizeof socket.sun_path, "/tmp/acre-%d/%d.sock", (int)geteuid(), (int)getpid());
    for (int i = 0; access(socket.sun_path, F_OK) != 0; i++) {
        CHECK(i < kPatienceSeconds * 200);
        usleep(5000);
    }
    return socket;
}

// How often the thread has gone to sleep, from its open status file.
static long long sleeps(int status) {
    char text[8192];
    const ssize_t length = pread(status, text, sizeof text - 1, 0);
    CHECK(length > 0);
    text[length] = '\0';
    const char *name = "\nvoluntary_ctxt_switches:", *line = strstr(text, name);
    CHECK(line != NULL);
    return strtoll(line + strlen(name), NULL, 10);
}

static void allow_descriptors(rlim_t most) {
    struct rlimit limit;
    CHECK_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = most;
    CHECK_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

int main(void) {
    free(must_malloc(1));  // so that the program is linked with acre
    char task[64], path[100], answer[4096];
    const struct sockaddr_un at = control_socket();
    CHECK_EQ(threads_named("acre-control", task), 1);
    snprintf(path, sizeof path, "/proc/self/task/%s/status", task);
    const int status = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(status >= 0);
    const int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(client >= 0);
    allow_descriptors(0);
    CHECK_EQ(connect(client, (const struct sockaddr *)&at, sizeof at), 0);
    CHECK_EQ(write(client, "info\n", 5), 5);
    const long long before = sleeps(status);
    for (int i = 0; sleeps(status) < before + 3; i++) {
        CHECK(i < kPatienceSeconds * 20);
        usleep(50000);
    }
    allow_descriptors(256);
    size_t length = 0;
    do {
        CHECK(length < sizeof answer);
        const ssize_t got = read(client, answer + length, sizeof answer - length);
        CHECK(got > 0);
        length += (size_t)got;
    } while (answer[length - 1] != '\0');
    CHECK(strncmp(answer, "ok\n", 3) == 0);
    return 0;
}
