// Attributes for the compiler, and the thread-safety annotations that clang checks.
#pragma once

#include <features.h>

// The C library: glibc, or another (musl).
#ifdef __GLIBC__
#define ACRE_GLIBC 1
#else
#define ACRE_GLIBC 0
#endif

#define ACRE_LIKELY(x) __builtin_expect(!!(x), 1)
#define ACRE_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ACRE_NOINLINE __attribute__((noinline))
#define ACRE_COLD __attribute__((noinline, cold))
#define ACRE_ALWAYS_INLINE inline __attribute__((always_inline))
// Lies with the cold functions (cmake/seldom.ld), and is optimized like a hot one.
#define ACRE_APART __attribute__((noinline, section(".text.unlikely.apart")))
#define ACRE_EXPORT __attribute__((visibility("default")))
#define ACRE_CACHE_ALIGNED __attribute__((aligned(64)))
#define ACRE_HIDDEN __attribute__((visibility("hidden")))
// Exports acre_NAME, a function of this file, under its plain name, too.
#define ACRE_PLAIN_NAME(name) ACRE_EXPORT decltype(acre_##name) name __attribute__((alias("acre_" #name)))

#if defined(__clang__)
#define ACRE_ANNOTATE(x) __attribute__((x))
#else
#define ACRE_ANNOTATE(x)
#endif
#define ACRE_CAPABILITY(name) ACRE_ANNOTATE(capability(name))
#define ACRE_SCOPED_CAPABILITY ACRE_ANNOTATE(scoped_lockable)
#define ACRE_GUARDED_BY(m) ACRE_ANNOTATE(guarded_by(m))
#define ACRE_REQUIRES(...) ACRE_ANNOTATE(requires_capability(__VA_ARGS__))
#define ACRE_ACQUIRE(...) ACRE_ANNOTATE(acquire_capability(__VA_ARGS__))
#define ACRE_RELEASE(...) ACRE_ANNOTATE(release_capability(__VA_ARGS__))
#define ACRE_EXCLUDES(...) ACRE_ANNOTATE(locks_excluded(__VA_ARGS__))
#define ACRE_NO_THREAD_SAFETY_ANALYSIS ACRE_ANNOTATE(no_thread_safety_analysis)

#if defined(__SANITIZE_THREAD__)
#define ACRE_TSAN 1
#elif defined(__SANITIZE_ADDRESS__)
#define ACRE_ASAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ACRE_TSAN 1
#elif __has_feature(address_sanitizer)
#define ACRE_ASAN 1
#endif
#endif
#ifndef ACRE_TSAN
#define ACRE_TSAN 0
#endif
#ifndef ACRE_ASAN
#define ACRE_ASAN 0
#endif
#ifndef ACRE_DEBUG
#define ACRE_DEBUG 0
#endif
#ifndef ACRE_TESTING
#define ACRE_TESTING 0
#endif
#ifndef ACRE_PREFIX_ONLY
#define ACRE_PREFIX_ONLY 0
#endif
#ifndef ACRE_STATIC_ARCHIVE
#define ACRE_STATIC_ARCHIVE 0
#endif
