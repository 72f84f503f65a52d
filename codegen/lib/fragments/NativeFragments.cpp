// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/fragments/NativeFragments.h"
#include "codegen/lib/fragments/Factors.h"
#include "codegen/lib/fragments/Sums.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::codegen {

using namespace fragments;

namespace {

// Lowering notes them at each product.
unsigned lanesOfWaves(const Module &module) {
  unsigned lanes = 64;
  for (const Function &function : module)
    if (function.getName().starts_with(kProduct))
      function.getFnAttribute("rubia-lanes").getValueAsString().getAsInteger(10, lanes);
  return lanes;
}

// Whether a kernel's waves have all their lanes at the start.
bool fillsWaves(const Function &function, unsigned lanes) {
  if (lanes == 32)
    return true; // of a warp that is not full, mma.sync.aligned is not defined
  if (function.getCallingConv() != CallingConv::AMDGPU_KERNEL)
    return false;
  auto [least, most] =
      function.getFnAttribute("amdgpu-flat-work-group-size").getValueAsString().split(',');
  unsigned threads = 0;
  return least == most && !least.getAsInteger(10, threads) && threads % lanes == 0;
}

// ---------- The pass

class Fragments {
public:
  Fragments(Function &function, FunctionAnalysisManager &analyses) : context(function, analyses) {}

  bool run() {
    takePhisApart();
    number();
    for (BasicBlock &block : context.function)
      if (!context.divided.contains(&block))
        multiplyInPairs(block);
    if (replaced.empty())
      return false;
    sums.connect();
    finish();
    return true;
  }

private:
  struct Mma {
    CallInst *call;
    ArrayRef<Use> a() const { return ArrayRef(call->arg_begin(), 4); }
    ArrayRef<Use> b() const { return ArrayRef(call->arg_begin() + 4, 2); }
    ArrayRef<Use> c() const { return ArrayRef(call->arg_begin() + 6, 4); }
    bool hasSameA(const Mma &other) const {
      return call->getCalledFunction() == other.call->getCalledFunction() &&
             equal(a(), other.a(), [](const Use &x, const Use &y) { return x.get() == y.get(); });
    }
  };

  // ---------- Results

  // A register of an aggregate, before an instruction.
  Value *registerOf(Value *aggregate, unsigned index, Instruction *before) {
    for (User *user : aggregate->users())
      if (auto *extract = dyn_cast<ExtractValueInst>(user);
          extract && extract->getIndices() == ArrayRef(index) &&
          context.dominators.dominates(extract, before))
        return extract;
    return IRBuilder<>(before).CreateExtractValue(aggregate, index);
  }

  // InstCombine joins all that two calls return, where one or the other is executed, or one before
  // a loop and one in it. Here each register has a phi of its own.
  void takePhisApart() {
    SmallVector<PHINode *> joined;
    for (BasicBlock &block : context.function)
      for (PHINode &phi : block.phis())
        if (phi.getType()->isStructTy() && any_of(phi.incoming_values(), [](Value *value) {
              auto *inst = dyn_cast<Instruction>(value);
              return inst &&
                     (calleeOf(*inst).starts_with(kMma) || calleeOf(*inst).starts_with(kLdmatrix));
            }))
          joined.push_back(&phi);
    for (PHINode *phi : joined) {
      if (!all_of(phi->users(), [](User *user) { return isa<ExtractValueInst>(user); }))
        continue; // and the calls stay as they are
      for (User *user : make_early_inc_range(phi->users())) {
        auto *extract = cast<ExtractValueInst>(user);
        auto *part = PHINode::Create(extract->getType(), phi->getNumIncomingValues(), "",
                                     phi->getIterator());
        for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
          BasicBlock *from = phi->getIncomingBlock(i);
          part->addIncoming(
              registerOf(phi->getIncomingValue(i), extract->getIndices()[0], from->getTerminator()),
              from);
        }
        extract->replaceAllUsesWith(part);
        extract->eraseFromParent();
      }
      phi->eraseFromParent();
    }
  }

  // Whether each register of a call's result is one value at most.
  static bool isTakenApart(const CallInst *call) {
    SmallBitVector seen(4);
    for (const User *user : call->users()) {
      const auto *extract = dyn_cast<ExtractValueInst>(user);
      if (!extract || seen.test(extract->getIndices()[0]))
        return false;
      seen.set(extract->getIndices()[0]);
    }
    return true;
  }

  void number() {
    unsigned next = 0;
    for (BasicBlock &block : context.function)
      for (Instruction &inst : block)
        position[&inst] = next++;
  }
  unsigned positionOf(const Value *value) const {
    const auto *inst = dyn_cast<Instruction>(value);
    return inst ? position.lookup(inst) : 0;
  }

  // ---------- Pairs

  // The registers of a call's result; null: not used.
  static Registers resultsOf(CallInst *call, unsigned count) {
    Registers results(count, nullptr);
    for (User *user : call->users())
      if (auto *extract = dyn_cast<ExtractValueInst>(user))
        results[extract->getIndices()[0]] = extract;
    return results;
  }

  // Whether a result is used in its block before `end`, so that it cannot be computed there.
  bool isUsedBefore(CallInst *call, CallInst *end) const {
    for (User *extract : call->users()) {
      if (!isa<ExtractValueInst>(extract))
        return true;
      for (User *user : extract->users())
        if (auto *inst = dyn_cast<Instruction>(user); inst->getParent() == call->getParent() &&
                                                      !isa<PHINode>(inst) &&
                                                      positionOf(inst) <= positionOf(end))
          return true;
    }
    return false;
  }

  void multiplyInPairs(BasicBlock &block) {
    SmallVector<Mma> all;
    for (Instruction &inst : block)
      if (calleeOf(inst).starts_with(kMma) && isTakenApart(cast<CallInst>(&inst)))
        all.push_back({cast<CallInst>(&inst)});
    SmallVector<bool> done(all.size(), false);
    factors.beginBlock();
    for (size_t i = 0; i < all.size(); ++i) {
      if (done[i])
        continue;
      size_t partner = 0;
      for (size_t j = i + 1; j < all.size() && j < i + kWindow; ++j) {
        if (done[j] || !all[i].hasSameA(all[j]) || isUsedBefore(all[i].call, all[j].call))
          continue;
        CallInst *load = loadBefore(all[i].b()[0]).first;
        const bool isLoadedTogether = load && load == loadBefore(all[j].b()[0]).first;
        if (!partner || isLoadedTogether)
          partner = j;
        if (isLoadedTogether)
          break;
      }
      done[i] = true;
      if (!partner) {
        multiply(all[i], nullptr, all[i].call);
        continue;
      }
      done[partner] = true;
      // In the same order wherever these factors meet.
      auto key = [&](const Mma &mma) {
        auto [load, index] = loadBefore(mma.b()[0]);
        return std::pair(load ? positionOf(load) : positionOf(mma.b()[0]), index);
      };
      Mma first = all[i], second = all[partner];
      if (key(second) < key(first))
        std::swap(first, second);
      multiply(first, &second, all[partner].call);
    }
  }

  void multiply(const Mma &first, const Mma *second, CallInst *before) {
    IRBuilder<> b(before);
    Registers ofB(first.b().begin(), first.b().end());
    Registers ofC(first.c().begin(), first.c().end());
    Registers results = resultsOf(first.call, 4);
    if (second) {
      append_range(ofB, second->b());
      append_range(ofC, second->c());
      append_range(results, resultsOf(second->call, 4));
    }
    ofB.resize(4);
    ofC.resize(kSums);
    results.resize(kSums);
    Native aTile = factors.input(b, "a", Registers(first.a().begin(), first.a().end()));
    Native bTile = factors.input(b, "b", ofB);
    Function *multiplies = context.called(
        kProduct + first.call->getCalledFunction()->getName().drop_front(kMma.size()));
    Product product;
    Value *none = PoisonValue::get(multiplies->getReturnType());
    for (auto [aOfWarp, bOfWarp] : zip_equal(aTile, bTile))
      product.push_back(b.CreateCall(multiplies, {aOfWarp, bOfWarp, none}));
    replaced.push_back(first.call);
    if (second)
      replaced.push_back(second->call);
    sums.add(product, ofC, results);
  }

  // Everything that was computed in PTX's layout goes; what still needs it gets it.
  void finish() {
    for (CallInst *mma : replaced)
      for (Use &operand : mma->args())
        operand.set(PoisonValue::get(operand->getType()));
    sums.moveBack();
    for (CallInst *mma : replaced) {
      for (User *extract : make_early_inc_range(mma->users()))
        cast<Instruction>(extract)->eraseFromParent();
      mma->eraseFromParent();
    }
  }

  static constexpr size_t kWindow = 64; // in which a partner is looked for

  const Context context;
  Factors factors{context};
  Sums sums{context};
  DenseMap<const Instruction *, unsigned> position; // in the text
  SmallVector<CallInst *> replaced;                 // mma that became products
};

} // namespace

bool hasNativeFragments(const Module &module) {
  return any_of(module,
                [](const Function &function) { return function.getName().starts_with(kProduct); });
}

PreservedAnalyses NativeFragmentsPass::run(Function &function, FunctionAnalysisManager &analyses) {
  if (function.getName().starts_with("__rubia_"))
    return PreservedAnalyses::all();
  if (!fillsWaves(function, lanesOfWaves(*function.getParent())))
    return PreservedAnalyses::all();
  return Fragments(function, analyses).run() ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace rubia::codegen
