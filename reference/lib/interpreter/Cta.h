// SPDX-License-Identifier: Apache-2.0
// A CTA and the grid that it is of: shared memory, barriers, and warps in turns.
#pragma once

#include "reference/lib/interpreter/Memory.h"
#include "reference/lib/interpreter/Warp.h"

namespace rubia::reference::interpreter {

/// Addresses that functions have in memory which another machine has filled.
using FunctionAliases = std::map<uint64_t, const ptx::Function *>;

/// A .const variable's address in memory that another machine has filled, and here.
struct ConstantAlias {
  uint64_t theirs = 0, ours = 0, bytes = 0;
};

struct TextureMap;

/// What all CTAs of a launch share.
struct Grid {
  const ptx::Module &module;
  const KernelCode &code;
  const Launch &launch;
  GlobalMemory &global;
  std::vector<uint8_t> &parameters;
  std::vector<MemoryRange> constants = {}; // .const variables
  uint64_t workspace = 0;                  // address of what cooperative groups count in
  const FunctionAliases *aliases = nullptr;
  llvm::ArrayRef<ConstantAlias> constantAliases = {};
  const TextureMap *textures = nullptr;
  std::string error = {}; // empty: none
  Statistics statistics = {};
  std::function<uint64_t(uint64_t)> allocate = {}; // device malloc; 0: no memory
  std::function<bool(uint64_t)> release = {};      // false: not allocated

  /// Where constant memory of this address is here.
  uint64_t constantAddress(uint64_t address) const {
    for (const ConstantAlias &alias : constantAliases)
      if (address - alias.theirs < alias.bytes)
        return alias.ours + (address - alias.theirs);
    return address;
  }
};

class Cta {
public:
  Cta(Grid &grid, std::array<uint32_t, 3> index);

  /// Gives each warp a turn. False: none could go on, and not all have ended.
  bool turn();
  bool hasEnded() const;
  /// Why no warp can go on.
  void reportDeadlock();

  /// A warp's lanes have all come to a barrier, or have ended since.
  void check(Warp &warp, uint32_t barrier);
  /// A warp arrives without waiting.
  void arrive(Warp &warp, uint32_t barrier, uint32_t threads);
  void warpEnded(Warp &warp);
  void clusterArrive(Warp &warp);
  void clusterWait(Warp &warp);

  static constexpr uint32_t kBarriers = 16, kClusterBarrier = 16;
  /// Where the four warps of a warpgroup meet, one for each.
  static constexpr uint32_t kWarpgroupBarriers = 17, kWarpgroups = 8;
  Grid &grid;
  const std::array<uint32_t, 3> index;
  std::vector<uint8_t> shared;
  uint64_t clusterPhase = 0;

private:
  struct Barrier {
    uint32_t arrivals = 0, expected = 0; // warps; expected 0: all that have not ended
    bool all = true, any = false;
    uint32_t count = 0;
    llvm::SmallVector<Warp *, 8> waiting;
  };
  unsigned liveWarps() const;
  bool count(Warp &warp, uint32_t barrier, uint32_t threads);
  void complete(uint32_t number);
  std::array<Barrier, kWarpgroupBarriers + kWarpgroups> barriers;
  std::vector<std::unique_ptr<Warp>> warps;
};

} // namespace rubia::reference::interpreter
