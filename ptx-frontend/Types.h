// SPDX-License-Identifier: Apache-2.0
// The types and state spaces of PTX. PTX ISA: types, state-spaces.
#pragma once

#include <cstdint>

namespace rubia::ptx {

/// PTX ISA: fundamental-types, alternate-floating-point-data-formats, packed-data-types.
enum class Type : uint8_t {
  None,
  Pred,
  B8,
  B16,
  B32,
  B64,
  B128,
  U8,
  U16,
  U32,
  U64,
  S8,
  S16,
  S32,
  S64,
  F16,
  F16x2,
  BF16,
  BF16x2,
  TF32,
  F32,
  F32x2,
  F64,
  U16x2,
  S16x2,
  E4M3,
  E5M2,
  E4M3x2,
  E5M2x2,
  E4M3x4,
  E5M2x4,
  E2M1,
  E2M3,
  E3M2,
  E2M1x2,
  E2M3x2,
  E3M2x2,
  E2M1x4,
  E2M3x4,
  E3M2x4,
  UE8M0,
  UE8M0x2,
  UE4M3,
  B1,
  U2,
  S2,
  U4,
  S4,
  S2F6x2,
  TexRef,
  SamplerRef,
  SurfRef,
};

enum class TypeClass : uint8_t { None, Predicate, Bits, Unsigned, Signed, Float, Opaque };

unsigned sizeInBits(Type type); // 0 for None and Pred; 64 for opaque references
TypeClass classOf(Type type);   // packed types have the class of their element
/// Types that no register or variable has: their values are held in untyped ones. PTX ISA:
/// alternate-floating-point-data-formats, packed-data-types.
bool isOnlyInstructionType(Type type);

/// PTX ISA: state-spaces. None is a generic address.
enum class StateSpace : uint8_t { None, Reg, SReg, Const, Global, Local, Param, Shared, Tex };

} // namespace rubia::ptx
