// Holds memory that one function has allocated, and waits. usage: holds MEBIBYTES
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *held[1 << 20];

__attribute__((noinline)) void hold(int i) {
    char *volatile block = malloc(1000);
    block[0] = 1;
    held[i] = block;
}

int main(int argc, char **argv) {
    for (int i = 0; i < atoi(argv[1]) * 1024; i++) hold(i);
    printf("ready\n");
    fflush(stdout);
    for (;;) pause();
    return argc;
}
