// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/frame/MeetingPlaces.h"
#include "lowering/lib/frame/FunctionLowering.h"

using namespace llvm;

namespace rubia::lowering {

MeetingPlaces::MeetingPlaces(FunctionLowering &fn, const WarpMeetings &meetings) : fn(fn) {
  const auto found = meetings.find(&fn.ptxFunction());
  if (found == meetings.end())
    return;
  for (const SmallVector<uint32_t, 2> &instructions : found->second.places) {
    for (uint32_t index : instructions)
      placeOf[index] = places.size();
    places.emplace_back().instructions = instructions;
  }
}

bool MeetingPlaces::lower(uint32_t index) {
  const auto found = placeOf.find(index);
  if (found == placeOf.end())
    return false;
  Place &place = places[found->second];
  const ptx::Instruction &instruction = fn.ptxFunction().body[index];
  fn.begin(instruction);
  if (!place.block) {
    make(place);
    fn.begin(instruction);
  }
  fn.lowerGuarded(instruction, [&] { visit(place, index); });
  return true;
}

// A type of PTX as a slot has it.
static IntegerType *slotType(FunctionLowering &fn, ptx::Type type) {
  return fn.intType(unsigned(fn.typeOf(type)->getPrimitiveSizeInBits().getFixedValue()));
}

// At the first of its instructions in the text.
void MeetingPlaces::make(Place &place) {
  const ArrayRef<ptx::Instruction> body = fn.ptxFunction().body;
  // `d|p` and `d` are one instruction: the one with the most results is lowered.
  size_t model = place.instructions.front(), most = 0;
  for (uint32_t index : place.instructions) {
    fn.begin(body[index]);
    if (fn.destinationOperands().size() > most) {
      model = index;
      most = fn.destinationOperands().size();
    }
  }
  fn.begin(body[model]);
  DenseMap<const ptx::Operand *, AllocaInst *> slots;
  for (unsigned n = 0; fn.hasSource(n); ++n) {
    fn.begin(body[model]);
    const std::optional<uint64_t> constant = fn.knownConstant(n);
    const ptx::Operand &operand = fn.sourceOperand(n);
    const bool isSame = constant && all_of(place.instructions, [&](uint32_t index) {
                          fn.begin(body[index]);
                          return fn.knownConstant(n) == constant;
                        });
    AllocaInst *slot = isSame ? nullptr : fn.newSlot(slotType(fn, fn.sourceType(n)));
    place.sources.push_back(slot);
    if (slot)
      slots[&operand] = slot;
  }
  fn.begin(body[model]);
  for (auto [n, operand] : enumerate(fn.destinationOperands())) {
    place.results.push_back(fn.newSlot(slotType(fn, resultType(n))));
    slots[&operand] = place.results.back();
  }

  IRBuilder<> &b = fn.builder();
  const IRBuilderBase::InsertPointGuard guard(b);
  place.from = fn.newSlot(b.getInt32Ty());
  place.block = fn.newBlock("meeting");
  b.SetInsertPoint(place.block);
  fn.lowerWithSlots(body[model], slots);
  place.end = b.GetInsertBlock();
}

ptx::Type MeetingPlaces::resultType(size_t n) const {
  return n == 0 ? fn.destinationType() : ptx::Type::Pred;
}

void MeetingPlaces::visit(Place &place, uint32_t index) {
  IRBuilder<> &b = fn.builder();
  for (auto [n, slot] : enumerate(place.sources))
    if (slot)
      b.CreateStore(b.CreateBitCast(fn.source(unsigned(n)), slot->getAllocatedType()), slot);
  b.CreateStore(b.getInt32(index), place.from);
  b.CreateBr(place.block);

  BasicBlock *behind = fn.newBlock("met");
  if (place.ways) {
    place.ways->addCase(b.getInt32(index), behind);
  } else {
    b.SetInsertPoint(place.end);
    place.ways = b.CreateSwitch(b.CreateLoad(b.getInt32Ty(), place.from), behind);
  }
  b.SetInsertPoint(behind);
  for (auto [n, operand] : enumerate(fn.destinationOperands())) {
    AllocaInst *slot = place.results[n];
    Value *bits = b.CreateLoad(slot->getAllocatedType(), slot);
    fn.write(operand, b.CreateBitCast(bits, fn.typeOf(resultType(n))), resultType(n));
  }
}

std::vector<BasicBlock *> MeetingPlaces::blocks() const {
  std::vector<BasicBlock *> found;
  for (const Place &place : places)
    if (place.block)
      found.push_back(place.block);
  return found;
}

} // namespace rubia::lowering
