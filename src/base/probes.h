// Probes for tracers (USDT): each is a no-op in the code, and a note in the file that says where the no-op is and which
// registers have the arguments. A tracer puts a breakpoint there. The format of the notes is that of SystemTap's
// sys/sdt.h, which debuggers and eBPF tools read.
//
// The arguments are in the registers of a function call: OpenTelemetry's profiler looks there and not into the notes.
#pragma once

#include <cstdint>

#include "base/compiler.h"

// The note has the addresses of the no-op and of _.stapsdt.base, one byte in a section of its own: where that section
// is elsewhere than the note says, the file was moved after linking (prelink), and the no-op with it. The 0 after the
// addresses: no semaphore.
#define ACRE_PROBE(name, arguments)                                           \
  "990: nop\n"                                                                \
  ".pushsection .note.stapsdt, \"?\", \"note\"\n"                             \
  ".balign 4\n"                                                               \
  ".4byte 992f - 991f, 994f - 993f, 3\n"                                      \
  "991: .asciz \"stapsdt\"\n"                                                 \
  "992: .balign 4\n"                                                          \
  "993: .8byte 990b, _.stapsdt.base, 0\n"                                     \
  ".asciz \"otel_memory\", \"" name "\", \"" arguments "\"\n"                 \
  "994: .balign 4\n"                                                          \
  ".popsection\n"                                                             \
  ".ifndef _.stapsdt.base\n"                                                  \
  ".pushsection .stapsdt.base, \"aG\", \"progbits\", .stapsdt.base, comdat\n" \
  ".weak _.stapsdt.base\n"                                                    \
  ".hidden _.stapsdt.base\n"                                                  \
  "_.stapsdt.base: .space 1\n"                                                \
  ".size _.stapsdt.base, 1\n"                                                 \
  ".popsection\n"                                                             \
  ".endif\n"

namespace acre::probes {

#if defined(__x86_64__)
// weight: the bytes of all blocks that this one stands for.
ACRE_ALWAYS_INLINE void alloc(const void* block, uint64_t bytes, uint64_t weight) {
  asm volatile(ACRE_PROBE("alloc", "8@%%rdi 8@%%rsi 8@%%rdx") : : "D"(block), "S"(bytes), "d"(weight));
}
ACRE_ALWAYS_INLINE void free(const void* block) { asm volatile(ACRE_PROBE("free", "8@%%rdi") : : "D"(block)); }
#elif defined(__aarch64__)
ACRE_ALWAYS_INLINE void alloc(const void* block, uint64_t bytes, uint64_t weight) {
  register const void* x0 asm("x0") = block;
  register uint64_t x1 asm("x1") = bytes;
  register uint64_t x2 asm("x2") = weight;
  asm volatile(ACRE_PROBE("alloc", "8@x0 8@x1 8@x2") : : "r"(x0), "r"(x1), "r"(x2));
}
ACRE_ALWAYS_INLINE void free(const void* block) {
  register const void* x0 asm("x0") = block;
  asm volatile(ACRE_PROBE("free", "8@x0") : : "r"(x0));
}
#elif defined(__riscv)
ACRE_ALWAYS_INLINE void alloc(const void* block, uint64_t bytes, uint64_t weight) {
  register const void* a0 asm("a0") = block;
  register uint64_t a1 asm("a1") = bytes;
  register uint64_t a2 asm("a2") = weight;
  asm volatile(ACRE_PROBE("alloc", "8@a0 8@a1 8@a2") : : "r"(a0), "r"(a1), "r"(a2));
}
ACRE_ALWAYS_INLINE void free(const void* block) {
  register const void* a0 asm("a0") = block;
  asm volatile(ACRE_PROBE("free", "8@a0") : : "r"(a0));
}
#endif

}  // namespace acre::probes

#undef ACRE_PROBE
