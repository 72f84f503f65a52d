// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/SharedConstants.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/Pass.h"
#include <map>

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr unsigned kFewestOfBlocks = 3;
/// The dominator of blocks is searched for block by block.
constexpr size_t kMostBlocks = 64;

/// Whether an operand can be neither the constant nor its upper half.
bool needsRegisters(const APInt &bits) {
  if (bits.getLoBits(32).isZero())
    return false;
  const int64_t number = bits.getSExtValue();
  return number < -16 || number > 64;
}

/// Reads scalar registers as well as constants.
bool isArithmetic(const Instruction &inst) {
  return isa<BinaryOperator, FCmpInst>(inst) ||
         (isa<IntrinsicInst>(inst) && cast<IntrinsicInst>(inst).getIntrinsicID() == Intrinsic::fma);
}

BasicBlock *blockOf(const Use *use) { return cast<Instruction>(use->getUser())->getParent(); }

/// In the order of the function, as the uses are.
SmallVector<const BasicBlock *> blocksOf(ArrayRef<Use *> uses) {
  SmallVector<const BasicBlock *> blocks;
  for (const Use *use : uses)
    if (blocks.empty() || blocks.back() != blockOf(use))
      blocks.push_back(blockOf(use));
  return blocks;
}

struct Constants {
  explicit Constants(Function &function) : function(function) {}
  bool run();

private:
  Function &function;
  MapVector<ConstantFP *, SmallVector<Use *>> uses;

  void find();
};

void Constants::find() {
  for (Instruction &inst : instructions(function)) {
    if (!isArithmetic(inst))
      continue;
    for (Use &use : inst.operands())
      if (auto *constant = dyn_cast<ConstantFP>(use); constant && constant->getType()->isDoubleTy())
        if (needsRegisters(constant->getValueAPF().bitcastToAPInt()))
          uses[constant].push_back(&use);
  }
  // Those of the same blocks, which a polynomial has several of. Few are on ways that are hardly
  // ever gone, such as large angles, and would be made on all others.
  std::map<SmallVector<const BasicBlock *>, unsigned> ofBlocks;
  for (const auto &[constant, all] : uses)
    ++ofBlocks[blocksOf(all)];
  uses.remove_if([&](const auto &entry) {
    const auto blocks = blocksOf(entry.second);
    return blocks.size() < 2 || blocks.size() > kMostBlocks ||
           ofBlocks.at(blocks) < kFewestOfBlocks;
  });
}

/// There LLVM and checkWholeWaves() look for all that a whole-wave instruction reads. Constants
/// stay where they are read.
bool hasWholeWaves(const Function &function) {
  return any_of(instructions(function), [](const Instruction &inst) {
    const auto *call = dyn_cast<IntrinsicInst>(&inst);
    return call && call->getIntrinsicID() == Intrinsic::amdgcn_strict_wwm;
  });
}

bool Constants::run() {
  find();
  if (uses.empty() || hasWholeWaves(function))
    return false;
  DominatorTree dominators(function);
  // Those of most uses have most to gain. Of equal ones the first is first.
  SmallVector<std::pair<size_t, size_t>> order;
  for (auto [place, entry] : enumerate(uses))
    order.push_back({~entry.second.size(), place});
  llvm::sort(order);
  order.truncate(std::min<size_t>(order.size(), kMostSharedConstants));
  for (size_t at : make_second_range(order)) {
    const auto &[constant, all] = *(uses.begin() + at);
    if (!all_of(all, [&](const Use *use) { return dominators.isReachableFromEntry(blockOf(use)); }))
      continue;
    // The nearest that dominates all uses. If it is in a loop, MachineLICM takes the constant out.
    BasicBlock *block = blockOf(all.front());
    for (const Use *use : all)
      block = dominators.findNearestCommonDominator(block, blockOf(use));
    Instruction *place = block->getTerminator();
    for (const Use *use : all)
      if (auto *user = cast<Instruction>(use->getUser());
          user->getParent() == block &&
          (place == block->getTerminator() || user->comesBefore(place)))
        place = user;
    // An instruction of constants, which selection keeps as a value of its block.
    Type *type = Type::getInt64Ty(function.getContext());
    auto *value = new BitCastInst(ConstantInt::get(type, constant->getValueAPF().bitcastToAPInt()),
                                  constant->getType(), "", place->getIterator());
    for (Use *use : all)
      use->set(value);
  }
  return true;
}

class SharedConstants : public FunctionPass {
public:
  static char ID;
  SharedConstants() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Shared Constants"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesCFG(); }
  bool runOnFunction(Function &function) override { return Constants(function).run(); }
};

char SharedConstants::ID = 0;

} // namespace

Pass *makeSharedConstants() { return new SharedConstants; }

} // namespace rubia::codegen
