// SPDX-License-Identifier: Apache-2.0
// What lowering has to know of a processor: its row of targets/Targets.def, what a unit is compiled
// for, and what LLVM's TargetParser says of instructions (so that lowering needs no code
// generator).
#pragma once

#include "targets/Target.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace rubia::lowering {

struct Target {
  const targets::Target *row = nullptr;
  std::string features; // of the target ID, for "target-features": "+sramecc,-xnack"

  unsigned waveSize = 32;
  /// With wave64: two warps share a wave, or one warp has a wave of its own (docs/architecture.md,
  /// "Warp forms").
  bool isPacked = false;

  std::string name() const { return row->name.str(); }
  bool halfFilled() const { return waveSize == 64 && !isPacked; }

  /// v_dot4_i32_i8 and v_dot4_u32_u8 (llvm.amdgcn.sdot4, udot4), and the mixed-sign v_dot4_i32_iu8
  /// (llvm.amdgcn.sudot4).
  bool hasSignedDot4 = false, hasUnsignedDot4 = false, hasMixedSignDot4 = false;
  bool hasBitop3 = false; // v_bitop3_b32
  /// v_mfma_* of CDNA 2 (f64, bf16 four by four) and of CDNA 3 (i8 eight by eight).
  bool hasMfmaOfCdna2 = false, hasMfmaOfCdna3 = false;
  bool hasXf32 = false;       // v_mfma_f32_16x16x8_xf32
  bool usesMatrixUnit = true; // where the row has one
};

/// Fails for what is not in the table, or not a target ID.
llvm::Expected<Target> targetOf(llvm::StringRef arch);

} // namespace rubia::lowering
