// SPDX-License-Identifier: Apache-2.0
// On gfx9 most instructions with a half as their result clear the upper half of the register;
// fused and three-operand ones keep it. Selection takes a clamp, a minimum or maximum of three and
// a median for some that clear it, and leaves out the zero extension behind them. But the latter
// are three-operand instructions, and a clamp is folded into what it clamps: a fused
// multiply-addition, for one (docs/errata.md). So the upper half of these is cleared, unless only
// the lower half is read.
#include "codegen/lib/errata/HalfResults.h"
#include "codegen/lib/LlvmPrivate.h"
#include "codegen/lib/errata/MachineNames.h"
#include "targets/Target.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;

namespace rubia::targets::Fact {
extern const GenerationFact halfResultsZeroHigh;
} // namespace rubia::targets::Fact

namespace rubia::codegen {
namespace {

constexpr AMDGPU::OpName kClamp{31}; // of LLVM 22.1: see checkNumbering()

int clampOf(unsigned opcode) { return AMDGPU::getNamedOperandIdx(uint16_t(opcode), kClamp); }

/// V_MAX_F16_e64 has a result, two sources behind their modifiers, and its clamp.
void checkNumbering(const TargetInstrInfo &instructions) {
  if (clampOf(findOpcode(instructions, "V_MAX_F16_e64")) != 5)
    report_fatal_error("this LLVM numbers operands differently from LLVM 22.1");
}

bool startsWithAny(StringRef name, std::initializer_list<StringRef> starts) {
  return any_of(starts, [&](StringRef start) { return name.starts_with(start); });
}

/// Which selection takes for instructions that clear the upper half.
bool isTakenForClearing(StringRef name) {
  return startsWithAny(name, {"V_MIN3_F16", "V_MAX3_F16", "V_MED3_F16"});
}

/// Which keep the upper half.
bool keepsUpperHalf(StringRef name) {
  return isTakenForClearing(name) ||
         startsWithAny(name, {"V_FMA_F16", "V_FMAC_F16", "V_MAD_F16", "V_MAC_F16",
                              "V_FMA_MIXLO_F16", "V_MAD_MIXLO_F16", "V_DIV_FIXUP_F16"});
}

bool isClamped(const MachineInstr &inst) {
  const int index = clampOf(inst.getOpcode());
  return index >= 0 && inst.getOperand(unsigned(index)).isImm() &&
         inst.getOperand(unsigned(index)).getImm() != 0;
}

/// Arithmetic and comparisons of halves. (Sources of the mixed ones may be words.)
bool readsHalves(StringRef name) {
  return name.starts_with("V_") && name.contains("_F16") && !name.contains("MIX") &&
         !startsWithAny(name, {"V_PK_", "V_CVT_F16", "V_DOT"});
}

class HalfResults : public MachineFunctionPass {
public:
  static char ID;
  HalfResults() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Half Results"; }

  bool runOnMachineFunction(MachineFunction &function) override {
    const targets::Target *target = targets::find(function.getSubtarget().getCPU());
    if (!target || !targets::Fact::halfResultsZeroHigh(*target))
      return false;
    const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    static const unsigned bitAnd = [&] {
      checkNumbering(instructions);
      return findOpcode(instructions, "V_AND_B32_e32");
    }();
    SmallVector<MachineInstr *> found;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block) {
        const StringRef name = instructions.getName(inst.getOpcode());
        if (keepsUpperHalf(name) && (isTakenForClearing(name) || isClamped(inst)) &&
            isReadWhole(inst, instructions))
          found.push_back(&inst);
      }
    for (MachineInstr *inst : found)
      clearUpperHalf(*inst, instructions.get(bitAnd));
    return !found.empty();
  }

private:
  static bool isReadWhole(const MachineInstr &inst, const TargetInstrInfo &instructions) {
    const MachineRegisterInfo &registers = inst.getMF()->getRegInfo();
    return any_of(registers.use_nodbg_instructions(inst.getOperand(0).getReg()),
                  [&](const MachineInstr &user) {
                    return !readsHalves(instructions.getName(user.getOpcode()));
                  });
  }

  static void clearUpperHalf(MachineInstr &inst, const MCInstrDesc &bitAnd) {
    MachineRegisterInfo &registers = inst.getMF()->getRegInfo();
    const Register result = inst.getOperand(0).getReg();
    const Register whole = registers.createVirtualRegister(registers.getRegClass(result));
    registers.replaceRegWith(result, whole);
    inst.getOperand(0).setReg(result);
    registers.clearKillFlags(whole);
    BuildMI(*inst.getParent(), std::next(inst.getIterator()), inst.getDebugLoc(), bitAnd, whole)
        .addImm(0xffff)
        .addReg(result);
  }
};

char HalfResults::ID = 0;

} // namespace

Pass *makeHalfResults() { return new HalfResults; }

} // namespace rubia::codegen
