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

static std::atomic<uint64_t> searches;
static constexpr unsigned kMostPhis = 16; // that a search for constants looks at

void searchForPhisByUses() {}

uint64_t searchesForPhis() { return searches; }

/// The phis of a block that get a value, be it through other phis.
static SmallVector<PHINode *> phisOf(Value *value, const BasicBlock *block) {
  SmallVector<PHINode *> found;
  SmallSetVector<Value *, 16> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i)
    for (User *user : reached[i]->users())
      if (auto *phi = dyn_cast<PHINode>(user); phi && reached.insert(phi))
        if (phi->getParent() == block)
          found.push_back(phi);
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

  // A phi that matches gets every value that is known on the ways to it.
  SmallSetVector<BBInfo *, 16> unknown;
  unknown.insert(BBMap[block]);
  for (size_t i = 0; i < unknown.size(); ++i)
    for (const BBInfo *before : ArrayRef(unknown[i]->Preds, unknown[i]->NumPreds)) {
      Value *value = before->DefBB->AvailableVal;
      if (!value) {
        unknown.insert(before->DefBB);
      } else if (!isa<Constant>(value)) {
        for (PHINode *phi : rubia::codegen::phisOf(value, block))
          if (isFound(*phi))
            return;
        return;
      }
    }
  // The values are constants.
  unsigned looked = 0;
  for (PHINode &phi : block->phis())
    if (looked++ == rubia::codegen::kMostPhis || isFound(phi))
      return;
}

} // namespace llvm
