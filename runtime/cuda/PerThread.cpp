// SPDX-License-Identifier: Apache-2.0
// The entry points whose default stream is the calling thread's own (_ptds, _ptsz): what programs
// built with --default-stream per-thread call. They differ in what handle 0 means, and in the
// stream that functions without a stream argument use.
#include "runtime/cuda/Api.h"
#include "runtime/cuda/Memory.h"

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

static Stream *mine(Stream *stream) { return stream ? stream : kPerThreadStream; }

extern "C" {

Result cuMemcpyHtoD_v2_ptds(void *to, const void *from, size_t bytes) {
  return copySync(RUBIA_CALL(to, from, bytes), to, from, bytes, kHipMemcpyHostToDevice,
                  kPerThreadStream);
}
Result cuMemcpyDtoH_v2_ptds(void *to, void *from, size_t bytes) {
  return copySync(RUBIA_CALL(to, from, bytes), to, from, bytes, kHipMemcpyDeviceToHost,
                  kPerThreadStream);
}
Result cuMemcpyDtoD_v2_ptds(void *to, void *from, size_t bytes) {
  return copySync(RUBIA_CALL(to, from, bytes), to, from, bytes, kHipMemcpyDeviceToDevice,
                  kPerThreadStream);
}
Result cuMemcpy_ptds(void *to, void *from, size_t bytes) {
  return copySync(RUBIA_CALL(to, from, bytes), to, from, bytes, kHipMemcpyDefault,
                  kPerThreadStream);
}
Result cuMemcpyPeer_ptds(void *to, Context *toContext, void *from, Context *fromContext,
                         size_t bytes) {
  if (!isContext(toContext) || !isContext(fromContext))
    return kInvalidContext;
  return copySync(RUBIA_CALL(to, toContext, from, fromContext, bytes), to, from, bytes,
                  kHipMemcpyDefault, kPerThreadStream);
}
Result cuMemcpy2D_v2_ptds(const Copy2D *copy) {
  return copy2D(RUBIA_CALL(copy), copy, kPerThreadStream, false);
}
Result cuMemcpy2DUnaligned_v2_ptds(const Copy2D *copy) {
  return copy2D(RUBIA_CALL(copy), copy, kPerThreadStream, false);
}
Result cuMemcpy3D_v2_ptds(const Copy3D *copy) {
  return copy3D(RUBIA_CALL(copy), copy, kPerThreadStream, false);
}

Result cuMemcpyHtoDAsync_v2_ptsz(void *to, const void *from, size_t bytes, Stream *stream) {
  return copyAsync(RUBIA_CALL(to, from, bytes, stream), to, from, bytes, kHipMemcpyHostToDevice,
                   mine(stream));
}
Result cuMemcpyDtoHAsync_v2_ptsz(void *to, void *from, size_t bytes, Stream *stream) {
  return copyAsync(RUBIA_CALL(to, from, bytes, stream), to, from, bytes, kHipMemcpyDeviceToHost,
                   mine(stream));
}
Result cuMemcpyDtoDAsync_v2_ptsz(void *to, void *from, size_t bytes, Stream *stream) {
  return copyAsync(RUBIA_CALL(to, from, bytes, stream), to, from, bytes, kHipMemcpyDeviceToDevice,
                   mine(stream));
}
Result cuMemcpyAsync_ptsz(void *to, void *from, size_t bytes, Stream *stream) {
  return copyAsync(RUBIA_CALL(to, from, bytes, stream), to, from, bytes, kHipMemcpyDefault,
                   mine(stream));
}
Result cuMemcpyPeerAsync_ptsz(void *to, Context *toContext, void *from, Context *fromContext,
                              size_t bytes, Stream *stream) {
  if (!isContext(toContext) || !isContext(fromContext))
    return kInvalidContext;
  return copyAsync(RUBIA_CALL(to, toContext, from, fromContext, bytes, stream), to, from, bytes,
                   kHipMemcpyDefault, mine(stream));
}
Result cuMemcpy2DAsync_v2_ptsz(const Copy2D *copy, Stream *stream) {
  return copy2D(RUBIA_CALL(copy, stream), copy, mine(stream), true);
}
Result cuMemcpy3DAsync_v2_ptsz(const Copy3D *copy, Stream *stream) {
  return copy3D(RUBIA_CALL(copy, stream), copy, mine(stream), true);
}

Result cuMemsetD8_v2_ptds(void *to, unsigned char value, size_t count) {
  return fill(RUBIA_CALL(to, value, count), to, 0, value, 1, count, 1, kPerThreadStream, false);
}
Result cuMemsetD16_v2_ptds(void *to, unsigned short value, size_t count) {
  return fill(RUBIA_CALL(to, value, count), to, 0, value, 2, count, 1, kPerThreadStream, false);
}
Result cuMemsetD32_v2_ptds(void *to, unsigned value, size_t count) {
  return fill(RUBIA_CALL(to, value, count), to, 0, value, 4, count, 1, kPerThreadStream, false);
}
Result cuMemsetD2D8_v2_ptds(void *to, size_t pitch, unsigned char value, size_t width,
                            size_t height) {
  return fill(RUBIA_CALL(to, pitch, value, width, height), to, pitch, value, 1, width, height,
              kPerThreadStream, false);
}
Result cuMemsetD2D16_v2_ptds(void *to, size_t pitch, unsigned short value, size_t width,
                             size_t height) {
  return fill(RUBIA_CALL(to, pitch, value, width, height), to, pitch, value, 2, width, height,
              kPerThreadStream, false);
}
Result cuMemsetD2D32_v2_ptds(void *to, size_t pitch, unsigned value, size_t width, size_t height) {
  return fill(RUBIA_CALL(to, pitch, value, width, height), to, pitch, value, 4, width, height,
              kPerThreadStream, false);
}
Result cuMemsetD8Async_ptsz(void *to, unsigned char value, size_t count, Stream *stream) {
  return fill(RUBIA_CALL(to, value, count, stream), to, 0, value, 1, count, 1, mine(stream), true);
}
Result cuMemsetD16Async_ptsz(void *to, unsigned short value, size_t count, Stream *stream) {
  return fill(RUBIA_CALL(to, value, count, stream), to, 0, value, 2, count, 1, mine(stream), true);
}
Result cuMemsetD32Async_ptsz(void *to, unsigned value, size_t count, Stream *stream) {
  return fill(RUBIA_CALL(to, value, count, stream), to, 0, value, 4, count, 1, mine(stream), true);
}
Result cuMemsetD2D8Async_ptsz(void *to, size_t pitch, unsigned char value, size_t width,
                              size_t height, Stream *stream) {
  return fill(RUBIA_CALL(to, pitch, value, width, height, stream), to, pitch, value, 1, width,
              height, mine(stream), true);
}
Result cuMemsetD2D16Async_ptsz(void *to, size_t pitch, unsigned short value, size_t width,
                               size_t height, Stream *stream) {
  return fill(RUBIA_CALL(to, pitch, value, width, height, stream), to, pitch, value, 2, width,
              height, mine(stream), true);
}
Result cuMemsetD2D32Async_ptsz(void *to, size_t pitch, unsigned value, size_t width, size_t height,
                               Stream *stream) {
  return fill(RUBIA_CALL(to, pitch, value, width, height, stream), to, pitch, value, 4, width,
              height, mine(stream), true);
}

Result cuMemAllocAsync_ptsz(void **pointer, size_t bytes, Stream *stream) {
  return cuMemAllocAsync(pointer, bytes, mine(stream));
}
Result cuMemAllocFromPoolAsync_ptsz(void **pointer, size_t bytes, MemoryPool *pool,
                                    Stream *stream) {
  return cuMemAllocFromPoolAsync(pointer, bytes, pool, mine(stream));
}
Result cuMemFreeAsync_ptsz(void *pointer, Stream *stream) {
  return cuMemFreeAsync(pointer, mine(stream));
}
Result cuMemPrefetchAsync_ptsz(void *pointer, size_t bytes, int device, Stream *stream) {
  return cuMemPrefetchAsync(pointer, bytes, device, mine(stream));
}
Result cuMemPrefetchAsync_v2_ptsz(void *pointer, size_t bytes, MemoryLocation location,
                                  unsigned flags, Stream *stream) {
  return cuMemPrefetchAsync_v2(pointer, bytes, location, flags, mine(stream));
}

Result cuLaunchKernel_ptsz(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                           unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                           Stream *stream, void **values, void **extra) {
  return cuLaunchKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes,
                        mine(stream), values, extra);
}
Result cuLaunchCooperativeKernel_ptsz(Function *function, unsigned gridX, unsigned gridY,
                                      unsigned gridZ, unsigned blockX, unsigned blockY,
                                      unsigned blockZ, unsigned sharedBytes, Stream *stream,
                                      void **values) {
  return cuLaunchCooperativeKernel(function, gridX, gridY, gridZ, blockX, blockY, blockZ,
                                   sharedBytes, mine(stream), values);
}
Result cuLaunchKernelEx_ptsz(const LaunchConfig *config, Function *function, void **values,
                             void **extra) {
  if (!config)
    return kInvalidValue;
  LaunchConfig changed = *config;
  changed.stream = mine(config->stream);
  return cuLaunchKernelEx(&changed, function, values, extra);
}
Result cuLaunchHostFunc_ptsz(Stream *stream, void (*function)(void *), void *data) {
  return cuLaunchHostFunc(mine(stream), function, data);
}

Result cuStreamSynchronize_ptsz(Stream *stream) { return cuStreamSynchronize(mine(stream)); }
Result cuStreamQuery_ptsz(Stream *stream) { return cuStreamQuery(mine(stream)); }
Result cuStreamWaitEvent_ptsz(Stream *stream, Event *event, unsigned flags) {
  return cuStreamWaitEvent(mine(stream), event, flags);
}
Result cuStreamAddCallback_ptsz(Stream *stream, void (*function)(Stream *, Result, void *),
                                void *data, unsigned flags) {
  return cuStreamAddCallback(mine(stream), function, data, flags);
}
Result cuStreamAttachMemAsync_ptsz(Stream *stream, void *pointer, size_t bytes, unsigned flags) {
  return cuStreamAttachMemAsync(mine(stream), pointer, bytes, flags);
}
Result cuStreamGetFlags_ptsz(Stream *stream, unsigned *flags) {
  return cuStreamGetFlags(mine(stream), flags);
}
Result cuStreamGetPriority_ptsz(Stream *stream, int *priority) {
  return cuStreamGetPriority(mine(stream), priority);
}
Result cuStreamGetId_ptsz(Stream *stream, uint64_t *id) { return cuStreamGetId(mine(stream), id); }
Result cuStreamGetCtx_v2_ptsz(Stream *stream, Context **out, void **greenContext) {
  return cuStreamGetCtx_v2(mine(stream), out, greenContext);
}
Result cuStreamGetCtx_ptsz(Stream *stream, Context **out) {
  return cuStreamGetCtx(mine(stream), out);
}
Result cuStreamGetDevice_ptsz(Stream *stream, int *device) {
  return cuStreamGetDevice(mine(stream), device);
}
Result cuEventRecord_ptsz(Event *event, Stream *stream) {
  return cuEventRecord(event, mine(stream));
}
Result cuEventRecordWithFlags_ptsz(Event *event, Stream *stream, unsigned flags) {
  return cuEventRecordWithFlags(event, mine(stream), flags);
}

} // extern "C"
