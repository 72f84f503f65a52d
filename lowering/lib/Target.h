// What lowering has to know of a processor, from LLVM's TargetParser (so that lowering needs no
// code generator).
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace rubia::lowering {

struct Target {
  std::string cpu;      // "gfx1100", without target features
  std::string features; // of the target ID, for "target-features": "+sramecc,-xnack"
  unsigned major = 0, minor = 0, stepping = 0; // gfx90a: 9, 0, 10

  unsigned waveSize = 32;
  // With wave64: two warps share a wave, or one warp has a wave of its own (docs/architecture.md,
  // "Warp forms").
  bool isPacked = false;
  unsigned ldsBytes = 64 * 1024; // per workgroup

  bool isGfx9() const { return major == 9; }
  // gfx90a, gfx942, gfx950: the Instinct line with MFMA and packed f32.
  bool isGfx90aPlus() const { return major == 9 && (minor >= 4 || stepping == 10); }
  bool isGfx940Plus() const { return major == 9 && minor >= 4; }
  bool isGfx10Plus() const { return major >= 10; }
  bool isGfx11Plus() const { return major >= 11; }
  bool isGfx12Plus() const { return major >= 12; }
  bool isGfx950() const { return major == 9 && minor == 5; }
  // Conversions between f32 and OCP's e4m3 and e5m2 (v_cvt_pk_fp8_f32 and its kin). gfx942 has them
  // for formats of its own.
  bool hasOcpFp8() const { return isGfx950() || isGfx12Plus(); }
  bool hasBfloatConversion() const { return isGfx950(); } // v_cvt_pk_bf16_f32
  bool halfFilled() const { return waveSize == 64 && !isPacked; }

  // v_dot4_i32_i8 and v_dot4_u32_u8 (llvm.amdgcn.sdot4, udot4), and the mixed-sign v_dot4_i32_iu8
  // (llvm.amdgcn.sudot4).
  bool hasSignedDot4 = false, hasUnsignedDot4 = false, hasMixedSignDot4 = false;
  bool hasBitop3 = false; // v_bitop3_b32
};

// Fails for what is not a processor of the HSA ABI that LLVM knows (gfx900 and later).
llvm::Expected<Target> targetOf(llvm::StringRef arch);

} // namespace rubia::lowering
