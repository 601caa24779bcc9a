// MallocExtension for C.
#include <gperftools/malloc_extension.h>
#include <gperftools/malloc_extension_c.h>

static_assert(static_cast<int>(MallocExtension_kNotOwned) == MallocExtension::kNotOwned);
static_assert(kMallocExtensionHistogramSize == kMallocHistogramSize);

static MallocExtension& instance() { return *MallocExtension::instance(); }

extern "C" {

int MallocExtension_VerifyAllMemory() { return instance().VerifyAllMemory(); }
int MallocExtension_VerifyNewMemory(const void* p) { return instance().VerifyNewMemory(p); }
int MallocExtension_VerifyArrayNewMemory(const void* p) { return instance().VerifyArrayNewMemory(p); }
int MallocExtension_VerifyMallocMemory(const void* p) { return instance().VerifyMallocMemory(p); }
int MallocExtension_MallocMemoryStats(int* blocks, size_t* total, int histogram[kMallocExtensionHistogramSize]) {
  return instance().MallocMemoryStats(blocks, total, histogram);
}
void MallocExtension_GetStats(char* buffer, int buffer_length) { instance().GetStats(buffer, buffer_length); }
int MallocExtension_GetNumericProperty(const char* property, size_t* value) {
  return instance().GetNumericProperty(property, value);
}
int MallocExtension_SetNumericProperty(const char* property, size_t value) {
  return instance().SetNumericProperty(property, value);
}
void MallocExtension_MarkThreadIdle() { instance().MarkThreadIdle(); }
void MallocExtension_MarkThreadBusy() { instance().MarkThreadBusy(); }
void MallocExtension_ReleaseToSystem(size_t num_bytes) { instance().ReleaseToSystem(num_bytes); }
void MallocExtension_ReleaseFreeMemory() { instance().ReleaseFreeMemory(); }
size_t MallocExtension_GetEstimatedAllocatedSize(size_t size) { return instance().GetEstimatedAllocatedSize(size); }
size_t MallocExtension_GetAllocatedSize(const void* p) { return instance().GetAllocatedSize(p); }
size_t MallocExtension_GetThreadCacheSize() { return instance().GetThreadCacheSize(); }
void MallocExtension_MarkThreadTemporarilyIdle() { instance().MarkThreadTemporarilyIdle(); }
MallocExtension_Ownership MallocExtension_GetOwnership(const void* p) {
  return static_cast<MallocExtension_Ownership>(instance().GetOwnership(p));
}

}  // extern "C"
