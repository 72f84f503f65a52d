// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/frame/RuntimeErrors.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::lowering {

void endIf(FunctionLowering &fn, Value *condition, abi::TrapReason reason, std::string text) {
  IRBuilder<> &b = fn.builder();
  UnitLowering &unit = fn.unit();
  BasicBlock *fails = fn.newBlock("fails"), *next = fn.newBlock("right");
  b.CreateCondBr(condition, fails, next);
  b.SetInsertPoint(fails);
  const unsigned place = unit.addTrap(std::move(text));
  if (fn.isWaitedFor()) {
    emitTrapInPlace(b, unit, reason, b.getInt32(place));
    b.CreateBr(next);
  } else {
    emitTrap(b, unit, reason, place);
    b.CreateUnreachable();
  }
  b.SetInsertPoint(next);
}

void failIf(FunctionLowering &fn, const ptx::Instruction &inst, Value *condition,
            abi::TrapReason reason, const Twine &what) {
  if (auto *known = dyn_cast<ConstantInt>(condition); known && known->isZero())
    return;
  endIf(fn, condition, reason,
        fn.unit().describe(fn.ptxFunction(), inst) + ": '" + inst.spelling->text.str() +
            "': " + what.str());
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
