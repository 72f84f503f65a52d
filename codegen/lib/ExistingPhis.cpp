// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/ExistingPhis.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/SSAUpdater.h"
#include "llvm/Transforms/Utils/SSAUpdaterImpl.h"
#include <atomic>

using namespace llvm;

namespace rubia::codegen {

static std::atomic<uint64_t> searches, phis;
static constexpr unsigned kMostPhis = 16; // that a search for constants looks at

void searchForPhisByUses() {}

uint64_t searchesForPhis() { return searches; }
uint64_t phisOfSearches() { return phis; }

/// The phis of the last block that get the value through phis of those before it, one of each.
static SmallSetVector<PHINode *, 8> phisOf(Value *value, ArrayRef<const BasicBlock *> blocks) {
  SmallSetVector<PHINode *, 8> found;
  auto addUsers = [&](Value *used, const BasicBlock *block) {
    for (User *user : used->users())
      if (auto *phi = dyn_cast<PHINode>(user); phi && phi->getParent() == block)
        found.insert(phi);
  };
  addUsers(value, blocks.front());
  uint64_t come = found.size();
  for (const BasicBlock *block : blocks.drop_front()) {
    for (PHINode *phi : found.takeVector())
      addUsers(phi, block);
    come += found.size();
  }
  phis.fetch_add(come, std::memory_order_relaxed);
  return found;
}

} // namespace rubia::codegen

namespace llvm {

// What the members below name of it. LLVM's own is in no header.
template <> class SSAUpdaterTraits<SSAUpdater> {
public:
  using BlkT = BasicBlock;
  using ValT = Value *;
  using PhiT = PHINode;
};

// LLVM's, as it is.
template <>
bool SSAUpdaterImpl<SSAUpdater>::CheckIfPHIMatches(
    PHINode *, SmallVectorImpl<SSAUpdaterImpl<SSAUpdater>::BBInfo *> &);

template <> void SSAUpdaterImpl<SSAUpdater>::FindExistingPHI(BasicBlock *block) {
  rubia::codegen::searches.fetch_add(1, std::memory_order_relaxed);
  SmallVector<BBInfo *, 20> matched;
  auto isFound = [&](PHINode &phi) {
    if (!CheckIfPHIMatches(&phi, matched))
      return false;
    for (BBInfo *info : matched) {
      info->AvailableVal = info->PHITag;
      (*AvailableVals)[info->BB] = info->PHITag;
    }
    return true;
  };

  // A phi that matches gets every value that is known on the ways to it, by a phi of each block on
  // the way whose value is not known. The nearest such value is enough.
  struct Unknown {
    BBInfo *info;
    unsigned next; // on the way to the block
  };
  SmallVector<Unknown, 16> unknown = {{BBMap[block], 0}};
  SmallPtrSet<const BBInfo *, 16> seen = {unknown.front().info};
  for (unsigned i = 0; i < unknown.size(); ++i) {
    const BBInfo *info = unknown[i].info;
    for (const BBInfo *before : ArrayRef(info->Preds, info->NumPreds)) {
      BBInfo *definition = before->DefBB;
      Value *value = definition->AvailableVal;
      if (!value) {
        if (seen.insert(definition).second)
          unknown.push_back({definition, i});
      } else if (!isa<Constant>(value)) {
        SmallVector<const BasicBlock *, 8> way = {unknown[i].info->BB};
        for (unsigned at = i; at; at = unknown[at].next)
          way.push_back(unknown[unknown[at].next].info->BB);
        for (PHINode *phi : rubia::codegen::phisOf(value, way))
          if (isFound(*phi))
            return;
        return;
      }
    }
  }
  // The values are constants.
  unsigned looked = 0;
  for (PHINode &phi : block->phis())
    if (looked++ == rubia::codegen::kMostPhis || isFound(phi))
      return;
}

} // namespace llvm
