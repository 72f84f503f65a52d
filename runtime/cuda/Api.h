// SPDX-License-Identifier: Apache-2.0
// Declarations of entry points that other files of this library call, above all those that have a
// variant for the threads' own default streams.
#pragma once

#include "runtime/cuda/Types.h"

namespace rubia::runtime::cuda {
extern "C" {

Result cuModuleGetFunctionCount(unsigned *count, Module *module);
Result cuModuleEnumerateFunctions(Function **out, unsigned count, Module *module);

Result cuLaunchKernel(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                      Stream *stream, void **values, void **extra);
Result cuLaunchCooperativeKernel(Function *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                                 unsigned blockX, unsigned blockY, unsigned blockZ,
                                 unsigned sharedBytes, Stream *stream, void **values);
Result cuLaunchKernelEx(const LaunchConfig *config, Function *function, void **values,
                        void **extra);
Result cuLaunchHostFunc(Stream *stream, void (*function)(void *), void *data);

Result cuMemAllocAsync(void **pointer, size_t bytes, Stream *stream);
Result cuMemAllocFromPoolAsync(void **pointer, size_t bytes, MemoryPool *pool, Stream *stream);
Result cuMemFreeAsync(void *pointer, Stream *stream);
Result cuMemPrefetchAsync(void *pointer, size_t bytes, int device, Stream *stream);
Result cuMemPrefetchAsync_v2(void *pointer, size_t bytes, MemoryLocation location, unsigned flags,
                             Stream *stream);

Result cuStreamSynchronize(Stream *stream);
Result cuStreamQuery(Stream *stream);
Result cuStreamWaitEvent(Stream *stream, Event *event, unsigned flags);
Result cuStreamAddCallback(Stream *stream, void (*function)(Stream *, Result, void *), void *data,
                           unsigned flags);
Result cuStreamAttachMemAsync(Stream *stream, void *pointer, size_t bytes, unsigned flags);
Result cuStreamGetFlags(Stream *stream, unsigned *flags);
Result cuStreamGetPriority(Stream *stream, int *priority);
Result cuStreamGetId(Stream *stream, uint64_t *id);
Result cuStreamGetCtx(Stream *stream, Context **out);
Result cuStreamGetCtx_v2(Stream *stream, Context **out, void **greenContext);
Result cuStreamGetDevice(Stream *stream, int *device);
Result cuEventRecord(Event *event, Stream *stream);
Result cuEventRecordWithFlags(Event *event, Stream *stream, unsigned flags);

Result cuDeviceGetDevResource(int ordinal, DeviceResource *out, int type);
Result cuCtxRecordEvent(Context *context, Event *event);
Result cuCtxWaitEvent(Context *context, Event *event);

} // extern "C"
} // namespace rubia::runtime::cuda
