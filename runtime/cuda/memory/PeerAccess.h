// SPDX-License-Identifier: Apache-2.0
// Which devices access whose memory. HIP's access is of devices: all contexts and memory pools of a
// device share it, so that it lasts as long as one of them needs it.
#pragma once

#include "runtime/cuda/Memory.h"

namespace rubia::runtime::cuda {

/// The device was reset: nobody is allowed anything any more.
void forgetAccess(const Device &user);

/// Whether kernels of a context may access memory, with the rules of CUDA's contexts.
bool mayAccess(Context &context, const Allocation &allocation);
/// kInvalidValue for memory that the program knows and the context may not access. Of a process
/// with one device nothing is looked up.
Result checkAccess(Context &context, const void *pointer);
/// No context has the one that ends as its peer any more. Nobody may hold a context's mutex.
void forgetPeer(Context &ended);

/// Whether a pool lets a device access its memory (Pool.cpp).
bool allows(MemoryPool &pool, const Device &device);

} // namespace rubia::runtime::cuda
