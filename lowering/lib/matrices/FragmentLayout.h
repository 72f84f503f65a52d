// SPDX-License-Identifier: Apache-2.0
// Where the words of a 16x16 tile lie in the registers of lanes, and how they get from one such
// place to another.
//
// A tile's words are numbered by bits: four of the row (kM), four of the column (kN), three of the
// word along the depth (kK: a word is two halves, four bytes, eight nibbles or one tf32). In PTX's
// fragments and in those of AMD's matrix units every bit of a lane's number and every bit of a
// register's is one of these, so that a layout is a list of names.
#pragma once

#include "lowering/lib/analysis/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include <optional>

namespace rubia::lowering {

enum class TileBit : uint8_t { M0, M1, M2, M3, N0, N1, N2, N3, K0, K1, K2, Any };

struct FragmentLayout {
  llvm::SmallVector<TileBit, 6> lane; // from the lowest bit of the lane's number; Any: a copy
  llvm::SmallVector<TileBit, 3> reg;  // from the lowest bit of the register's number

  unsigned lanes() const { return 1u << lane.size(); }
  unsigned registers() const { return 1u << reg.size(); }
};

/// The number whose bit i is bit sources[i] of `value`; those without a source are 0.
llvm::Value *gatherBits(llvm::IRBuilder<> &b, llvm::Value *value,
                        llvm::ArrayRef<std::optional<unsigned>> sources);

/// Which bit it is; nothing if it is none of them.
std::optional<unsigned> indexOf(llvm::ArrayRef<TileBit> bits, TileBit bit);

/// A lane's value from a lane of the wave that it names, 0 to 63. Through LDS's crossbar.
llvm::Value *pullFromWaveLane(llvm::IRBuilder<> &b, llvm::Value *value, llvm::Value *lane);

/// The lane's number in the wave.
llvm::Value *waveLane(llvm::IRBuilder<> &b, const Target &target);

/// Moves the words of a tile, i32 each, from one layout to another one, which has the same bits.
/// `lane` is the lane's number in `to`; `first` the lane of the wave where `from` begins.
llvm::SmallVector<llvm::Value *, 8> moveWords(llvm::IRBuilder<> &b, const FragmentLayout &from,
                                              llvm::ArrayRef<llvm::Value *> words,
                                              const FragmentLayout &to, llvm::Value *lane,
                                              unsigned first);

} // namespace rubia::lowering
