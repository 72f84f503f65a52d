// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/fragments/Factors.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::codegen::fragments {

// The ldmatrix that a register comes from, and which of its registers it is.
static std::pair<CallInst *, unsigned> loadOf(Value *value) {
  auto *extract = dyn_cast<ExtractValueInst>(value);
  auto *call = extract ? dyn_cast<CallInst>(extract->getAggregateOperand()) : nullptr;
  if (!call || !calleeOf(*call).starts_with(kLdmatrix))
    return {nullptr, 0};
  return {call, extract->getIndices()[0]};
}

std::pair<CallInst *, unsigned> loadBefore(Value *value) {
  if (auto *phi = dyn_cast<PHINode>(value))
    for (Value *incoming : phi->incoming_values())
      if (auto found = loadOf(incoming); found.first)
        return found;
  return loadOf(value);
}

// A or B in the unit's layout: read so, or converted once in a block.
Native Factors::input(IRBuilder<> &b, StringRef which, const Registers &registers) {
  Native &native = converted[{which == "a", registers}];
  if (!native.empty())
    return native;
  if (auto loaded = loadInLayout(which, registers))
    return native = *loaded;
  if (auto loaded = loadedBefore(which, registers))
    return native = *loaded;
  SmallVector<Value *> arguments;
  for (Value *value : registers)
    arguments.push_back(value ? value : b.getInt32(0));
  return native = split(b, b.CreateCall(context.called("__rubia_tile_" + which), arguments));
}

// The registers of one ldmatrix, read where that is.
std::optional<Native> Factors::loadInLayout(StringRef which, const Registers &registers) {
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
  if (context.divided.contains(load->getParent()))
    return std::nullopt;
  const StringRef suffix = name.ends_with(".trans") ? ".trans" : "";
  if (!context.module.getFunction(("__rubia_ldmatrix_rows_" + which + suffix).str()))
    return std::nullopt;
  Native &native = loads[{load, which == "a", order}];
  if (!native.empty())
    return native;

  Address address = addressOf(load->getArgOperand(0));
  Native rows = rowsOf(address.base, load, (which + suffix).str(), order);
  IRBuilder<> b(load);
  Function *read = context.called("__rubia_ldmatrix_read" + suffix);
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
std::optional<Native> Factors::loadedBefore(StringRef which, const Registers &registers) {
  auto *model = dyn_cast_or_null<PHINode>(registers[0]);
  if (!model ||
      !all_of(registers,
              [&](Value *value) {
                auto *phi = dyn_cast_or_null<PHINode>(value);
                return !value || (phi && phi->getParent() == model->getParent());
              }) ||
      context.isDivided(model->getParent()))
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

Factors::Address Factors::addressOf(Value *value) const {
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
    if (isa<ConstantInt>(left) || (context.uniformity.isUniform(left) && !isa<ConstantInt>(right)))
      std::swap(left, right);
    if (auto *constant = dyn_cast<ConstantInt>(right))
      address.constant += uint32_t(constant->getZExtValue());
    else if (context.uniformity.isUniform(right))
      address.uniform.push_back(right);
    else
      break;
    address.base = left;
  }
  return address;
}

// What a pointer with constant offsets was made of.
bool Factors::takePointerApart(Address &address, PtrToIntInst *number) const {
  const DataLayout &layout = context.module.getDataLayout();
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
Native Factors::rowsOf(Value *base, CallInst *load, const std::string &which, uint32_t order) {
  Native &rows = movedRows[{base, which, order}];
  if (!rows.empty() && context.dominators.dominates(cast<Instruction>(rows[0]), load))
    return rows;
  BasicBlock::iterator place = load->getIterator();
  BasicBlock *entry = &context.function.getEntryBlock();
  if (auto *inst = dyn_cast<Instruction>(base)) {
    if (!context.divided.contains(inst->getParent()))
      if (auto behind = inst->getInsertionPointAfterDef())
        place = *behind;
  } else {
    place = entry->getFirstInsertionPt();
  }
  IRBuilder<> b(place->getParent(), place);
  b.SetCurrentDebugLocation(load->getDebugLoc());
  return rows = split(b, b.CreateCall(context.called("__rubia_ldmatrix_rows_" + which),
                                      {base, b.getInt32(order)}));
}

} // namespace rubia::codegen::fragments
