// SPDX-License-Identifier: Apache-2.0
// Semaphores of other libraries, by file descriptor: HIP's. CUDA Driver API: "External Resource
// Interoperability". A signal or a wait is one operation, which is executed, captured, or a node of
// a graph.
#include "runtime/cuda/HandleTable.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/Operation.h"
#include "runtime/cuda/graph/Capture.h"

namespace rubia::runtime {
int hipImportExternalSemaphore(void **semaphore, const void *handle);
int hipSignalExternalSemaphoresAsync(void *const *semaphores, const void *parameters,
                                     unsigned count, void *stream);
int hipWaitExternalSemaphoresAsync(void *const *semaphores, const void *parameters, unsigned count,
                                   void *stream);
int hipDestroyExternalSemaphore(void *semaphore);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

/// Lives until the program has destroyed it and no operation names it.
struct ExternalSemaphore {
  explicit ExternalSemaphore(void *hip) : hip(hip) {}
  void *const hip;
  std::atomic<bool> isDestroyed = false;
};

namespace {

HandleTable<ExternalSemaphore> &table() {
  static auto &all = HandleTable<ExternalSemaphore>::leaked();
  return all;
}

constexpr int kBinary = 1, // CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD
    kTimeline = 9;         // .._TIMELINE_SEMAPHORE_FD

Result refuse(const char *name) {
  return fail(kNotSupported, llvm::Twine(name) + ": HIP is too old for it");
}

template <class Operation>
Result submitSemaphores(const TracedCall &entry, ExternalSemaphore *const *semaphores,
                        const SemaphoreParameters *parameters, unsigned count, Stream *stream) {
  return callOn(entry, stream, [&](Context &context) {
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      Operation operation;
      if (!count)
        return kInvalidValue;
      if (Result result = makeSemaphores(semaphores, parameters, count, operation))
        return result;
      return submit(context, std::move(operation), stream, hipStream);
    });
  });
}

Stream *mine(Stream *stream) { return stream ? stream : kPerThreadStream; }

} // namespace

Result makeSemaphores(ExternalSemaphore *const *semaphores, const SemaphoreParameters *parameters,
                      unsigned count, SemaphoresOperation &operation) {
  if (count && (!semaphores || !parameters))
    return kInvalidValue;
  for (unsigned i = 0; i < count; ++i) {
    if (parameters[i].flags) // are of NvSciSync
      return kInvalidValue;
    std::shared_ptr<ExternalSemaphore> semaphore = table().find(semaphores[i]);
    if (!semaphore)
      return semaphores[i] ? kInvalidHandle : kInvalidValue;
    operation.semaphores.push_back(std::move(semaphore));
  }
  operation.handles.assign(semaphores, semaphores + count);
  operation.parameters.assign(parameters, parameters + count);
  return kSuccess;
}

// One by one: HIP's parameters have a size of their own.
Result executeSemaphores(Context &context, const SemaphoresOperation &operation, bool isWait,
                         void *hipStream) {
  const auto call = isWait ? hip().slot<hipWaitExternalSemaphoresAsync>()
                           : hip().slot<hipSignalExternalSemaphoresAsync>();
  if (!call)
    return refuse(isWait ? "cuWaitExternalSemaphoresAsync" : "cuSignalExternalSemaphoresAsync");
  for (size_t i = 0; i < operation.semaphores.size(); ++i) {
    if (operation.semaphores[i]->isDestroyed)
      return kInvalidHandle;
    SemaphoreParameters parameters = {};
    parameters.value = operation.parameters[i].value;
    if (Result result =
            context.check(call(&operation.semaphores[i]->hip, &parameters, 1, hipStream)))
      return result;
  }
  return kSuccess;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

// The descriptor is the driver's from then on.
Result cuImportExternalSemaphore(ExternalSemaphore **out, const ExternalSemaphoreHandle *wanted) {
  return callIn(RUBIA_CALL(out, wanted), [&](Context &) -> Result {
    constexpr int kLastType = 10;
    if (!out || !wanted || wanted->type < kBinary || wanted->type > kLastType || wanted->flags)
      return kInvalidValue;
    if (wanted->type != kBinary && wanted->type != kTimeline)
      return !wanted->pointers[0] && !wanted->pointers[1]
                 ? kInvalidValue
                 : fail(kNotSupported,
                        "cuImportExternalSemaphore: a semaphore that no file descriptor names");
    if (wanted->type == kTimeline && wanted->descriptor < 0)
      return kInvalidValue;
    if (!hip().has<hipImportExternalSemaphore>() || !hip().has<hipDestroyExternalSemaphore>())
      return refuse("cuImportExternalSemaphore");
    void *made = nullptr;
    if (Result result = ofImport(hip().call<hipImportExternalSemaphore>(&made, wanted)))
      return result;
    *out = table().add(std::make_shared<ExternalSemaphore>(made));
    return kSuccess;
  });
}

Result cuDestroyExternalSemaphore(ExternalSemaphore *semaphore) {
  return callToRelease(RUBIA_CALL(semaphore), [&](Context &context) -> Result {
    if (!semaphore)
      return kInvalidValue;
    std::shared_ptr<ExternalSemaphore> found = table().remove(semaphore);
    if (!found)
      return kInvalidHandle;
    found->isDestroyed = true;
    return context.check(hip().call<hipDestroyExternalSemaphore>(found->hip));
  });
}

Result cuSignalExternalSemaphoresAsync(ExternalSemaphore *const *semaphores,
                                       const SemaphoreParameters *parameters, unsigned count,
                                       Stream *stream) {
  return submitSemaphores<SignalSemaphoresOperation>(
      RUBIA_CALL(semaphores, parameters, count, stream), semaphores, parameters, count, stream);
}
Result cuWaitExternalSemaphoresAsync(ExternalSemaphore *const *semaphores,
                                     const SemaphoreParameters *parameters, unsigned count,
                                     Stream *stream) {
  return submitSemaphores<WaitSemaphoresOperation>(
      RUBIA_CALL(semaphores, parameters, count, stream), semaphores, parameters, count, stream);
}
Result cuSignalExternalSemaphoresAsync_ptsz(ExternalSemaphore *const *semaphores,
                                            const SemaphoreParameters *parameters, unsigned count,
                                            Stream *stream) {
  return submitSemaphores<SignalSemaphoresOperation>(
      RUBIA_CALL(semaphores, parameters, count, stream), semaphores, parameters, count,
      mine(stream));
}
Result cuWaitExternalSemaphoresAsync_ptsz(ExternalSemaphore *const *semaphores,
                                          const SemaphoreParameters *parameters, unsigned count,
                                          Stream *stream) {
  return submitSemaphores<WaitSemaphoresOperation>(
      RUBIA_CALL(semaphores, parameters, count, stream), semaphores, parameters, count,
      mine(stream));
}

} // extern "C"
