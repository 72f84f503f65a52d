// SPDX-License-Identifier: Apache-2.0
// Memory of other libraries, by file descriptor: HIP's. CUDA Driver API: "External Resource
// Interoperability". Semaphores and images are not there.
#include "runtime/cuda/HandleTable.h"
#include "runtime/cuda/Memory.h"

namespace rubia::runtime {
int hipImportExternalMemory(void **memory, const void *handle);
int hipExternalMemoryGetMappedBuffer(void **pointer, void *memory, const void *buffer);
int hipDestroyExternalMemory(void *memory);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

struct ExternalMemory {
  void *hip;
  Context *context;
  uint64_t bytes;
};

static HandleTable<ExternalMemory> &memories = HandleTable<ExternalMemory>::leaked();

constexpr int kDescriptor = 1; // CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD
constexpr unsigned kDedicated = 1;
// Of Direct3D, which are always dedicated: CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_RESOURCE and the
// two of version 11.
static bool isResource(int type) { return type >= 5 && type <= 7; }

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

// The descriptor is the driver's from then on.
Result cuImportExternalMemory(ExternalMemory **out, const ExternalMemoryHandle *wanted) {
  return callIn(RUBIA_CALL(out, wanted), [&](Context &context) -> Result {
    constexpr int kLastType = 9;
    if (!out || !wanted || wanted->type < kDescriptor || wanted->type > kLastType ||
        !wanted->size || (wanted->flags & ~kDedicated) ||
        (isResource(wanted->type) && !wanted->flags))
      return kInvalidValue;
    if (wanted->type != kDescriptor)
      return fail(kNotSupported, "cuImportExternalMemory: memory that no file descriptor names");
    if (!hip().has<hipImportExternalMemory>() || !hip().has<hipExternalMemoryGetMappedBuffer>() ||
        !hip().has<hipDestroyExternalMemory>())
      return fail(kNotSupported, "cuImportExternalMemory: HIP is too old for it");
    void *made = nullptr;
    if (Result result = ofImport(hip().call<hipImportExternalMemory>(&made, wanted)))
      return result;
    *out = memories.add(
        std::make_shared<ExternalMemory>(ExternalMemory{made, &context, wanted->size}));
    return kSuccess;
  });
}

// The program frees it by cuMemFree.
Result cuExternalMemoryGetMappedBuffer(void **pointer, ExternalMemory *memory,
                                       const ExternalBuffer *wanted) {
  return callIn(RUBIA_CALL(pointer, memory, wanted), [&](Context &context) -> Result {
    if (!memory)
      return kInvalidValue;
    if (!memories.contains(memory))
      return kInvalidHandle;
    if (!pointer || !wanted || !wanted->size || wanted->flags || wanted->offset > memory->bytes ||
        wanted->size > memory->bytes - wanted->offset)
      return kInvalidValue;
    void *mapped = nullptr;
    if (Result result = context.check(
            hip().call<hipExternalMemoryGetMappedBuffer>(&mapped, memory->hip, wanted)))
      return result;
    Allocation allocation;
    allocation.base = allocation.device = static_cast<char *>(mapped);
    allocation.size = wanted->size;
    allocation.kind = AllocationKind::External;
    allocation.context = &context;
    addAllocation(allocation);
    *pointer = mapped;
    return kSuccess;
  });
}

Result cuDestroyExternalMemory(ExternalMemory *memory) {
  return callToRelease(RUBIA_CALL(memory), [&](Context &context) -> Result {
    if (!memory)
      return kInvalidValue;
    if (!memories.contains(memory))
      return kInvalidHandle;
    if (Result result = context.check(hip().call<hipDestroyExternalMemory>(memory->hip)))
      return result;
    memories.remove(memory);
    return kSuccess;
  });
}

} // extern "C"
