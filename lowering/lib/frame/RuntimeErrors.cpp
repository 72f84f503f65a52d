// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/frame/RuntimeErrors.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::lowering {

// Ends the kernel, or the current block.
static void endKernel(FunctionLowering &fn, Value *reason, Value *place, BasicBlock *next) {
  IRBuilder<> &b = fn.builder();
  if (fn.waits()) {
    emitTrapInPlace(b, fn.unit(), reason, place);
    b.CreateBr(next);
  } else {
    emitTrapOf(b, fn.unit(), reason, place);
    b.CreateUnreachable();
  }
  b.SetInsertPoint(next);
}

static std::string textOf(FunctionLowering &fn, const ptx::Instruction &inst, const Twine &what) {
  return fn.unit().describe(fn.ptxFunction(), inst) + ": '" + inst.spelling->text.str() +
         "': " + what.str();
}

void endIf(FunctionLowering &fn, Value *condition, abi::TrapReason reason, std::string text) {
  IRBuilder<> &b = fn.builder();
  BasicBlock *fails = fn.newBlock("fails"), *next = fn.newBlock("right");
  b.CreateCondBr(condition, fails, next);
  b.SetInsertPoint(fails);
  endKernel(fn, b.getInt32(uint32_t(reason)), b.getInt32(fn.unit().addTrap(std::move(text))), next);
}

void failByCode(FunctionLowering &fn, const ptx::Instruction &inst, Value *code,
                ArrayRef<Refusal> refusals, BasicBlock *right) {
  IRBuilder<> &b = fn.builder();
  Value *reason = nullptr, *place = nullptr;
  for (const Refusal &refusal : reverse(refusals)) {
    Value *ownReason = b.getInt32(uint32_t(refusal.reason)),
          *ownPlace = b.getInt32(fn.unit().addTrap(textOf(fn, inst, refusal.what)));
    Value *isIt = b.CreateICmpEQ(code, b.getInt32(refusal.code));
    reason = reason ? b.CreateSelect(isIt, ownReason, reason) : ownReason;
    place = place ? b.CreateSelect(isIt, ownPlace, place) : ownPlace;
  }
  endKernel(fn, reason, place, right);
}

void failIf(FunctionLowering &fn, const ptx::Instruction &inst, Value *condition,
            abi::TrapReason reason, const Twine &what) {
  if (auto *known = dyn_cast<ConstantInt>(condition); known && known->isZero())
    return;
  endIf(fn, condition, reason, textOf(fn, inst, what));
}

void failIfMisaligned(FunctionLowering &fn, const ptx::Instruction &inst, Value *pointer,
                      uint64_t bytes) {
  const DataLayout &layout = fn.module().getDataLayout();
  if (pointer->getPointerAlignment(layout).value() >= bytes)
    return;
  IRBuilder<> &b = fn.builder();
  Type *type = fn.intType(layout.getPointerTypeSizeInBits(pointer->getType()));
  Value *rest = b.CreateAnd(b.CreatePtrToInt(pointer, type), ConstantInt::get(type, bytes - 1));
  failIf(fn, inst, b.CreateICmpNE(rest, ConstantInt::get(type, 0)),
         abi::TrapReason::MisalignedAddress, "an address is no multiple of " + Twine(bytes));
}

} // namespace rubia::lowering
