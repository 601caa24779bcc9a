// What the programs share. They are compiled without optimisation; wipe() overwrites what calls have left on the stack.
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static NOINLINE void wipe(void) {
    volatile char below[16384];
    memset((void *)below, 0, sizeof below);
}

// Runs it, and leaves no trace of its blocks in registers and below the stack pointer.
#define LOSE(call) do { call; wipe(); } while (0)

struct node {
    struct node *next;
    char more[40];
};
