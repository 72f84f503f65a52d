// SPDX-License-Identifier: Apache-2.0
// The floating-point fields of the MODE register, and the instructions that write them.
#pragma once

#include "codegen/lib/Disassembler.h"
#include <optional>

namespace rubia::codegen {

/// Bits of MODE (RDNA3 and CDNA3 ISA documents, "MODE register").
enum ModeBits : uint32_t {
  kRound32 = 0x3,
  kRound64 = 0xc, ///< f16 and f64
  kDenorm32 = 0x30,
  kDenorm64 = 0xc0, ///< f16 and f64
  kFp16Overflow = 1u << 23,
  kRounding = kRound32 | kRound64,
  kDenormals = kDenorm32 | kDenorm64,
  kTrackedMode = kRounding | kDenormals | kFp16Overflow,
};

/// The mode in which a kernel starts, from compute_pgm_rsrc1 of its descriptor. AMDGPUUsage
/// "compute_pgm_rsrc1".
uint32_t modeOfDescriptor(uint32_t computePgmRsrc1);

/// "round f32 nearest, f16/f64 up; denormals f32 flush, f16/f64 keep".
std::string describeMode(uint32_t mode);

struct ModeWrite {
  uint32_t mask = 0;  ///< the bits of MODE that are written
  uint32_t value = 0; ///< what they become
  bool isConstant = true;
};

/// What an instruction does to MODE: nothing for most, and for those that write other hardware
/// registers.
std::optional<ModeWrite> modeWriteOf(const Disassembler &disassembler, const llvm::MCInst &inst);

} // namespace rubia::codegen
