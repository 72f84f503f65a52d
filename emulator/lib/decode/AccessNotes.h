// SPDX-License-Identifier: Apache-2.0
// What memory instructions were in the program that a code object was made from, as Rubia's own
// section .rubia.accesses tells (docs/architecture.md). The instructions themselves do not say
// everywhere whether they are relaxed or volatile, nor which alignment the program promised.
#pragma once

#include "emulator/lib/decode/InstructionStep.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"
#include <unordered_set>

namespace rubia::emulator {

class AccessNotes {
public:
  /// Copies what it needs of the section's contents.
  static llvm::Expected<AccessNotes> read(llvm::ArrayRef<uint8_t> section);

  /// Those of the section .rubia.warpsyncs: addresses of the file at which a __syncwarp() stood.
  llvm::Error readWarpSyncs(llvm::ArrayRef<uint8_t> section);

  bool empty() const { return functions.empty(); }
  bool isWarpSync(uint64_t address) const { return warpSyncs.contains(address); }
  /// Completes the steps of the function at `address` of the file, which has `count` instructions
  /// in memory encodings. Notes of another number are of other code, and tell nothing.
  void apply(uint64_t address, size_t count, llvm::MutableArrayRef<InstructionStep> steps) const;

private:
  llvm::DenseMap<uint64_t, std::vector<uint8_t>> functions; // by address
  std::unordered_set<uint64_t> warpSyncs;
};

/// Where a program commits and awaits asynchronous copies: the section .rubia.async.
class AsyncNotes {
public:
  static llvm::Expected<AsyncNotes> read(llvm::ArrayRef<uint8_t> section);

  bool empty() const { return marks.empty(); }
  /// The mark at an address of the file, or one of kind None.
  AsyncMark at(uint64_t address) const { return marks.lookup(address); }

private:
  llvm::DenseMap<uint64_t, AsyncMark> marks; // by address
};

} // namespace rubia::emulator
