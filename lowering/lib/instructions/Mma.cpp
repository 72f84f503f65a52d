// SPDX-License-Identifier: Apache-2.0
// mma: operands, and which route computes the product.
// PTX ISA: warp-level-matrix-instructions.
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/MmaForm.h"
#include "lowering/lib/instructions/NativeMma.h"

using namespace llvm;

namespace rubia::lowering {

static SmallVector<Value *, 8> readFragment(FunctionLowering &fn, const MmaForm &form,
                                            MmaMatrix matrix, const ptx::Operand &operand) {
  SmallVector<Value *, 8> registers;
  for (const ptx::Operand &element : fn.elementsOf(operand, form.registers(matrix)))
    registers.push_back(fn.read(element, ptx::Type::B32));
  return registers;
}

// mma.sync.aligned.shape.alayout.blayout{.satfinite}.dtype.atype.btype.ctype d, a, b, c
Expected<Value *> lowerMma(FunctionLowering &fn, const ptx::Instruction &inst) {
  std::optional<MmaForm> form = MmaForm::of(inst);
  if (!form)
    return fn.malformed(inst, "a shape is needed");
  if (!hasNativeMma(fn.target(), *form, /*mayFlush=*/false))
    return fn.unsupported(inst, "unsupported instruction: " + fn.target().name() +
                                    " has no matrix unit for it");
  auto sums = multiplyNatively(fn, *form, /*mayFlush=*/false,
                               readFragment(fn, *form, MmaMatrix::A, inst.operands[1]),
                               readFragment(fn, *form, MmaMatrix::B, inst.operands[2]),
                               readFragment(fn, *form, MmaMatrix::C, inst.operands[3]));
  auto elements = fn.elementsOf(inst.operands[0], form->registers(MmaMatrix::D));
  for (auto [element, value] : zip_equal(elements, sums))
    fn.write(element, value, ptx::Type::B32);
  return nullptr;
}

} // namespace rubia::lowering
