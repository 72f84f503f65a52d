// SPDX-License-Identifier: Apache-2.0
// The textures and surfaces of a launch, by handle; and what instructions name in their brackets.
#pragma once

#include "reference/lib/interpreter/Decode.h"
#include "reference/lib/interpreter/Sampler.h"
#include <map>

namespace rubia::reference::interpreter {

/// What a launch can read and write, by handle. Those of textures and of surfaces are apart.
struct TextureMap {
  std::map<uint64_t, TextureObject> textures, surfaces;
};

/// [a, {coordinates}] of an instruction.
struct Brackets {
  unsigned dimensions = 2;
  bool isLayered = false, isCube = false;
  bool isHandleInParameter = false; // source 0 is the address of the handle
  unsigned coordinates = 1;         // the first source of them: a layer, if there are layers
  unsigned behind = 1;              // the first source behind them

  /// Appends the sources; says what is not supported.
  static Brackets decode(Decoder &decoder, const ptx::Operand &operand, ptx::Type type);
  /// The handle that a lane has; false after fail().
  bool handle(Warp &warp, const Micro &micro, unsigned lane, uint64_t &result) const;
  uint32_t layer(Warp &warp, const Micro &micro, unsigned lane) const;
  uint32_t at(Warp &warp, const Micro &micro, unsigned dimension, unsigned lane) const;
};

} // namespace rubia::reference::interpreter
