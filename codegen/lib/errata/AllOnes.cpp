// SPDX-License-Identifier: Apache-2.0
// Where LLVM's folding of operands meets x | -1, it makes a move of x out of it. Selection folds
// such words itself, but for words of long values, which it takes apart last: a choice between two
// long values may leave words that are -1 either way. Here x | -1 becomes -1, wherever that pass
// could find it.
#include "codegen/lib/errata/AllOnes.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstrBuilder.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include <optional>

using namespace llvm;

namespace rubia::codegen {

namespace {

/// Opcodes, the same for all processors.
struct Names {
  unsigned scalarOr, vectorOr, scalarMove, vectorMove, compare, vectorSelect, scalarSelect;
  SmallVector<unsigned, 8> moves, ands, ors, exclusives, inversions;

  explicit Names(const TargetInstrInfo &instructions) {
    auto find = [&](StringRef name) { return findOpcode(instructions, name); };
    scalarOr = find("S_OR_B32");
    vectorOr = find("V_OR_B32_e64");
    scalarMove = find("S_MOV_B32");
    vectorMove = find("V_MOV_B32_e32");
    compare = find("S_CMP_EQ_U32");
    vectorSelect = find("V_CNDMASK_B32_e64");
    scalarSelect = find("S_CSELECT_B32");
    moves = {scalarMove, vectorMove, find("S_MOV_B64"), find("V_MOV_B64_PSEUDO"),
             find("S_MOV_B64_IMM_PSEUDO")};
    ands = {find("S_AND_B32"), find("V_AND_B32_e64")};
    ors = {scalarOr, vectorOr};
    exclusives = {find("S_XOR_B32"), find("V_XOR_B32_e64")};
    inversions = {find("S_NOT_B32"), find("V_NOT_B32_e32")};
  }
};

/// A word of a register, if it is a constant.
class Constants {
public:
  explicit Constants(const MachineFunction &function, const Names &names)
      : registers(function.getRegInfo()), target(*function.getSubtarget().getRegisterInfo()),
        names(names) {}

  std::optional<uint32_t> find(const MachineOperand &operand, unsigned bit = 0,
                               unsigned depth = 0) const;

private:
  static constexpr unsigned kMaxDepth = 12;

  const MachineRegisterInfo &registers;
  const TargetRegisterInfo &target;
  const Names &names;

  std::optional<uint32_t> part(const MachineInstr &sequence, unsigned bit, unsigned depth) const;
};

/// Of a REG_SEQUENCE, whose operands are pairs of a register and where it goes.
std::optional<uint32_t> Constants::part(const MachineInstr &sequence, unsigned bit,
                                        unsigned depth) const {
  for (unsigned i = 1; i + 1 < sequence.getNumOperands(); i += 2) {
    const unsigned index = unsigned(sequence.getOperand(i + 1).getImm());
    const unsigned begin = target.getSubRegIdxOffset(index);
    if (bit >= begin && bit < begin + target.getSubRegIdxSize(index))
      return find(sequence.getOperand(i), bit - begin, depth);
  }
  return std::nullopt;
}

std::optional<uint32_t> Constants::find(const MachineOperand &operand, unsigned bit,
                                        unsigned depth) const {
  if (operand.isImm())
    return uint32_t(uint64_t(operand.getImm()) >> bit);
  if (!operand.isReg() || !operand.getReg().isVirtual() || ++depth > kMaxDepth)
    return std::nullopt;
  const MachineInstr *inst = registers.getUniqueVRegDef(operand.getReg());
  if (!inst || !inst->getOperand(0).isReg() || inst->getOperand(0).getSubReg())
    return std::nullopt;
  if (operand.getSubReg())
    bit += target.getSubRegIdxOffset(operand.getSubReg());
  const unsigned opcode = inst->getOpcode();
  if (inst->isRegSequence())
    return part(*inst, bit, depth);
  if (inst->isCopy() || is_contained(names.moves, opcode))
    return find(inst->getOperand(1), bit, depth);
  auto source = [&](unsigned n) { return find(inst->getOperand(n), 0, depth); };
  if (is_contained(names.inversions, opcode)) {
    auto x = source(1);
    return x ? std::optional(~*x) : std::nullopt;
  }
  if (opcode == names.vectorSelect || opcode == names.scalarSelect) {
    const bool hasModifiers = opcode == names.vectorSelect; // in front of each source
    if (hasModifiers && (inst->getOperand(1).getImm() || inst->getOperand(3).getImm()))
      return std::nullopt;
    const auto x = source(hasModifiers ? 2 : 1), y = source(hasModifiers ? 4 : 2);
    return x == y ? x : std::nullopt;
  }
  const bool isAnd = is_contained(names.ands, opcode), isOr = is_contained(names.ors, opcode);
  if (!isAnd && !isOr && !is_contained(names.exclusives, opcode))
    return std::nullopt;
  const auto x = source(1), y = source(2);
  const uint32_t strong = isOr ? ~uint32_t(0) : 0;
  if ((isAnd || isOr) && (x == strong || y == strong))
    return strong;
  if (!x || !y)
    return std::nullopt;
  return isAnd ? *x & *y : isOr ? *x | *y : *x ^ *y;
}

class AllOnes : public MachineFunctionPass {
public:
  static char ID;
  AllOnes() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia All Ones"; }

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetInstrInfo &instructions = *function.getSubtarget().getInstrInfo();
    static const Names names(instructions);
    const Constants constants(function, names);
    bool isChanged = false;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : make_early_inc_range(block)) {
        if (!is_contained(names.ors, inst.getOpcode()) ||
            constants.find(inst.getOperand(0)) != ~uint32_t(0))
          continue;
        replace(inst, instructions, names);
        isChanged = true;
      }
    return isChanged;
  }

private:
  static void replace(MachineInstr &inst, const TargetInstrInfo &instructions, const Names &names) {
    MachineBasicBlock &block = *inst.getParent();
    const bool isVector = inst.getOpcode() == names.vectorOr;
    // SCC tells that the result is not zero.
    if (!isVector && !inst.registerDefIsDead(inst.getOperand(3).getReg(), nullptr))
      BuildMI(block, inst, inst.getDebugLoc(), instructions.get(names.compare)).addImm(0).addImm(0);
    BuildMI(block, inst, inst.getDebugLoc(),
            instructions.get(isVector ? names.vectorMove : names.scalarMove),
            inst.getOperand(0).getReg())
        .addImm(-1);
    inst.eraseFromParent();
  }
};

char AllOnes::ID = 0;

} // namespace

Pass *makeAllOnes() { return new AllOnes; }

} // namespace rubia::codegen
