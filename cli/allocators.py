"""Allocators by the names of their libraries, and by what they define."""

import os
import re

# name, pattern of the library's name, functions that only this one defines
ALLOCATORS = (
    ("jemalloc", r"libjemalloc", {"je_malloc", "je_mallocx", "_rjem_malloc", "_rjem_mallocx"}),
    ("TCMalloc", r"libtcmalloc", {"tc_malloc", "TCMallocInternalMalloc"}),
    ("mimalloc", r"libmimalloc", {"mi_malloc"}),
    ("snmalloc", r"libsnmalloc", {"sn_malloc"}),
    ("rpmalloc", r"librpmalloc", {"rpmalloc"}),
    ("Scudo", r"libscudo|clang_rt\.scudo", {"__scudo_print_stats"}),
    ("Hoard", r"libhoard", {"xxmalloc"}),
    ("TBB's allocator", r"libtbbmalloc", {"scalable_malloc"}),
    ("LTAlloc", r"libltalloc", {"ltmalloc"}),
    ("hardened_malloc", r"libhardened_malloc", set()),
    ("Electric Fence", r"libefence|libduma", set()),
    ("AddressSanitizer", r"lib(clang_rt\.)?asan", {"__asan_init"}),
    ("LeakSanitizer", r"lib(clang_rt\.)?lsan", {"__lsan_init"}),
    ("ThreadSanitizer", r"lib(clang_rt\.)?tsan", {"__tsan_init"}),
    ("MemorySanitizer", r"libclang_rt\.msan", {"__msan_init"}),
    ("Valgrind", r"vgpreload_", set()),
)


def other_allocator(path):
    """The allocator that a library of this name is; None: none that is known."""
    name = os.path.basename(path)
    return next((title for title, pattern, _ in ALLOCATORS if re.match(pattern, name)), None)


def defined_allocator(names):
    """The allocator that a file with these functions contains."""
    return next((title for title, _, known in ALLOCATORS if known & names), None)
