// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/SharedLayout.h"
#include "ptx-frontend/Effects.h"
#include "ptx-frontend/SpecialRegisters.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation CpAsyncBulkTensor, CpReduceAsyncBulkTensor, Wgmma, WgmmaSp;
} // namespace rubia::ptx::Op

namespace rubia::lowering {

namespace {

using Special = ptx::SpecialRegister;

bool tellsReserved(Special special) {
  return special == Special::ReservedSmemOffsetBegin || special == Special::ReservedSmemOffset0 ||
         special == Special::ReservedSmemOffset1 || special == Special::ReservedSmemOffsetEnd;
}

// What is swizzled by a descriptor in a register, or by a tensor map.
bool swizzles(const ptx::Instruction &instruction) {
  return instruction.op() == ptx::Op::Wgmma || instruction.op() == ptx::Op::WgmmaSp ||
         instruction.op() == ptx::Op::CpAsyncBulkTensor ||
         instruction.op() == ptx::Op::CpReduceAsyncBulkTensor;
}

// What a unit says of shared memory.
struct Mentions {
  SmallVector<const ptx::Variable *> variables; // in the order of the unit, each once
  uint32_t dynamicAlignment = 16;
  bool any = false, dynamic = false, reserved = false;

  explicit Mentions(const Unit &unit) {
    for (ArrayRef<const ptx::Function *> functions :
         {ArrayRef(unit.kernels), ArrayRef(unit.functions)})
      for (const ptx::Function *function : functions)
        for (const ptx::Instruction &instruction : function->body) {
          any |= instruction.spelling->text.contains(".shared");
          if (swizzles(instruction)) {
            any = true;
            dynamicAlignment = std::max(dynamicAlignment, kSwizzleAlignment);
          }
          for (const ptx::Operand &operand : instruction.operands)
            visit(operand);
        }
    any |= reserved || dynamic || !variables.empty();
  }

private:
  DenseSet<const ptx::Variable *> seen;

  void visit(const ptx::Operand &operand) {
    if (operand.kind == ptx::Operand::Kind::SpecialRegister) {
      reserved |= tellsReserved(operand.special);
      dynamic |= operand.special == Special::DynamicSmemSize;
    }
    const ptx::Variable *variable = operand.variable();
    if (variable && variable->space == ptx::StateSpace::Shared && seen.insert(variable).second) {
      if (!variable->incomplete)
        variables.push_back(variable);
      else
        dynamicAlignment =
            std::max(dynamicAlignment, uint32_t(PowerOf2Ceil(std::max(variable->alignment, 1u))));
      dynamic |= variable->incomplete;
    }
    for (const ptx::Operand &element : operand.elements())
      visit(element);
  }
};

} // namespace

SharedLayout layOutShared(const Unit &unit) {
  Mentions mentions(unit);
  SharedLayout layout;
  layout.isUsed = mentions.any;
  if (mentions.reserved)
    layout.dynamic = kReservedSharedBytes;
  for (const ptx::Variable *variable : mentions.variables) {
    uint64_t offset =
        alignTo(layout.dynamic, PowerOf2Ceil(std::max<uint32_t>(variable->alignment, 1)));
    layout.offsets[variable] = uint32_t(offset);
    layout.dynamic = offset + variable->sizeInBytes;
  }
  layout.dynamicAlignment = mentions.dynamicAlignment;
  layout.dynamic = alignTo(layout.dynamic, layout.dynamicAlignment);
  return layout;
}

bool usesDynamicShared(const Unit &unit) { return Mentions(unit).dynamic; }

} // namespace rubia::lowering
