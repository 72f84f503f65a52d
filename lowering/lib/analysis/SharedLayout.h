// SPDX-License-Identifier: Apache-2.0
// Where shared memory lies in a slot of device memory (abi::SharedPool): an offset for each
// variable of the unit, as LDS has addresses. All that PTX can name is there, so that a .shared
// address never has to be told from one in LDS.
#pragma once

#include "lowering/Lowering.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

namespace rubia::lowering {

struct SharedLayout {
  bool isUsed = false; // the unit can access shared memory at all
  /// Of variables of known size.
  llvm::DenseMap<const ptx::Variable *, uint32_t> offsets;
  uint32_t reserved = 0; // the start of what %reserved_smem_offset_* tell of
  /// The start of dynamic shared memory. PTX ISA: state-spaces, shared: all variables start there.
  uint64_t dynamic = 0;
  uint32_t dynamicAlignment = 16;
};

/// A swizzle exchanges pieces by the bits of their address, up to this one. NVIDIA's GPUs have
/// dynamic shared memory there if nothing stands before it, and programs that swizzle by offsets
/// rely on it; here words of barriers may stand before it.
inline constexpr uint32_t kSwizzleAlignment = 1024;

/// What is reserved for libraries. As on sm_80 and later.
inline constexpr uint32_t kReservedSharedBytes = 1024;

SharedLayout layOutShared(const Unit &unit);

/// Whether the unit names dynamic shared memory, or asks for its size.
bool usesDynamicShared(const Unit &unit);

} // namespace rubia::lowering
