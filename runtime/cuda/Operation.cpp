// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/Operation.h"
#include "runtime/cuda/Occupancy.h"
#include "runtime/cuda/graph/Capture.h"

using namespace llvm;

namespace rubia::runtime::cuda {

bool KernelOperation::isLive() const { return cuda::isLive(function) && function->id == id; }

void KernelOperation::keepAttributes(const KernelOperation &old) {
  attributes = old.attributes;
  isCooperative = old.isCooperative;
  llvm::copy(old.shape.cluster, shape.cluster);
}

Result execute(Context &context, const Operation &operation, const Place &place) {
  if (const auto *kernel = std::get_if<KernelOperation>(&operation))
    return executeKernel(context, *kernel, place);
  if (const auto *copy = std::get_if<CopyOperation>(&operation))
    return executeCopy(context, *copy, place.hipStream);
  if (const auto *fill = std::get_if<FillOperation>(&operation))
    return executeFill(context, *fill, place.hipStream);
  if (const auto *batch = std::get_if<BatchOperation>(&operation))
    return executeBatch(context, *batch, place.hipStream);
  if (const auto *signal = std::get_if<SignalSemaphoresOperation>(&operation))
    return executeSemaphores(context, *signal, false, place.hipStream);
  if (const auto *wait = std::get_if<WaitSemaphoresOperation>(&operation))
    return executeSemaphores(context, *wait, true, place.hipStream);
  if (const auto *host = std::get_if<HostOperation>(&operation))
    return executeHost(context, *host, place.hipStream);
  if (const auto *record = std::get_if<RecordOperation>(&operation)) {
    if (record->event->isLost())
      return kInvalidValue;
    Result result = context.check(hip().call<hipEventRecord>(record->event->hip, place.hipStream));
    if (!result) {
      record->event->capture = 0; // what it stood for there is forgotten by the next capture
      record->event->recorded = true;
    }
    return result;
  }
  if (const auto *wait = std::get_if<WaitOperation>(&operation)) {
    if (wait->event->isLost())
      return kInvalidValue;
    return wait->event->recorded
               ? context.check(hip().call<hipStreamWaitEvent>(place.hipStream, wait->event->hip, 0))
               : kSuccess;
  }
  assert(std::holds_alternative<EmptyOperation>(operation) && "no operation of a stream");
  return kSuccess;
}

Result keepCluster(Context &context, Operation &operation) {
  auto *kernel = std::get_if<KernelOperation>(&operation);
  if (!kernel || !kernel->isLive() || kernel->shape.cluster[0])
    return kSuccess;
  return takeCluster(context.device, *kernel->function, kernel->shape);
}

Result prepare(Context &context, const Operation &operation, bool isInBody) {
  const auto *kernel = std::get_if<KernelOperation>(&operation);
  if (!kernel)
    return kSuccess;
  if (Result result = checkKernel(context, *kernel))
    return result;
  Bound bound = bind(context, kernel->function);
  if (bound.error)
    return bound.error;
  LaunchShape shape = kernel->shape;
  shape.isInBody = isInBody;
  if (Error error =
          bound.module->loaded->prepare(kernel->function->kernel, shape, kernel->parameters))
    return report(context, std::move(error));
  return kSuccess;
}

Result submit(Context &context, Operation operation, Stream *handle, void *hipStream) {
  if (isCaptured(hipStream))
    return capture(context, std::move(operation), hipStream);
  if (Result result = checkLegacyStream(context, hipStream))
    return result;
  // The threads' default streams share a handle, but not their order: told apart by HIP's stream.
  Stream *workspace = handle == kPerThreadStream ? static_cast<Stream *>(hipStream) : handle;
  return execute(context, operation, {hipStream, workspace, {hipStream}});
}

} // namespace rubia::runtime::cuda
