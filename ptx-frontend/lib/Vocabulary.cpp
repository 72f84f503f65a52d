// SPDX-License-Identifier: Apache-2.0
// Facts about the words of Types.h.

#include "ptx-frontend/Types.h"

namespace rubia::ptx {

unsigned sizeInBits(Type type) {
  switch (type) {
  case Type::None:
  case Type::Pred:
    return 0;
  case Type::B8:
  case Type::U8:
  case Type::S8:
  case Type::E4M3:
  case Type::E5M2:
  case Type::E2M3: // six bits in a byte
  case Type::E3M2:
  case Type::E2M1x2:
  case Type::UE8M0:
  case Type::UE4M3:
    return 8;
  case Type::B1:
    return 1;
  case Type::U2:
  case Type::S2:
    return 2;
  case Type::U4:
  case Type::S4:
  case Type::E2M1:
    return 4;
  case Type::B16:
  case Type::U16:
  case Type::S16:
  case Type::F16:
  case Type::BF16:
  case Type::E4M3x2:
  case Type::E5M2x2:
  case Type::E2M3x2:
  case Type::E3M2x2:
  case Type::E2M1x4:
  case Type::UE8M0x2:
  case Type::S2F6x2:
    return 16;
  case Type::B32:
  case Type::U32:
  case Type::S32:
  case Type::F32:
  case Type::TF32:
  case Type::F16x2:
  case Type::BF16x2:
  case Type::U16x2:
  case Type::S16x2:
  case Type::E4M3x4:
  case Type::E5M2x4:
  case Type::E2M3x4:
  case Type::E3M2x4:
    return 32;
  case Type::B64:
  case Type::U64:
  case Type::S64:
  case Type::F64:
  case Type::F32x2:
  case Type::TexRef:
  case Type::SamplerRef:
  case Type::SurfRef:
    return 64;
  case Type::B128:
    return 128;
  }
  return 0;
}

TypeClass classOf(Type type) {
  switch (type) {
  case Type::None:
    return TypeClass::None;
  case Type::Pred:
    return TypeClass::Predicate;
  case Type::B8:
  case Type::B16:
  case Type::B32:
  case Type::B64:
  case Type::B128:
  case Type::B1:
    return TypeClass::Bits;
  case Type::U8:
  case Type::U16:
  case Type::U32:
  case Type::U64:
  case Type::U16x2:
  case Type::U2:
  case Type::U4:
    return TypeClass::Unsigned;
  case Type::S8:
  case Type::S16:
  case Type::S32:
  case Type::S64:
  case Type::S16x2:
  case Type::S2:
  case Type::S4:
    return TypeClass::Signed;
  case Type::F16:
  case Type::F16x2:
  case Type::BF16:
  case Type::BF16x2:
  case Type::TF32:
  case Type::F32:
  case Type::F32x2:
  case Type::F64:
  case Type::E4M3:
  case Type::E5M2:
  case Type::E4M3x2:
  case Type::E5M2x2:
  case Type::E4M3x4:
  case Type::E5M2x4:
  case Type::E2M1:
  case Type::E2M3:
  case Type::E3M2:
  case Type::E2M1x2:
  case Type::E2M3x2:
  case Type::E3M2x2:
  case Type::E2M1x4:
  case Type::E2M3x4:
  case Type::E3M2x4:
  case Type::UE8M0:
  case Type::UE8M0x2:
  case Type::UE4M3:
  case Type::S2F6x2:
    return TypeClass::Float;
  case Type::TexRef:
  case Type::SamplerRef:
  case Type::SurfRef:
    return TypeClass::Opaque;
  }
  return TypeClass::None;
}

bool isOnlyInstructionType(Type type) {
  switch (type) {
  case Type::U16x2:
  case Type::S16x2:
  case Type::B1:
  case Type::U2:
  case Type::S2:
  case Type::U4:
  case Type::S4:
    return true;
  case Type::F16:
  case Type::F16x2:
  case Type::F32:
  case Type::F64:
    return false;
  default: // the formats of floating point that are left
    return classOf(type) == TypeClass::Float;
  }
}

} // namespace rubia::ptx
