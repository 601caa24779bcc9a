// Random draws and the two functions of mathematics that sampling needs, since libm is another library.
#pragma once

#include <cstdint>

namespace acre::random {

// 64 random bits (splitmix64). Any thread, no lock.
uint64_t next();

// The same numbers from now on, for tests; 0: others in each process.
void seed(uint64_t seed);

// An exponentially distributed number with mean 1.
double exponential();

// Natural logarithm of x > 0, to about 1e-15.
double logarithm(double x);

// 1 - exp(-x) for x >= 0, to about 1e-15 of its value.
double one_minus_exp(double x);

}  // namespace acre::random
