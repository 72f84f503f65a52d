// SPDX-License-Identifier: Apache-2.0
// bra, brx.idx, ret, exit. PTX ISA: control-flow-instructions. Guards are dispatch's work.
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/UnitLowering.h"

using namespace llvm;

namespace rubia::lowering {

// bra{.uni} target   .uni promises what LLVM finds out for itself.
Expected<Value *> lowerBra(FunctionLowering &fn, const ptx::Instruction &inst) {
  fn.builder().CreateBr(fn.blockOf(inst.operands[0].label));
  return nullptr;
}

// brx.idx{.uni} index, targets   An index beyond the list is undefined in PTX; it takes the first.
Expected<Value *> lowerBrxIdx(FunctionLowering &fn, const ptx::Instruction &inst) {
  ArrayRef<ptx::LabelId> targets = inst.operands[1].labels();
  if (targets.empty())
    return fn.malformed(inst, "the list of targets is empty");
  Value *index = fn.source(0, ptx::Type::U32);
  SwitchInst *dispatch =
      fn.builder().CreateSwitch(index, fn.blockOf(targets[0]), unsigned(targets.size() - 1));
  for (auto [number, target] : drop_begin(enumerate(targets)))
    dispatch->addCase(fn.builder().getInt32(uint32_t(number)), fn.blockOf(target));
  return nullptr;
}

// ret{.uni}
Expected<Value *> lowerRet(FunctionLowering &fn, const ptx::Instruction &) {
  fn.leave(/*exits=*/false);
  return nullptr;
}

// exit   ends the thread, wherever it is: a function tells its caller (UnitLowering::mayExit).
Expected<Value *> lowerExit(FunctionLowering &fn, const ptx::Instruction &) {
  fn.leave(/*exits=*/true);
  return nullptr;
}

} // namespace rubia::lowering
