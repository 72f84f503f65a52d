// SPDX-License-Identifier: Apache-2.0
// The functions under the names that programs call which were built for a default stream of each
// thread (-fgpu-default-stream=per-thread): null means hipStreamPerThread.
#include "emulator/hip/Api.h"
#include <hip/amd_detail/amd_hip_runtime_pt_api.h>

// The functions are HIP's; HIP 5.2's header declares some only.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

static hipStream_t own(hipStream_t stream) { return stream ? stream : hipStreamPerThread; }

// What waits in the original waits for the thread's stream here.
static hipError_t waited(hipError_t error) {
  return error ? error : hipStreamSynchronize(hipStreamPerThread);
}

HIP_EXPORT hipError_t hipMemcpy_spt(void *to, const void *from, size_t bytes, hipMemcpyKind kind) {
  return hipMemcpyWithStream(to, from, bytes, kind, hipStreamPerThread);
}
HIP_EXPORT hipError_t hipMemcpyAsync_spt(void *to, const void *from, size_t bytes,
                                         hipMemcpyKind kind, hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, kind, own(stream));
}
HIP_EXPORT hipError_t hipMemcpy2DAsync_spt(void *to, size_t toPitch, const void *from,
                                           size_t fromPitch, size_t width, size_t height,
                                           hipMemcpyKind kind, hipStream_t stream) {
  return hipMemcpy2DAsync(to, toPitch, from, fromPitch, width, height, kind, own(stream));
}
HIP_EXPORT hipError_t hipMemcpy2D_spt(void *to, size_t toPitch, const void *from, size_t fromPitch,
                                      size_t width, size_t height, hipMemcpyKind kind) {
  return waited(
      hipMemcpy2DAsync(to, toPitch, from, fromPitch, width, height, kind, hipStreamPerThread));
}
HIP_EXPORT hipError_t hipMemcpy3D_spt(const hipMemcpy3DParms *copy) {
  return waited(hipMemcpy3DAsync(copy, hipStreamPerThread));
}
HIP_EXPORT hipError_t hipMemcpy3DAsync_spt(const hipMemcpy3DParms *copy, hipStream_t stream) {
  return hipMemcpy3DAsync(copy, own(stream));
}
HIP_EXPORT hipError_t hipMemcpyToSymbolAsync_spt(const void *symbol, const void *from, size_t bytes,
                                                 size_t offset, hipMemcpyKind kind,
                                                 hipStream_t stream) {
  return hipMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, own(stream));
}
HIP_EXPORT hipError_t hipMemcpyFromSymbolAsync_spt(void *to, const void *symbol, size_t bytes,
                                                   size_t offset, hipMemcpyKind kind,
                                                   hipStream_t stream) {
  return hipMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, own(stream));
}
HIP_EXPORT hipError_t hipMemcpyToSymbol_spt(const void *symbol, const void *from, size_t bytes,
                                            size_t offset, hipMemcpyKind kind) {
  return waited(hipMemcpyToSymbolAsync(symbol, from, bytes, offset, kind, hipStreamPerThread));
}
HIP_EXPORT hipError_t hipMemcpyFromSymbol_spt(void *to, const void *symbol, size_t bytes,
                                              size_t offset, hipMemcpyKind kind) {
  return waited(hipMemcpyFromSymbolAsync(to, symbol, bytes, offset, kind, hipStreamPerThread));
}
HIP_EXPORT hipError_t hipMemset_spt(void *to, int value, size_t bytes) {
  return waited(hipMemsetAsync(to, value, bytes, hipStreamPerThread));
}
HIP_EXPORT hipError_t hipMemsetAsync_spt(void *to, int value, size_t bytes, hipStream_t stream) {
  return hipMemsetAsync(to, value, bytes, own(stream));
}
HIP_EXPORT hipError_t hipMemset2DAsync_spt(void *to, size_t pitch, int value, size_t width,
                                           size_t height, hipStream_t stream) {
  return hipMemset2DAsync(to, pitch, value, width, height, own(stream));
}
HIP_EXPORT hipError_t hipMemset3DAsync_spt(hipPitchedPtr to, int value, hipExtent extent,
                                           hipStream_t stream) {
  return hipMemset3DAsync(to, value, extent, own(stream));
}
HIP_EXPORT hipError_t hipMemset2D_spt(void *to, size_t pitch, int value, size_t width,
                                      size_t height) {
  return waited(hipMemset2DAsync(to, pitch, value, width, height, hipStreamPerThread));
}
HIP_EXPORT hipError_t hipMemset3D_spt(hipPitchedPtr to, int value, hipExtent extent) {
  return waited(hipMemset3DAsync(to, value, extent, hipStreamPerThread));
}
HIP_EXPORT hipError_t hipStreamQuery_spt(hipStream_t stream) { return hipStreamQuery(own(stream)); }
HIP_EXPORT hipError_t hipStreamSynchronize_spt(hipStream_t stream) {
  return hipStreamSynchronize(own(stream));
}
HIP_EXPORT hipError_t hipStreamGetFlags_spt(hipStream_t stream, unsigned *flags) {
  return hipStreamGetFlags(own(stream), flags);
}
HIP_EXPORT hipError_t hipStreamGetPriority_spt(hipStream_t stream, int *priority) {
  return hipStreamGetPriority(own(stream), priority);
}
HIP_EXPORT hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned flags) {
  return hipStreamWaitEvent(own(stream), event, flags);
}
HIP_EXPORT hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream) {
  return hipEventRecord(event, own(stream));
}
HIP_EXPORT hipError_t hipLaunchKernel_spt(const void *function, dim3 grid, dim3 block,
                                          void **parameters, size_t sharedBytes,
                                          hipStream_t stream) {
  return hipLaunchKernel(function, grid, block, parameters, sharedBytes, own(stream));
}
HIP_EXPORT hipError_t hipLaunchCooperativeKernel_spt(const void *function, dim3 grid, dim3 block,
                                                     void **parameters, uint32_t sharedBytes,
                                                     hipStream_t stream) {
  return hipLaunchCooperativeKernel(function, grid, block, parameters, sharedBytes, own(stream));
}

// ---------- Callbacks, captures, graphs

HIP_EXPORT hipError_t hipStreamAddCallback_spt(hipStream_t stream, hipStreamCallback_t callback,
                                               void *data, unsigned flags) {
  return hipStreamAddCallback(own(stream), callback, data, flags);
}
HIP_EXPORT hipError_t hipLaunchHostFunc_spt(hipStream_t stream, hipHostFn_t function, void *data) {
  return hipLaunchHostFunc(own(stream), function, data);
}
HIP_EXPORT hipError_t hipStreamBeginCapture_spt(hipStream_t stream, hipStreamCaptureMode mode) {
  return hipStreamBeginCapture(own(stream), mode);
}
HIP_EXPORT hipError_t hipStreamEndCapture_spt(hipStream_t stream, hipGraph_t *graph) {
  return hipStreamEndCapture(own(stream), graph);
}
HIP_EXPORT hipError_t hipStreamIsCapturing_spt(hipStream_t stream, hipStreamCaptureStatus *status) {
  return hipStreamIsCapturing(own(stream), status);
}
HIP_EXPORT hipError_t hipStreamGetCaptureInfo_spt(hipStream_t stream,
                                                  hipStreamCaptureStatus *status,
                                                  unsigned long long *id) {
  return hipStreamGetCaptureInfo(own(stream), status, id);
}
HIP_EXPORT hipError_t hipStreamGetCaptureInfo_v2_spt(hipStream_t stream,
                                                     hipStreamCaptureStatus *status,
                                                     unsigned long long *id, hipGraph_t *graph,
                                                     const hipGraphNode_t **dependencies,
                                                     size_t *dependencyCount) {
  return hipStreamGetCaptureInfo_v2(own(stream), status, id, graph, dependencies, dependencyCount);
}
HIP_EXPORT hipError_t hipGraphLaunch_spt(hipGraphExec_t graph, hipStream_t stream) {
  return hipGraphLaunch(graph, own(stream));
}
