// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/fragments/Sums.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace llvm;

namespace rubia::codegen::fragments {

void Sums::add(const Product &product, const Registers &sums, const Registers &results) {
  products.push_back({product, sums});
  define({Native(product.begin(), product.end()), results, product[0]->getParent()});
}

void Sums::connect() {
  for (auto &[product, registers] : products) {
    Native sums = sumsAt(registers, product[0]->getIterator());
    for (auto [call, sum] : zip_equal(product, sums))
      call->setArgOperand(2, sum);
  }
}

void Sums::define(Definition definition) {
  const size_t index = definitions.size();
  for (auto [i, value] : enumerate(definition.registers))
    if (value)
      definedBy[value] = {index, unsigned(i)};
  definitions.push_back(std::move(definition));
}

static bool isSplat(const Registers &registers) {
  Value *first = registers[0];
  return isa<ConstantInt>(first) && all_of(registers, [&](Value *v) { return !v || v == first; });
}

// The sums in the unit's layout: those that have it already, else moved before `place`.
Native Sums::sumsAt(Registers registers, BasicBlock::iterator place) {
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
std::optional<Native> Sums::nativeSums(const Registers &registers) {
  if (const Definition *known = definitionOf(registers))
    return known->native;
  if (std::optional<Native> phi = phiOf(registers))
    return phi;
  return computedOf(registers);
}

Native Sums::movedSums(const Registers &registers, BasicBlock::iterator place) {
  IRBuilder<> b(place->getParent(), place);
  if (!b.getCurrentDebugLocation())
    b.SetCurrentDebugLocation(products[0].first[0]->getDebugLoc());
  SmallVector<Value *> arguments;
  for (Value *value : registers)
    arguments.push_back(value ? b.CreateBitCast(value, b.getInt32Ty()) : b.getInt32(0));
  return split(b, b.CreateCall(context.called("__rubia_tile_c"), arguments));
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

// Whether something but `except` needs a value before what follows `last`, in its block.
static bool isUsedUpTo(Value *value, Instruction *last, Value *except = nullptr) {
  return any_of(value->users(), [&](User *user) {
    auto *inst = cast<Instruction>(user);
    return inst != except && inst->getParent() == last->getParent() && !isa<PHINode>(inst) &&
           !last->comesBefore(inst);
  });
}

// What attention does to its sums between products: each is scaled. The other operand is moved in
// the place of the sums, there and back; it is one or two registers for all tiles of a row.
std::optional<Native> Sums::computedOf(const Registers &registers) {
  // A loop's phi may ask for the same operations again: they are then moved at its end.
  if (isComputing)
    return std::nullopt;
  SaveAndRestore once(isComputing, true);
  SmallVector<BinaryOperator *, 8> operations = operationsOf(registers);
  auto found = find_if(operations, [](BinaryOperator *operation) { return operation; });
  if (found == operations.end() || context.divided.contains((*found)->getParent()))
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

// f32 operands in the unit's layout before an instruction, moved once for all that have them.
Native Sums::operandsAt(const Registers &values, Instruction *place) {
  Native &known = movedOperands[values];
  if (known.empty() || !context.dominators.dominates(cast<Instruction>(known[0]), place))
    known = movedSums(values, place->getIterator());
  return known;
}

// Definition's registers are the bits of the operations, which nothing else uses then.
void Sums::takeOver(const Registers &registers, ArrayRef<BinaryOperator *> operations,
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

const Definition *Sums::definitionOf(const Registers &registers) const {
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
std::optional<Native> Sums::phiOf(const Registers &registers) {
  BasicBlock *block = nullptr;
  for (Value *value : registers) {
    auto *phi = dyn_cast_or_null<PHINode>(value);
    if (value && (!phi || (block && phi->getParent() != block) || definedBy.contains(value)))
      return std::nullopt;
    if (phi)
      block = phi->getParent();
  }
  if (!block || context.isDivided(block))
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

void Sums::moveBack() {
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
}

void Sums::moveBack(const Definition &definition) {
  BasicBlock *place = nullptr;
  SmallVector<std::pair<Use *, unsigned>> uses;
  for (auto [i, value] : enumerate(definition.registers)) {
    if (!value)
      continue;
    for (Use &use : value->uses()) {
      auto *user = cast<Instruction>(use.getUser());
      auto *phi = dyn_cast<PHINode>(user);
      BasicBlock *block = phi ? phi->getIncomingBlock(use) : user->getParent();
      place = place ? context.dominators.findNearestCommonDominator(place, block) : block;
      uses.push_back({&use, unsigned(i)});
    }
  }
  if (uses.empty())
    return;
  // Not oftener than the value is computed, and not where lanes are missing.
  auto isBad = [&](BasicBlock *block) {
    if (block == definition.block)
      return false;
    Loop *loop = context.loops.getLoopFor(block);
    return context.divided.contains(block) || (loop && !loop->contains(definition.block));
  };
  while (isBad(place))
    place = context.dominators.getNode(place)->getIDom()->getBlock();
  BasicBlock::iterator at = place->getFirstInsertionPt();
  if (place == definition.block)
    if (auto behind = cast<Instruction>(definition.native.back())->getInsertionPointAfterDef())
      at = *behind;
  IRBuilder<> b(place, at);
  if (!b.getCurrentDebugLocation())
    b.SetCurrentDebugLocation(products[0].first[0]->getDebugLoc());
  Value *back = b.CreateCall(context.called("__rubia_tile_d"), definition.native);
  Registers registers;
  for (unsigned i = 0; i < kSums; ++i)
    registers.push_back(b.CreateExtractValue(back, i));
  for (auto [use, i] : uses)
    use->set(registers[i]);
}

} // namespace rubia::codegen::fragments
