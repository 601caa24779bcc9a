/* MallocExtension, gperftools' C++ interface to the allocator: the same classes, for programs that are built with
 * acre's libtcmalloc, or with gperftools' own and run with acre's. docs/tcmalloc.md says what each function does here.
 *
 * All functions may be called from any thread, and none from a signal handler.
 */
#ifndef ACRE_GPERFTOOLS_MALLOC_EXTENSION_H
#define ACRE_GPERFTOOLS_MALLOC_EXTENSION_H

#include <stddef.h>
#include <stdint.h>

#include <string>
#include <vector>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL __attribute__((visibility("default")))
#endif

static const int kMallocHistogramSize = 64;

typedef std::string MallocExtensionWriter;

namespace base {
struct MallocRange;
}

/* Where an allocator gets its memory from. */
class PERFTOOLS_DLL_DECL SysAllocator {
 public:
  SysAllocator() {}
  virtual ~SysAllocator();

  /* At least `size` bytes at a multiple of `alignment`; *actual_size says how many. NULL if there are none. */
  virtual void* Alloc(size_t size, size_t* actual_size, size_t alignment) = 0;
};

/* The order of the virtual functions is part of the interface. The class itself knows no allocator: its functions
 * answer what an allocator without extensions would. instance() is a class derived from it. */
class PERFTOOLS_DLL_DECL MallocExtension {
 public:
  virtual ~MallocExtension();

  /* Does nothing; acre needs no preparation. */
  static void Initialize();

  /* Is what the allocator keeps, or the block at p, as it should be? p may be NULL. */
  virtual bool VerifyAllMemory();
  virtual bool VerifyNewMemory(const void* p);
  virtual bool VerifyArrayNewMemory(const void* p);
  virtual bool VerifyMallocMemory(const void* p);

  /* The live blocks: how many, their bytes, and in histogram[i] how many with 2^i to 2^(i+1) - 1 bytes. */
  virtual bool MallocMemoryStats(int* blocks, size_t* total, int histogram[kMallocHistogramSize]);

  /* Text for people, cut off where the buffer ends, with a 0 at its end. */
  virtual void GetStats(char* buffer, int buffer_length);

  /* Append what ReadStackTraces and ReadHeapGrowthStackTraces say, in the form that pprof reads. */
  virtual void GetHeapSample(MallocExtensionWriter* writer);
  virtual void GetHeapGrowthStacks(MallocExtensionWriter* writer);

  /* Calls func(arg, range) for each range of addresses that the allocator has. */
  typedef void(RangeFunction)(void*, const base::MallocRange*);
  virtual void Ranges(void* arg, RangeFunction func);

  /* Numbers by name, such as "generic.heap_size". False if there is none of that name, or if it cannot be set. */
  virtual bool GetNumericProperty(const char* property, size_t* value);
  virtual bool SetNumericProperty(const char* property, size_t value);

  /* The calling thread will do nothing for a while: what it keeps for itself may go to others. And it is awake. */
  virtual void MarkThreadIdle();
  virtual void MarkThreadBusy();

  /* Where memory comes from; NULL, and no effect, if that cannot be chosen. */
  virtual SysAllocator* GetSystemAllocator();
  virtual void SetSystemAllocator(SysAllocator* a);

  /* Returns unused memory to the operating system: so many bytes, or all. */
  virtual void ReleaseToSystem(size_t num_bytes);
  virtual void ReleaseFreeMemory();

  /* How fast unused memory goes back by itself: 0 never, more is faster, 1 by default. Below 0: unknown. */
  virtual void SetMemoryReleaseRate(double rate);
  virtual double GetMemoryReleaseRate();

  /* Bytes of the block that malloc(size) would return, and of the live block at p (0 for NULL). */
  virtual size_t GetEstimatedAllocatedSize(size_t size);
  virtual size_t GetAllocatedSize(const void* p);

  enum Ownership { kUnknownOwnership = 0, kOwned, kNotOwned };
  virtual Ownership GetOwnership(const void* p);

  /* The allocator in use, never NULL; and another one in its place. */
  static MallocExtension* instance();
  static void Register(MallocExtension* implementation);

  /* A list of free memory: the requests that it can serve, its bytes, and what kind of list it is. */
  struct FreeListInfo {
    size_t min_object_size;
    size_t max_object_size;
    size_t total_bytes_free;
    const char* type;
  };
  virtual void GetFreeListSizes(std::vector<FreeListInfo>* v);

  /* Where sampled blocks were allocated, and where the heap grew. An array that the caller deletes with delete[], of
   * entries one after the other: count, bytes, depth and as many return addresses; a count of 0 ends it. NULL: there
   * are none. *sample_period: bytes between two samples, 0 if none are taken. */
  virtual void** ReadStackTraces(int* sample_period);
  virtual void** ReadHeapGrowthStackTraces();

  /* Bytes that the calling thread keeps for itself. */
  virtual size_t GetThreadCacheSize();

  virtual void MarkThreadTemporarilyIdle();
};

namespace base {

struct MallocRange {
  enum Type { INUSE, FREE, UNMAPPED, UNKNOWN };

  uintptr_t address;
  size_t length;
  Type type;
  double fraction;  // of one in use: how much is in live blocks
};

}  // namespace base

#endif
