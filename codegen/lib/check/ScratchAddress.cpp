// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/check/ScratchAddress.h"
#include "llvm/MC/MCInst.h"

using namespace llvm;

namespace rubia::codegen {

/// The operands behind the data are, in this order: a buffer's descriptor, a scalar offset, the
/// constant.
std::optional<ScratchAddress> scratchAddressOf(const Disassembler &disassembler,
                                               const MCInst &inst) {
  ScratchAddress address;
  bool hasDescriptor = false;
  for (unsigned i = 1, constants = 0; i < inst.getNumOperands(); ++i) {
    const MCOperand &operand = inst.getOperand(i);
    if (operand.isImm()) {
      address.offset += operand.getImm();
      if (++constants == (hasDescriptor ? 2 : 1))
        break;
      continue;
    }
    const RegisterRange range =
        operand.isReg() ? disassembler.range(operand.getReg()) : RegisterRange();
    if (range.file == RegisterRange::Scalar && range.count == 4) {
      hasDescriptor = true;
      continue;
    }
    if (range.file == RegisterRange::Other) // null
      continue;
    if (range.file != RegisterRange::Scalar || range.count != 1)
      return std::nullopt;
    if (hasDescriptor)
      ++constants;
    address.base = range.first;
  }
  return address;
}

} // namespace rubia::codegen
