// SPDX-License-Identifier: Apache-2.0
// The modifiers of instructions: rows of Modifiers.def.
//
// No header has the names, so a new row compiles the tables again and nothing else. A file that
// names modifiers declares those:
//   namespace rubia::ptx::Mod {
//   extern const Modifier Ftz, Sat;
//   } // namespace rubia::ptx::Mod
// A name without a row does not link. The names are no constant expressions. A constexpr table
// holds a `const Modifier &`.
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

enum class Modifier : uint16_t; // the number of the row, from 1
namespace Mod {
inline constexpr Modifier None{};
}

unsigned modifierCount();             // the rows and Mod::None; all numbers are below
llvm::StringRef textOf(Modifier mod); // ".ftz"
ModCategory categoryOf(Modifier mod);
Type typeOf(Modifier mod);        // Type::None unless categoryOf(mod) is Type
StateSpace spaceOf(Modifier mod); // StateSpace::None unless categoryOf(mod) is Space

} // namespace rubia::ptx
