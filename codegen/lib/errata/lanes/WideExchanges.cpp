// SPDX-License-Identifier: Apache-2.0
// From RDNA 3 on LLVM makes a move from another lane (V_MOV_B32_dpp) an operand of instructions
// that read or write 64 bits beside it, such as v_cvt_f64_i32, v_lshlrev_b64 and v_mad_u64_u32.
// Hardware has no such form of them: the code has no valid encoding, or none at all, which ends the
// compiler. Additions and subtractions with a carry have one, but LLVM takes scalar registers for
// their other operand, which RDNA 3 does not have, and where the moved value is a scalar it changes
// the operands' places, so that the other one is moved.
//
// A move is combined with all that reads it or with none. So a copy between it and one of these
// keeps it an instruction of its own; the copy goes away with register allocation.
#include "codegen/lib/errata/lanes/WideExchanges.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

class WideExchanges : public MachineFunctionPass {
public:
  static char ID;
  WideExchanges() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Wide Exchanges"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesCFG();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetSubtargetInfo &target = function.getSubtarget();
    if (!target.checkFeatures("+gfx11-insts")) // before, LLVM knows which have the form
      return false;
    instructions = target.getInstrInfo();
    values = target.getRegisterInfo();
    registers = &function.getRegInfo();
    static const unsigned words[] = {findOpcode(*instructions, "V_MOV_B32_dpp"),
                                     findOpcode(*instructions, "V_MOV_B64_DPP_PSEUDO")};
    SmallVector<MachineInstr *, 8> found;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block)
        if (is_contained(words, inst.getOpcode()) && (movesScalar(inst) || isReadBesideWide(inst)))
          found.push_back(&inst);
    for (MachineInstr *inst : found)
      copy(*inst);
    return !found.empty();
  }

private:
  bool isWide(const MachineOperand &operand) const {
    if (!operand.isReg() || !operand.getReg().isVirtual())
      return false;
    const TargetRegisterClass &all = *registers->getRegClass(operand.getReg());
    const unsigned bits = operand.getSubReg() ? values->getSubRegIdxSize(operand.getSubReg())
                                              : values->getRegSizeInBits(all).getFixedValue();
    return values->isDivergentRegClass(&all) && bits > 32;
  }

  bool movesScalar(const MachineInstr &move) const {
    const MachineOperand &source = move.getOperand(2);
    if (!source.isReg() || !source.getReg().isVirtual())
      return false;
    const MachineInstr *copy = registers->getUniqueVRegDef(source.getReg());
    return copy && copy->isCopy() && copy->getOperand(1).getReg().isVirtual() &&
           !values->isDivergentRegClass(registers->getRegClass(copy->getOperand(1).getReg()));
  }

  /// Its readers, behind what joins words to wider values, too.
  bool isReadBesideWide(const MachineInstr &move) const {
    SmallVector<Register, 4> left = {move.getOperand(0).getReg()};
    SmallPtrSet<const MachineInstr *, 4> seen;
    while (!left.empty())
      for (const MachineInstr &reader : registers->use_nodbg_instructions(left.pop_back_val())) {
        if (reader.isRegSequence()) {
          if (seen.insert(&reader).second)
            left.push_back(reader.getOperand(0).getReg());
        } else if (reader.getNumExplicitDefs() > 1) {
          return true; // a carry
        } else if (!reader.isCopyLike() && !reader.isPHI() &&
                   any_of(reader.explicit_operands(),
                          [&](const MachineOperand &operand) { return isWide(operand); })) {
          return true;
        }
      }
    return false;
  }

  void copy(MachineInstr &move) const {
    const Register result = move.getOperand(0).getReg();
    const Register hidden = registers->cloneVirtualRegister(result);
    registers->replaceRegWith(result, hidden);
    move.getOperand(0).setReg(result);
    BuildMI(*move.getParent(), std::next(move.getIterator()), move.getDebugLoc(),
            instructions->get(TargetOpcode::COPY), hidden)
        .addReg(result);
  }

  const TargetInstrInfo *instructions = nullptr;
  const TargetRegisterInfo *values = nullptr;
  MachineRegisterInfo *registers = nullptr;
};

char WideExchanges::ID = 0;

} // namespace

Pass *makeWideExchanges() { return new WideExchanges; }

} // namespace rubia::codegen
