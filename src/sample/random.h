// Random draws, and two functions of mathematics that sampling needs. acre does without libm, another library.
#pragma once

#include <cstdint>

namespace acre::random {

// 64 random bits (splitmix64). Any thread, no lock.
uint64_t next();

// Makes the sequence repeatable, for tests. 0: a different sequence in each process.
void seed(uint64_t seed);

// An exponentially distributed number with mean 1.
double exponential();

// Natural logarithm of x > 0, to about 1e-15.
double logarithm(double x);

// 1 - exp(-x) for x >= 0, to about 1e-15 of its value.
double one_minus_exp(double x);

}  // namespace acre::random
