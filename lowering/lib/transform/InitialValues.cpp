// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/transform/InitialValues.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace rubia::lowering {

// Whether one other store dominates all loads.
static bool isUnread(const StoreInst &initial, const AllocaInst &slot, const DominatorTree &tree) {
  const StoreInst *only = nullptr;
  for (const User *user : slot.users()) {
    if (user == &initial || isa<LoadInst>(user))
      continue;
    const auto *store = dyn_cast<StoreInst>(user);
    if (!store || store->getPointerOperand() != &slot || only)
      return false;
    only = store;
  }
  return only && all_of(slot.users(), [&](const User *user) {
           const auto *load = dyn_cast<LoadInst>(user);
           return !load || tree.dominates(only, load);
         });
}

void dropUnreadInitialValues(Function &function) {
  DominatorTree tree(function);
  for (Instruction &instruction : make_early_inc_range(function.getEntryBlock())) {
    auto *store = dyn_cast<StoreInst>(&instruction);
    auto *slot = store && isa<FreezeInst>(store->getValueOperand())
                     ? dyn_cast<AllocaInst>(store->getPointerOperand())
                     : nullptr;
    if (slot && isUnread(*store, *slot, tree))
      store->eraseFromParent();
  }
}

} // namespace rubia::lowering
