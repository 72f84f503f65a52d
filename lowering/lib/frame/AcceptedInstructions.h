// SPDX-License-Identifier: Apache-2.0
// Instructions that lowering has accepted, by what decides that.
//
// Judging a kernel asks whether lowering reports anything. Environments have 100,000 kernels of
// 100 million instructions, with few ways to write one: the spelling, and for each operand its
// kind, type and memory. Which register, which address or which constant of a float it is decides
// nothing. So each way to write an instruction is lowered once, and later ones are passed over.
//
// This holds for instructions that compute, load, store, and for what a warp does together. It does
// not for those whose errors depend on others: calls, jumps, barriers, asynchronous copies and
// textures are always lowered.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include <array>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>

namespace rubia::lowering {

using InstructionKey = llvm::SmallString<128>;

/// The way in which it is written; nullopt: its errors depend on others.
std::optional<InstructionKey> keyOf(const ptx::Instruction &instruction,
                                    const ptx::Function &function);

/// Those that were accepted in one context. Threads may share it.
class AcceptedInstructions {
public:
  using Routes = std::set<std::string>; // what it adds to UnitLowering::matrixRoutes

  /// Null: it was not accepted yet.
  const Routes *find(llvm::StringRef key) const;
  void add(llvm::StringRef key, Routes routes);

private:
  struct Shard {
    mutable std::shared_mutex mutex;
    llvm::StringMap<Routes> routes; // entries keep their place
  };
  std::array<Shard, 16> shards;
};

} // namespace rubia::lowering
