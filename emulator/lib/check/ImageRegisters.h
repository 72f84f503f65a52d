// SPDX-License-Identifier: Apache-2.0
// What the registers of an image instruction hold, for the check of uninitialised memory: which of
// them are addresses, and which channel of a texel each part of the data is.
#pragma once

#include "emulator/lib/memory/ImageOperation.h"
#include "llvm/ADT/SmallVector.h"

namespace rubia::emulator {

struct ImageRegisters {
  static constexpr unsigned kNoChannel = 4;

  /// A part of the data registers.
  struct Part {
    uint32_t offset = 0; // of the register in a block
    uint8_t shift = 0;   // of the bits within it
    uint32_t mask = ~0u; // ...when shifted
    uint8_t component = 0;
    uint8_t channel = kNoChannel; // or a constant
    uint32_t place(uint32_t bits) const { return bits << shift; }
  };

  ImageRegisters(const Wave &wave, const MicroOp &op);

  llvm::SmallVector<uint32_t, 8> addresses;                    // offsets
  llvm::SmallVector<std::pair<unsigned, unsigned>, 2> scalars; // first, number
  llvm::SmallVector<Part, 4> data; // of atomics all their operands, which have no channels
  unsigned channelBytes = 4;
  unsigned returnedRegisters = 0; // by an atomic
};

} // namespace rubia::emulator
