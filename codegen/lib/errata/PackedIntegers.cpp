// SPDX-License-Identifier: Apache-2.0
// Instruction selection takes the sign that an f16 gets on its way into a vector for a modifier of
// whatever reads the vector. Floating-point instructions have such modifiers; packed integer
// instructions have the bits, but not the meaning (docs/errata.md). So the signs are flipped by a
// V_XOR_B32 before, which keeps the selection of halves as it is.
//
// A modifier has four bits (LLVM's SISrcMods): whether the element for the low result is negated,
// whether the one for the high result is, and which half of the register either one is.
#include "codegen/lib/errata/PackedIntegers.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

enum Modifier : unsigned { kNegateLow = 1, kNegateHigh = 2, kLowIsHigh = 4, kHighIsHigh = 8 };

constexpr uint32_t kSign = 0x8000; // of the low half

struct Names {
  unsigned move, exclusiveOr, shiftRight, bitAnd, shiftLeftOr;

  explicit Names(const TargetInstrInfo &instructions) {
    move = findOpcode(instructions, "V_MOV_B32_e32");
    exclusiveOr = findOpcode(instructions, "V_XOR_B32_e64");
    shiftRight = findOpcode(instructions, "V_LSHRREV_B32_e64");
    bitAnd = findOpcode(instructions, "V_AND_B32_e64");
    shiftLeftOr = findOpcode(instructions, "V_LSHL_OR_B32_e64");
  }
};

/// V_PK_MAD_U16, V_PK_LSHLREV_B16, V_DOT2_I32_I16: sources are pairs of integers, each behind its
/// modifier.
bool isPackedInteger(StringRef name) {
  if (name.starts_with("V_DOT2_I32_I16") || name.starts_with("V_DOT2_U32_U16"))
    return true;
  return name.starts_with("V_PK_") &&
         (name.contains("_I16") || name.contains("_U16") || name.contains("_B16"));
}

/// Makes what is put in front of one instruction.
class Sequence {
public:
  Sequence(MachineInstr &before, const Names &names)
      : before(before), names(names), instructions(*before.getMF()->getSubtarget().getInstrInfo()),
        registers(before.getMF()->getRegInfo()),
        vectorRegister(registers.getRegClass(before.getOperand(0).getReg())) {}

  Register constant(uint32_t value) {
    return emit(names.move, [&](auto &b) { b.addImm(int32_t(value)); });
  }
  Register flipped(const MachineOperand &source, uint32_t mask) {
    Register bits = constant(mask);
    return emit(names.exclusiveOr, [&](auto &b) { b.add(copied(source)).addReg(bits); });
  }
  /// One half in both halves.
  Register doubled(const MachineOperand &source, bool isHigh) {
    Register half = isHigh
                        ? emit(names.shiftRight, [&](auto &b) { b.addImm(16).add(copied(source)); })
                        : masked(source);
    return emit(names.shiftLeftOr, [&](auto &b) { b.addReg(half).addImm(16).addReg(half); });
  }

private:
  template <class Operands> Register emit(unsigned opcode, Operands operands) {
    Register result = registers.createVirtualRegister(vectorRegister);
    MachineInstrBuilder builder = BuildMI(*before.getParent(), before, before.getDebugLoc(),
                                          instructions.get(opcode), result);
    operands(builder);
    return result;
  }
  Register masked(const MachineOperand &source) {
    Register mask = constant(0xffff);
    return emit(names.bitAnd, [&](auto &b) { b.add(copied(source)).addReg(mask); });
  }
  /// The operand once more: it may be read later, too.
  static MachineOperand copied(const MachineOperand &source) {
    MachineOperand copy = source;
    copy.clearParent();
    if (copy.isReg())
      copy.setIsKill(false);
    return copy;
  }

  MachineInstr &before;
  const Names &names;
  const TargetInstrInfo &instructions;
  MachineRegisterInfo &registers;
  const TargetRegisterClass *vectorRegister;
};

/// The register with the signs that the modifier means; `modifier` keeps the halves only.
Register withSigns(Sequence &sequence, const MachineOperand &source, unsigned &modifier) {
  const bool lowIsHigh = modifier & kLowIsHigh, highIsHigh = modifier & kHighIsHigh;
  const bool low = modifier & kNegateLow, high = modifier & kNegateHigh;
  modifier &= kLowIsHigh | kHighIsHigh;
  if (lowIsHigh == highIsHigh && low != high) { // one half with both signs
    modifier = kHighIsHigh;
    const Register both = sequence.doubled(source, lowIsHigh);
    return sequence.flipped(MachineOperand::CreateReg(both, false), low ? kSign : kSign << 16);
  }
  uint32_t mask = 0;
  if (low)
    mask |= kSign << (lowIsHigh ? 16 : 0);
  if (high)
    mask |= kSign << (highIsHigh ? 16 : 0);
  return sequence.flipped(source, mask);
}

class PackedIntegers : public MachineFunctionPass {
public:
  static char ID;
  PackedIntegers() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Packed Integers"; }

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    static const Names names(instructions);
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block)
        if (isPackedInteger(instructions.getName(inst.getOpcode())))
          isChanged |= mend(inst, names);
    return isChanged;
  }

private:
  static bool mend(MachineInstr &inst, const Names &names) {
    bool isChanged = false;
    // A result, then pairs of a modifier and a source. Behind them are numbers only.
    for (unsigned i = 1; i + 1 < inst.getNumExplicitOperands(); i += 2) {
      MachineOperand &modifier = inst.getOperand(i), &source = inst.getOperand(i + 1);
      if (!modifier.isImm() || !source.isReg())
        break;
      unsigned bits = unsigned(modifier.getImm());
      if (!(bits & (kNegateLow | kNegateHigh)))
        continue;
      Sequence sequence(inst, names);
      const Register mended = withSigns(sequence, source, bits);
      modifier.setImm(bits);
      source.setReg(mended);
      source.setSubReg(0);
      source.setIsKill(false);
      isChanged = true;
    }
    return isChanged;
  }
};

char PackedIntegers::ID = 0;

} // namespace

Pass *makePackedIntegers() { return new PackedIntegers; }

} // namespace rubia::codegen
