// SPDX-License-Identifier: Apache-2.0
// The modifiers of instructions: rows of Modifiers.def.
#pragma once

#include "ptx-frontend/Types.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace rubia::ptx {

/// What a modifier is about; a spelling has at most one of most categories.
enum class ModCategory : uint8_t {
  Type,
  Space,
  Rounding,
  IntegerRounding,
  Comparison,
  Boolean,
  Width,
  Vector,
  Cache,
  Eviction,
  Prefetch,
  Semantics,
  Scope,
  Atomic,
  Shuffle,
  Vote,
  Half,
  Flag,
  Geometry, // of textures, surfaces and tensors
  Query,    // what txq, suq and tensormap.replace name
  Shape,    // of matrices
  Count,    // .x1 to .x128
  Layout,   // .row, .col
  Matrix,   // what else matrix instructions say
  Async,    // what asynchronous instructions say
};

enum class Mod : uint16_t {
  None,
#define PTX_MODIFIER(Name, ...) Name,
#include "ptx-frontend/Modifiers.def"
};

inline constexpr unsigned kModifierCount = 1 // Mod::None
#define PTX_MODIFIER(...) +1
#include "ptx-frontend/Modifiers.def"
    ;

llvm::StringRef textOf(Mod mod); // ".ftz"
ModCategory categoryOf(Mod mod);
Type typeOf(Mod mod);        // Type::None unless categoryOf(mod) is Type
StateSpace spaceOf(Mod mod); // StateSpace::None unless categoryOf(mod) is Space

} // namespace rubia::ptx
