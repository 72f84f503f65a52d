// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/NativeFragments.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/UniformityAnalysis.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/SaveAndRestore.h"
#include <map>

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr StringLiteral kMma = "__rubia_mma.", kProduct = "__rubia_product.";
constexpr StringLiteral kLdmatrix = "__rubia_ldmatrix.x";
constexpr unsigned kSums = 8; // registers of two mma

StringRef calleeOf(const Instruction &inst) {
  const auto *call = dyn_cast<CallInst>(&inst);
  Function *callee = call ? call->getCalledFunction() : nullptr;
  return callee ? callee->getName() : StringRef();
}

// Registers of PTX's fragments; null: of no interest.
using Registers = SmallVector<Value *, 8>;
// A fragment of the unit: a vector for each warp in a wave.
using Native = SmallVector<Value *, 2>;

// A value in the unit's layout, and the values in PTX's that it stands for.
struct Definition {
  Native native;
  Registers registers; // extracts of calls of mma, or phis
  BasicBlock *block = nullptr;
};

// ---------- Where all lanes are on

// Blocks that some lanes of a wave may execute without the others.
DenseSet<BasicBlock *> dividedBlocks(Function &function, UniformityInfo &uniformity,
                                     const PostDominatorTree &postDominators) {
  DenseSet<BasicBlock *> divided;
  for (BasicBlock &block : function) {
    if (!uniformity.hasDivergentTerminator(block))
      continue;
    // What lies between the branch and the block where all its ways meet.
    auto *node = postDominators.getNode(&block);
    BasicBlock *meeting = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
    SmallVector<BasicBlock *> worklist(successors(&block));
    DenseSet<BasicBlock *> seen;
    while (!worklist.empty()) {
      BasicBlock *next = worklist.pop_back_val();
      if (next == meeting || !seen.insert(next).second)
        continue;
      divided.insert(next);
      append_range(worklist, successors(next));
    }
  }
  return divided;
}

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
  Fragments(Function &function, FunctionAnalysisManager &analyses)
      : function(function), module(*function.getParent()),
        uniformity(analyses.getResult<UniformityInfoAnalysis>(function)),
        dominators(analyses.getResult<DominatorTreeAnalysis>(function)),
        loops(analyses.getResult<LoopAnalysis>(function)),
        divided(dividedBlocks(function, uniformity,
                              analyses.getResult<PostDominatorTreeAnalysis>(function))) {}

  bool run() {
    takePhisApart();
    number();
    for (BasicBlock &block : function)
      if (!divided.contains(&block))
        multiplyInPairs(block);
    if (products.empty())
      return false;
    for (auto &[product, registers] : pending)
      setSums(product, registers);
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
  // An operation that is done in the unit's layout, its bits, and what these were.
  struct Computed {
    BinaryOperator *operation;
    Instruction *bits, *before;
  };
  // A product of one warp each, and where its sums come from.
  using Product = SmallVector<CallInst *, 2>;

  // ---------- Results

  // A register of an aggregate, before an instruction.
  Value *registerOf(Value *aggregate, unsigned index, Instruction *before) {
    for (User *user : aggregate->users())
      if (auto *extract = dyn_cast<ExtractValueInst>(user);
          extract && extract->getIndices() == ArrayRef(index) &&
          dominators.dominates(extract, before))
        return extract;
    return IRBuilder<>(before).CreateExtractValue(aggregate, index);
  }

  // InstCombine joins all that two calls return, where one or the other is executed, or one before
  // a loop and one in it. Here each register has a phi of its own.
  void takePhisApart() {
    SmallVector<PHINode *> joined;
    for (BasicBlock &block : function)
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
    for (BasicBlock &block : function)
      for (Instruction &inst : block)
        position[&inst] = next++;
  }
  unsigned positionOf(const Value *value) const {
    const auto *inst = dyn_cast<Instruction>(value);
    return inst ? position.lookup(inst) : 0;
  }
  Function *called(const Twine &name) {
    SmallString<64> buffer;
    Function *found = module.getFunction(name.toStringRef(buffer));
    assert(found && "lowering makes all of them");
    return found;
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

  // The ldmatrix that a register comes from, and which of its registers it is.
  static std::pair<CallInst *, unsigned> loadOf(Value *value) {
    auto *extract = dyn_cast<ExtractValueInst>(value);
    auto *call = extract ? dyn_cast<CallInst>(extract->getAggregateOperand()) : nullptr;
    if (!call || !calleeOf(*call).starts_with(kLdmatrix))
      return {nullptr, 0};
    return {call, extract->getIndices()[0]};
  }

  // The same, where it may have been read a round of a loop before.
  static std::pair<CallInst *, unsigned> loadBefore(Value *value) {
    if (auto *phi = dyn_cast<PHINode>(value))
      for (Value *incoming : phi->incoming_values())
        if (auto found = loadOf(incoming); found.first)
          return found;
    return loadOf(value);
  }

  void multiplyInPairs(BasicBlock &block) {
    SmallVector<Mma> all;
    for (Instruction &inst : block)
      if (calleeOf(inst).starts_with(kMma) && isTakenApart(cast<CallInst>(&inst)))
        all.push_back({cast<CallInst>(&inst)});
    SmallVector<bool> done(all.size(), false);
    toUnit.clear();
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
    Registers factors(first.b().begin(), first.b().end());
    Registers sums(first.c().begin(), first.c().end());
    Registers results = resultsOf(first.call, 4);
    if (second) {
      append_range(factors, second->b());
      append_range(sums, second->c());
      append_range(results, resultsOf(second->call, 4));
    }
    factors.resize(4);
    sums.resize(kSums);
    results.resize(kSums);
    Native aTile = input(b, "a", Registers(first.a().begin(), first.a().end()));
    Native bTile = input(b, "b", factors);
    Function *multiplies =
        called(kProduct + first.call->getCalledFunction()->getName().drop_front(kMma.size()));
    Product product;
    Native native;
    for (size_t warp = 0; warp < aTile.size(); ++warp) {
      Value *none = PoisonValue::get(multiplies->getReturnType());
      product.push_back(b.CreateCall(multiplies, {aTile[warp], bTile[warp], none}));
      native.push_back(product.back());
    }
    products.push_back(first.call);
    if (second)
      products.push_back(second->call);
    pending.push_back({product, sums});
    define({native, results, before->getParent()});
  }

  void define(Definition definition) {
    const size_t index = definitions.size();
    for (auto [i, value] : enumerate(definition.registers))
      if (value)
        definedBy[value] = {index, unsigned(i)};
    definitions.push_back(std::move(definition));
  }

  // ---------- Factors

  Native split(IRBuilder<> &b, Value *structure) {
    Native native;
    for (unsigned i = 0; i < structure->getType()->getStructNumElements(); ++i)
      native.push_back(b.CreateExtractValue(structure, i));
    return native;
  }

  // A or B in the unit's layout: read so, or converted once in a block.
  Native input(IRBuilder<> &b, StringRef which, const Registers &registers) {
    Native &native = toUnit[{which == "a", registers}];
    if (!native.empty())
      return native;
    if (auto loaded = loadInLayout(which, registers))
      return native = *loaded;
    if (auto loaded = loadedBefore(which, registers))
      return native = *loaded;
    SmallVector<Value *> arguments;
    for (Value *value : registers)
      arguments.push_back(value ? value : b.getInt32(0));
    return native = split(b, b.CreateCall(called("__rubia_tile_" + which), arguments));
  }

  // The registers of one ldmatrix, read where that is.
  std::optional<Native> loadInLayout(StringRef which, const Registers &registers) {
    CallInst *load = nullptr;
    uint32_t order = 0;
    for (auto [i, value] : enumerate(registers)) {
      // What is of no interest may be anything.
      auto [from, index] = loadOf(value ? value : registers[i - 2]);
      if (!from || (load && from != load))
        return std::nullopt;
      load = from;
      order |= index << (2 * i);
    }
    StringRef name = calleeOf(*load);
    if (divided.contains(load->getParent()))
      return std::nullopt;
    const StringRef suffix = name.ends_with(".trans") ? ".trans" : "";
    if (!module.getFunction(("__rubia_ldmatrix_rows_" + which + suffix).str()))
      return std::nullopt;
    Native &native = loads[{load, which == "a", order}];
    if (!native.empty())
      return native;

    Address address = addressOf(load->getArgOperand(0));
    Native rows = rowsOf(address.base, load, (which + suffix).str(), order);
    IRBuilder<> b(load);
    Function *read = called("__rubia_ldmatrix_read" + suffix);
    for (Value *row : rows) {
      Type *type = row->getType();
      for (Value *sum : address.uniform) {
        if (auto *vector = dyn_cast<FixedVectorType>(type))
          sum = b.CreateVectorSplat(vector->getNumElements(), sum);
        row = b.CreateAdd(row, sum);
      }
      native.push_back(b.CreateCall(read, {row, b.getInt32(address.constant)}));
    }
    return native;
  }

  // Phis of what ldmatrix read before: a loop may read what its next round multiplies.
  std::optional<Native> loadedBefore(StringRef which, const Registers &registers) {
    auto *model = dyn_cast_or_null<PHINode>(registers[0]);
    if (!model ||
        !all_of(registers,
                [&](Value *value) {
                  auto *phi = dyn_cast_or_null<PHINode>(value);
                  return !value || (phi && phi->getParent() == model->getParent());
                }) ||
        isDivided(model->getParent()))
      return std::nullopt;
    Native &phis = loadPhis[{which == "a", registers}];
    if (!phis.empty())
      return phis;
    SmallVector<Native> incoming;
    for (BasicBlock *from : model->blocks()) {
      Registers before;
      for (Value *value : registers)
        before.push_back(value ? cast<PHINode>(value)->getIncomingValueForBlock(from) : nullptr);
      auto loaded = loadInLayout(which, before);
      if (!loaded)
        return std::nullopt;
      incoming.push_back(std::move(*loaded));
    }
    IRBuilder<> b(model);
    for (size_t warp = 0; warp < incoming[0].size(); ++warp) {
      PHINode *phi = b.CreatePHI(incoming[0][warp]->getType(), model->getNumIncomingValues());
      for (auto [from, loaded] : zip_equal(model->blocks(), incoming))
        phi->addIncoming(loaded[warp], from);
      phis.push_back(phi);
    }
    return phis;
  }

  // base + uniform + constant; the same lanes' bases may be moved once for many addresses.
  struct Address {
    Value *base;
    SmallVector<Value *, 2> uniform;
    uint32_t constant;
  };
  Address addressOf(Value *value) {
    Address address{value, {}, 0};
    while (true) {
      if (auto *number = dyn_cast<PtrToIntInst>(address.base)) {
        if (!takePointerApart(address, number))
          break;
        continue;
      }
      auto *sum = dyn_cast<BinaryOperator>(address.base);
      auto *joined = dyn_cast<PossiblyDisjointInst>(address.base);
      if (!sum || !(sum->getOpcode() == Instruction::Add || (joined && joined->isDisjoint())))
        break;
      Value *left = sum->getOperand(0), *right = sum->getOperand(1);
      if (isa<ConstantInt>(left) || (uniformity.isUniform(left) && !isa<ConstantInt>(right)))
        std::swap(left, right);
      if (auto *constant = dyn_cast<ConstantInt>(right))
        address.constant += uint32_t(constant->getZExtValue());
      else if (uniformity.isUniform(right))
        address.uniform.push_back(right);
      else
        break;
      address.base = left;
    }
    return address;
  }

  // What a pointer with constant offsets was made of.
  bool takePointerApart(Address &address, PtrToIntInst *number) const {
    const DataLayout &layout = module.getDataLayout();
    Value *pointer = number->getPointerOperand();
    APInt offset(layout.getIndexTypeSizeInBits(pointer->getType()), 0);
    pointer = pointer->stripAndAccumulateConstantOffsets(layout, offset, /*AllowNonInbounds=*/true);
    auto *from = dyn_cast<IntToPtrInst>(pointer);
    if (!from || from->getOperand(0)->getType() != number->getType())
      return false;
    address.base = from->getOperand(0);
    address.constant += uint32_t(offset.getZExtValue());
    return true;
  }

  // The addresses that each lane reads, moved where the lanes' own were computed if all were there.
  Native rowsOf(Value *base, CallInst *load, const std::string &which, uint32_t order) {
    Native &rows = movedRows[{base, which, order}];
    if (!rows.empty() && dominators.dominates(cast<Instruction>(rows[0]), load))
      return rows;
    BasicBlock::iterator place = load->getIterator();
    BasicBlock *entry = &function.getEntryBlock();
    if (auto *inst = dyn_cast<Instruction>(base)) {
      if (!divided.contains(inst->getParent()))
        if (auto behind = inst->getInsertionPointAfterDef())
          place = *behind;
    } else {
      place = entry->getFirstInsertionPt();
    }
    IRBuilder<> b(place->getParent(), place);
    b.SetCurrentDebugLocation(load->getDebugLoc());
    return rows = split(b, b.CreateCall(called("__rubia_ldmatrix_rows_" + which),
                                        {base, b.getInt32(order)}));
  }

  // Whether lanes may have come to a block on different ways.
  bool isDivided(BasicBlock *block) const {
    return divided.contains(block) ||
           any_of(predecessors(block), [&](BasicBlock *from) { return divided.contains(from); });
  }

  // ---------- Sums

  void setSums(const Product &product, const Registers &registers) {
    Native sums = sumsAt(registers, product[0]->getIterator());
    for (auto [call, sum] : zip_equal(product, sums))
      call->setArgOperand(2, sum);
  }

  static bool isSplat(const Registers &registers) {
    Value *first = registers[0];
    return isa<ConstantInt>(first) && all_of(registers, [&](Value *v) { return !v || v == first; });
  }

  // The sums in the unit's layout: those that have it already, else moved before `place`.
  Native sumsAt(Registers registers, BasicBlock::iterator place) {
    for (Value *&value : registers)
      if (Value *bits = renamed.lookup(value))
        value = bits;
    if (isSplat(registers))
      return Native(definitions[0].native.size(),
                    ConstantVector::getSplat(
                        cast<VectorType>(definitions[0].native[0]->getType())->getElementCount(),
                        cast<Constant>(registers[0])));
    if (std::optional<Native> native = nativeSums(registers))
      return *native;
    return movedSums(registers, place);
  }

  // Sums that have the unit's layout, or whose operands have it.
  std::optional<Native> nativeSums(const Registers &registers) {
    if (const Definition *known = definitionOf(registers))
      return known->native;
    if (std::optional<Native> phi = phiOf(registers))
      return phi;
    return computedOf(registers);
  }

  Native movedSums(const Registers &registers, BasicBlock::iterator place) {
    IRBuilder<> b(place->getParent(), place);
    if (!b.getCurrentDebugLocation())
      b.SetCurrentDebugLocation(pending[0].first[0]->getDebugLoc());
    SmallVector<Value *> arguments;
    for (Value *value : registers)
      arguments.push_back(value ? b.CreateBitCast(value, b.getInt32Ty()) : b.getInt32(0));
    return split(b, b.CreateCall(called("__rubia_tile_c"), arguments));
  }

  // ---------- Sums that are computed with between products

  // The f32 operation that each register is the result of, if it is the same for all.
  static SmallVector<BinaryOperator *, 8> operationsOf(const Registers &registers) {
    SmallVector<BinaryOperator *, 8> operations;
    BinaryOperator *model = nullptr;
    for (Value *value : registers) {
      auto *cast = dyn_cast_or_null<BitCastInst>(value);
      auto *operation = cast ? dyn_cast<BinaryOperator>(cast->getOperand(0)) : nullptr;
      if (value &&
          (!operation || !operation->getType()->isFloatTy() || is_contained(operations, operation)))
        return {};
      if (operation && model &&
          (operation->getOpcode() != model->getOpcode() ||
           operation->getParent() != model->getParent()))
        return {};
      operations.push_back(operation);
      model = operation ? operation : model;
    }
    return operations;
  }

  // What attention does to its sums between products: each is scaled. The other operand is moved in
  // the place of the sums, there and back; it is one or two registers for all tiles of a row.
  std::optional<Native> computedOf(const Registers &registers) {
    // A loop's phi may ask for the same operations again: they are then moved at its end.
    if (isComputing)
      return std::nullopt;
    SaveAndRestore once(isComputing, true);
    SmallVector<BinaryOperator *, 8> operations = operationsOf(registers);
    auto found = find_if(operations, [](BinaryOperator *operation) { return operation; });
    if (found == operations.end() || divided.contains((*found)->getParent()))
      return std::nullopt;
    BinaryOperator *last = *found;
    for (BinaryOperator *operation : operations)
      if (operation && last->comesBefore(operation))
        last = operation;
    for (auto [value, operation] : zip_equal(registers, operations))
      if (operation && (isUsedUpTo(operation, last, value) || isUsedUpTo(value, last)))
        return std::nullopt;
    for (unsigned side : {0, 1}) {
      Registers sums, others;
      for (BinaryOperator *operation : operations) {
        auto *cast = operation ? dyn_cast<BitCastInst>(operation->getOperand(side)) : nullptr;
        sums.push_back(cast ? cast->getOperand(0) : nullptr);
        others.push_back(operation ? operation->getOperand(1 - side) : nullptr);
        if (operation && (!cast || !cast->getSrcTy()->isIntegerTy(32)))
          sums.clear();
        if (sums.empty())
          break;
      }
      std::optional<Native> first = sums.empty() ? std::nullopt : nativeSums(sums);
      if (!first)
        continue;
      Native second = operandsAt(others, last), result;
      IRBuilder<> b(last->getNextNode());
      b.SetCurrentDebugLocation(last->getDebugLoc());
      for (auto [x, y] : zip_equal(*first, second)) {
        Type *type = x->getType();
        Type *numbers = cast<VectorType>(type)->getWithNewType(b.getFloatTy());
        Value *operands[2] = {b.CreateBitCast(x, numbers), b.CreateBitCast(y, numbers)};
        result.push_back(b.CreateBitCast(
            b.CreateBinOp(last->getOpcode(), operands[side], operands[1 - side]), type));
      }
      takeOver(registers, operations, {result, {}, last->getParent()});
      return result;
    }
    return std::nullopt;
  }

  bool isComputing = false;

  // f32 operands in the unit's layout before an instruction, moved once for all that have them.
  Native operandsAt(const Registers &values, Instruction *place) {
    Native &known = movedOperands[values];
    if (known.empty() || !dominators.dominates(cast<Instruction>(known[0]), place))
      known = movedSums(values, place->getIterator());
    return known;
  }

  // Whether something but `except` needs a value before what follows `last`, in its block.
  static bool isUsedUpTo(Value *value, Instruction *last, Value *except = nullptr) {
    return any_of(value->users(), [&](User *user) {
      auto *inst = cast<Instruction>(user);
      return inst != except && inst->getParent() == last->getParent() && !isa<PHINode>(inst) &&
             !last->comesBefore(inst);
    });
  }

  // Definition's registers are the bits of the operations, which nothing else uses then.
  void takeOver(const Registers &registers, ArrayRef<BinaryOperator *> operations,
                Definition definition) {
    for (auto [value, operation] : zip_equal(registers, operations)) {
      definition.registers.push_back(nullptr);
      if (!operation)
        continue;
      IRBuilder<> b(operation->getNextNode());
      auto *bits = cast<BitCastInst>(b.CreateBitCast(operation, b.getInt32Ty()));
      value->replaceAllUsesWith(bits);
      cast<Instruction>(value)->setOperand(0, PoisonValue::get(operation->getType()));
      if (!operation->hasOneUse()) {
        Value *same = b.CreateBitCast(bits, operation->getType());
        operation->replaceUsesWithIf(same, [&](Use &use) { return use.getUser() != bits; });
      }
      definition.registers.back() = renamed[value] = bits;
      computed.push_back({operation, bits, cast<Instruction>(value)});
    }
    define(std::move(definition));
  }

  const Definition *definitionOf(const Registers &registers) const {
    std::optional<size_t> found;
    for (auto [i, value] : enumerate(registers)) {
      if (!value)
        continue;
      auto at = definedBy.find(value);
      if (at == definedBy.end() || at->second.second != i ||
          found.value_or(at->second.first) != at->second.first)
        return nullptr;
      found = at->second.first;
    }
    return found ? &definitions[*found] : nullptr;
  }

  // Phis of one block, as phis of the unit's layout.
  std::optional<Native> phiOf(const Registers &registers) {
    BasicBlock *block = nullptr;
    for (Value *value : registers) {
      auto *phi = dyn_cast_or_null<PHINode>(value);
      if (value && (!phi || (block && phi->getParent() != block) || definedBy.contains(value)))
        return std::nullopt;
      if (phi)
        block = phi->getParent();
    }
    if (!block || isDivided(block))
      return std::nullopt;

    auto *model = cast<PHINode>(*find_if(registers, [](Value *value) { return value; }));
    Native native;
    SmallVector<PHINode *, 2> phis;
    for (Value *like : Native(definitions[0].native)) {
      phis.push_back(
          PHINode::Create(like->getType(), model->getNumIncomingValues(), "tile", block->begin()));
      native.push_back(phis.back());
    }
    // Known before its operands are looked at: they lead back here round a loop.
    define({native, registers, block});
    for (unsigned i = 0; i < model->getNumIncomingValues(); ++i) {
      BasicBlock *from = model->getIncomingBlock(i);
      Registers incoming;
      for (Value *value : registers)
        incoming.push_back(value ? cast<PHINode>(value)->getIncomingValueForBlock(from) : nullptr);
      Native sums = sumsAt(incoming, from->getTerminator()->getIterator());
      for (auto [phi, sum] : zip_equal(phis, sums))
        phi->addIncoming(sum, from);
    }
    return native;
  }

  // ---------- Back

  // Everything that was computed in PTX's layout goes; what still needs it gets it.
  void finish() {
    for (CallInst *mma : products)
      for (Use &operand : mma->args())
        operand.set(PoisonValue::get(operand->getType()));
    SetVector<PHINode *> phis;
    for (const Definition &definition : definitions)
      for (Value *value : definition.registers)
        if (auto *phi = dyn_cast_or_null<PHINode>(value))
          phis.insert(phi);
    for (PHINode *phi : phis)
      for (Use &incoming : phi->incoming_values())
        incoming.set(PoisonValue::get(phi->getType()));
    for (const Computed &one : computed)
      for (Use &operand : one.operation->operands())
        operand.set(PoisonValue::get(operand->getType()));
    for (const Definition &definition : definitions)
      moveBack(definition);
    for (PHINode *phi : phis)
      phi->eraseFromParent();
    for (const Computed &one : computed) {
      one.before->eraseFromParent();
      one.bits->eraseFromParent(); // moved back by now
      one.operation->eraseFromParent();
    }
    for (CallInst *mma : products) {
      for (User *extract : make_early_inc_range(mma->users()))
        cast<Instruction>(extract)->eraseFromParent();
      mma->eraseFromParent();
    }
  }

  void moveBack(const Definition &definition) {
    BasicBlock *place = nullptr;
    SmallVector<std::pair<Use *, unsigned>> uses;
    for (auto [i, value] : enumerate(definition.registers)) {
      if (!value)
        continue;
      for (Use &use : value->uses()) {
        auto *user = cast<Instruction>(use.getUser());
        auto *phi = dyn_cast<PHINode>(user);
        BasicBlock *block = phi ? phi->getIncomingBlock(use) : user->getParent();
        place = place ? dominators.findNearestCommonDominator(place, block) : block;
        uses.push_back({&use, unsigned(i)});
      }
    }
    if (uses.empty())
      return;
    // Not oftener than the value is computed, and not where lanes are missing.
    auto isBad = [&](BasicBlock *block) {
      if (block == definition.block)
        return false;
      Loop *loop = loops.getLoopFor(block);
      return divided.contains(block) || (loop && !loop->contains(definition.block));
    };
    while (isBad(place))
      place = dominators.getNode(place)->getIDom()->getBlock();
    BasicBlock::iterator at = place->getFirstInsertionPt();
    if (place == definition.block)
      if (auto behind = cast<Instruction>(definition.native.back())->getInsertionPointAfterDef())
        at = *behind;
    IRBuilder<> b(place, at);
    if (!b.getCurrentDebugLocation())
      b.SetCurrentDebugLocation(pending[0].first[0]->getDebugLoc());
    Value *back = b.CreateCall(called("__rubia_tile_d"), definition.native);
    Registers registers;
    for (unsigned i = 0; i < kSums; ++i)
      registers.push_back(b.CreateExtractValue(back, i));
    for (auto [use, i] : uses)
      use->set(registers[i]);
  }

  static constexpr size_t kWindow = 64; // in which a partner is looked for

  Function &function;
  Module &module;
  UniformityInfo &uniformity;
  const DominatorTree &dominators;
  const LoopInfo &loops;
  const DenseSet<BasicBlock *> divided;
  DenseMap<const Instruction *, unsigned> position;    // in the text
  std::map<std::pair<bool, Registers>, Native> toUnit; // in one block
  std::map<std::tuple<CallInst *, bool, uint32_t>, Native> loads;
  std::map<std::pair<bool, Registers>, Native> loadPhis; // of fragments that were read before
  std::map<std::tuple<Value *, std::string, uint32_t>, Native> movedRows;
  SmallVector<CallInst *> products; // mma that became some
  SmallVector<std::pair<Product, Registers>, 0> pending;
  std::vector<Definition> definitions;
  std::map<Registers, Native> movedOperands;
  SmallVector<Computed> computed;
  DenseMap<Value *, Value *> renamed; // what their bits were to what they are
  DenseMap<Value *, std::pair<size_t, unsigned>> definedBy;
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
