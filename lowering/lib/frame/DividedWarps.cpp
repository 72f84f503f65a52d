// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/frame/DividedWarps.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/RuntimeErrors.h"
#include "lowering/lib/frame/UnitLowering.h"

using namespace llvm;

namespace rubia::lowering {

DividedWarps::DividedWarps(FunctionLowering &fn, const WarpMeetings &meetings) : fn(fn) {
  const auto found = meetings.find(&fn.ptxFunction());
  if (found == meetings.end())
    return;
  longWays = found->second.longWays;
  for (auto [number, ways] : enumerate(longWays)) {
    numberOf[ways.branch] = number;
    for (uint32_t index : ways.instructions)
      branchesBefore[index].push_back(number);
  }
  for (size_t number = 0; number < longWays.size(); number += 32) {
    AllocaInst *slot = slots.emplace_back(fn.newSlot(fn.intType(32)));
    IRBuilder<>(slot->getParent(), std::next(slot->getIterator()))
        .CreateStore(fn.constant(32, 0), slot);
  }
}

void DividedWarps::lowerBefore(uint32_t index) {
  const ptx::Instruction &instruction = fn.ptxFunction().body[index];
  if (const auto branch = numberOf.find(index); branch != numberOf.end())
    note(instruction, branch->second);
  if (const auto found = branchesBefore.find(index); found != branchesBefore.end())
    check(instruction, found->second);
}

void DividedWarps::note(const ptx::Instruction &branch, size_t number) {
  fn.begin(branch);
  IRBuilder<> &b = fn.builder();
  Value *taken = fn.ballot(fn.guardOf(branch));
  Value *isDivided =
      b.CreateAnd(b.CreateIsNotNull(taken), b.CreateICmpNE(taken, fn.ballot(b.getTrue())));
  AllocaInst *slot = slotOf(number);
  const uint32_t bit = 1u << number % 32;
  Value *others = b.CreateAnd(b.CreateLoad(b.getInt32Ty(), slot), ~bit);
  b.CreateStore(b.CreateOr(others, b.CreateSelect(isDivided, b.getInt32(bit), b.getInt32(0))),
                slot);
}

void DividedWarps::check(const ptx::Instruction &instruction, ArrayRef<size_t> branches) {
  fn.begin(instruction);
  IRBuilder<> &b = fn.builder();
  SmallVector<uint32_t> bits(slots.size());
  std::string lines;
  for (size_t number : branches) {
    bits[number / 32] |= 1u << number % 32;
    const ptx::Instruction &branch = fn.ptxFunction().body[longWays[number].branch];
    lines += (lines.empty() ? "" : ", ") + fn.unit().describe(fn.ptxFunction(), branch);
  }
  Value *isDivided = b.getFalse();
  for (auto [mask, slot] : zip(bits, slots))
    if (mask)
      isDivided = b.CreateOr(
          isDivided, b.CreateIsNotNull(b.CreateAnd(b.CreateLoad(b.getInt32Ty(), slot), mask)));
  if (instruction.guard.reg != ptx::kNone)
    isDivided = b.CreateAnd(isDivided, fn.guardOf(instruction));
  failIf(fn, instruction, isDivided, abi::TrapReason::NeedsIndependentScheduling,
         "threads of a warp come to it on several ways of a branch, which are too long for them to "
         "meet (" +
             lines + ")");
}

} // namespace rubia::lowering
