// Sizes and alignments that no memory has. Refused is a null pointer and errno, or bad_alloc.
#include "kinds.h"

namespace {

// 0: no error is to be set in errno.
Outcome refused(void* block, int error) {
  done();
  return block == nullptr && (error == 0 || errno == error) ? kNoEffect : kPasses;
}

constexpr size_t kMost = SIZE_MAX, kHalf = PTRDIFF_MAX;

template <size_t kSize>
Outcome of_malloc(const Case&) {
  begin();
  return refused(malloc(kSize), ENOMEM);
}

template <size_t kCount, size_t kSize>
Outcome of_calloc(const Case&) {
  begin();
  return refused(calloc(kCount, kSize), ENOMEM);
}

// The block has to stay as it is.
template <size_t kSize>
Outcome of_realloc(const Case&) {
  Byte* block = take(64);
  begin();
  void* moved = realloc(block, kSize);
  if (!is_filled(block, 64, kContent)) return kPasses;
  return refused(moved, ENOMEM);
}

template <size_t kCount, size_t kSize>
Outcome of_reallocarray(const Case&) {
  Byte* block = take(64);
  begin();
  return refused(reallocarray(block, kCount, kSize), ENOMEM);
}

template <size_t kAlignment, size_t kSize>
Outcome of_memalign(const Case&) {
  begin();
  return refused(memalign(kAlignment, kSize), 0);
}

template <size_t kAlignment, size_t kSize>
Outcome of_aligned_alloc(const Case&) {
  begin();
  return refused(aligned_alloc(kAlignment, kSize), 0);
}

// The pointer has to stay as it is.
template <size_t kAlignment, size_t kSize, int kError>
Outcome of_posix_memalign(const Case& given) {
  void* block = const_cast<char*>(given.place);
  begin();
  const int error = posix_memalign(&block, kAlignment, kSize);
  done();
  return error == kError && block == given.place ? kNoEffect : kPasses;
}

Outcome of_valloc(const Case&) {
  begin();
  return refused(valloc(kMost - 100), ENOMEM);
}

Outcome of_pvalloc(const Case&) {
  begin();
  return refused(pvalloc(kMost - 100), ENOMEM);
}

using Get = void* (*)();

template <Get kGet>
Outcome of_new(const Case&) {
  begin();
  try {
    return refused(hidden(kGet()), 0);
  } catch (const std::bad_alloc&) {
    done();
    return kNoEffect;
  }
}

void* huge_object() { return operator new(kMost); }
void* half_object() { return operator new(kHalf + size_t{1}); }
void* huge_array() { return operator new[](kMost); }
void* huge_nothrow() { return operator new(kMost, std::nothrow); }
void* huge_aligned() { return operator new(kMost - 63, std::align_val_t{64}); }
void* absurdly_aligned() { return operator new(64, std::align_val_t{size_t{1} << 62}); }
void* too_many() {
  volatile size_t count = kMost / 8;
  return new uint64_t[count + 2];
}

const Registration registration([] {
  constexpr const char* group = "sizes";
  const auto add_one = [](const char* name, const char* about, Body body) { add(name, group, about, body, kPlain); };
  add_one("malloc_ptrdiff_max", "malloc(PTRDIFF_MAX)", of_malloc<kHalf>);
  add_one("malloc_ptrdiff_max_and_1", "malloc(PTRDIFF_MAX + 1)", of_malloc<kHalf + size_t{1}>);
  add_one("malloc_size_max", "malloc(SIZE_MAX)", of_malloc<kMost>);
  add_one("malloc_size_max_less_4096", "malloc(SIZE_MAX - 4096)", of_malloc<kMost - 4096>);
  add_one("calloc_wraps_to_0", "calloc(2^32, 2^32)", of_calloc<size_t{1} << 32, size_t{1} << 32>);
  add_one("calloc_wraps_to_small", "calloc(SIZE_MAX / 8 + 2, 8)", of_calloc<kMost / 8 + 2, 8>);
  add_one("calloc_size_max", "calloc(1, SIZE_MAX)", of_calloc<1, kMost>);
  add_one("realloc_size_max", "realloc(p, SIZE_MAX)", of_realloc<kMost>);
  add_one("realloc_ptrdiff_max_and_1", "realloc(p, PTRDIFF_MAX + 1)", of_realloc<kHalf + size_t{1}>);
  add_one("reallocarray_wraps_to_0", "reallocarray(p, 2^32, 2^32)",
          of_reallocarray<size_t{1} << 32, size_t{1} << 32>);
  add_one("reallocarray_wraps_to_small", "reallocarray(p, SIZE_MAX / 8 + 2, 8)", of_reallocarray<kMost / 8 + 2, 8>);
  add_one("memalign_size_max", "memalign(64, SIZE_MAX - 63)", of_memalign<64, kMost - 63>);
  add_one("memalign_absurd", "memalign(2^62, 64)", of_memalign<size_t{1} << 62, 64>);
  add_one("memalign_3", "memalign(3, 64): rounded up or refused", [](const Case&) {
    begin();
    const auto block = reinterpret_cast<uintptr_t>(memalign(3, 64));
    done();
    return block % 4 == 0 ? kNoEffect : kPasses;
  });
  add_one("aligned_alloc_size_max", "aligned_alloc(64, SIZE_MAX - 63)", of_aligned_alloc<64, kMost - 63>);
  add_one("aligned_alloc_absurd", "aligned_alloc(2^63, 64)", of_aligned_alloc<size_t{1} << 63, 64>);
  add_one("posix_memalign_0", "posix_memalign(&p, 0, 64)", of_posix_memalign<0, 64, EINVAL>);
  add_one("posix_memalign_4", "posix_memalign(&p, 4, 64): less than a pointer", of_posix_memalign<4, 64, EINVAL>);
  add_one("posix_memalign_24", "posix_memalign(&p, 24, 64)", of_posix_memalign<24, 64, EINVAL>);
  add_one("posix_memalign_absurd", "posix_memalign(&p, 2^63, 64)", of_posix_memalign<size_t{1} << 63, 64, ENOMEM>);
  add_one("posix_memalign_size_max", "posix_memalign(&p, 64, SIZE_MAX)", of_posix_memalign<64, kMost, ENOMEM>);
  add_one("valloc_size_max", "valloc(SIZE_MAX - 100)", of_valloc);
  add_one("pvalloc_size_max", "pvalloc(SIZE_MAX - 100)", of_pvalloc);
  add_one("new_size_max", "operator new(SIZE_MAX)", of_new<huge_object>);
  add_one("new_ptrdiff_max_and_1", "operator new(PTRDIFF_MAX + 1)", of_new<half_object>);
  add_one("new_array_size_max", "operator new[](SIZE_MAX)", of_new<huge_array>);
  add_one("new_array_wraps", "new uint64_t[SIZE_MAX / 8 + 2]", of_new<too_many>);
  add_one("new_nothrow_size_max", "operator new(SIZE_MAX, nothrow)", of_new<huge_nothrow>);
  add_one("new_aligned_size_max", "operator new(SIZE_MAX - 63, 64)", of_new<huge_aligned>);
  add_one("new_aligned_absurd", "operator new(64, 2^62)", of_new<absurdly_aligned>);
});

}  // namespace
