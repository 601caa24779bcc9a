// MallocExtension without an allocator: what derived classes, of programs too, fall back on.
#include <gperftools/malloc_extension.h>
#include <string.h>

#include <atomic>
#include <memory>

#include "faces/tcmalloc/acre_extension.h"
#include "faces/tcmalloc/profile.h"

SysAllocator::~SysAllocator() = default;

MallocExtension::~MallocExtension() = default;

void MallocExtension::Initialize() {}

static std::atomic<MallocExtension*> registered{nullptr};

MallocExtension* MallocExtension::instance() {
  MallocExtension* extension = registered.load(std::memory_order_acquire);
  return extension != nullptr ? extension : acre_extension();
}
void MallocExtension::Register(MallocExtension* implementation) {
  registered.store(implementation, std::memory_order_release);
}

bool MallocExtension::VerifyAllMemory() { return true; }
bool MallocExtension::VerifyNewMemory(const void*) { return true; }
bool MallocExtension::VerifyArrayNewMemory(const void*) { return true; }
bool MallocExtension::VerifyMallocMemory(const void*) { return true; }

bool MallocExtension::MallocMemoryStats(int* blocks, size_t* total, int histogram[kMallocHistogramSize]) {
  *blocks = 0;
  *total = 0;
  memset(histogram, 0, sizeof histogram[0] * kMallocHistogramSize);
  return true;
}

void MallocExtension::GetStats(char* buffer, int buffer_length) {
  if (buffer_length > 0) buffer[0] = '\0';
}

void MallocExtension::GetHeapSample(MallocExtensionWriter* writer) {
  int period = 0;
  const std::unique_ptr<void*[]> entries(ReadStackTraces(&period));
  append_heap_sample(*writer, entries.get(), period);
}
void MallocExtension::GetHeapGrowthStacks(MallocExtensionWriter* writer) {
  const std::unique_ptr<void*[]> entries(ReadHeapGrowthStackTraces());
  append_heap_growth(*writer, entries.get());
}
void** MallocExtension::ReadStackTraces(int* sample_period) {
  *sample_period = 0;
  return nullptr;
}
void** MallocExtension::ReadHeapGrowthStackTraces() { return nullptr; }

void MallocExtension::Ranges(void*, RangeFunction) {}

bool MallocExtension::GetNumericProperty(const char*, size_t*) { return false; }
bool MallocExtension::SetNumericProperty(const char*, size_t) { return false; }

void MallocExtension::MarkThreadIdle() {}
void MallocExtension::MarkThreadBusy() {}
void MallocExtension::MarkThreadTemporarilyIdle() {}

SysAllocator* MallocExtension::GetSystemAllocator() { return nullptr; }
void MallocExtension::SetSystemAllocator(SysAllocator*) {}

void MallocExtension::ReleaseToSystem(size_t) {}
void MallocExtension::ReleaseFreeMemory() { ReleaseToSystem(SIZE_MAX); }
void MallocExtension::SetMemoryReleaseRate(double) {}
double MallocExtension::GetMemoryReleaseRate() { return -1; }

size_t MallocExtension::GetEstimatedAllocatedSize(size_t size) { return size; }
size_t MallocExtension::GetAllocatedSize(const void*) { return 0; }
MallocExtension::Ownership MallocExtension::GetOwnership(const void*) { return kUnknownOwnership; }
void MallocExtension::GetFreeListSizes(std::vector<FreeListInfo>* v) { v->clear(); }
size_t MallocExtension::GetThreadCacheSize() { return 0; }
