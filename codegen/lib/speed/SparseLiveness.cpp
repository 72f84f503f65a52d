// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/SparseLiveness.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DepthFirstIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/CodeGen/LiveVariables.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include <algorithm>

using namespace llvm;

namespace rubia::codegen {

namespace {

// What LLVM's analysis is made of is private. A template that is instantiated explicitly may name a
// private member (C++20 [temp.spec.general]/6): `member(Tag())` is the pointer to it.
template <typename Tag, auto Member> struct PrivateMember {
  friend constexpr auto member(Tag) { return Member; }
};
// clang-format off
#define RUBIA_LIVENESS_MEMBERS(X) \
  X(VirtRegInfo) X(MF) X(MRI) X(TRI) X(PhysRegDef) X(PhysRegUse) X(PHIVarInfo) X(DistanceMap) \
  X(HandlePhysRegDef) X(analyzePHINodes) X(runOnInstr)
// clang-format on
#define RUBIA_LIVENESS_MEMBER(Name)                                                                \
  struct Name##Tag {                                                                               \
    friend constexpr auto member(Name##Tag);                                                       \
  };                                                                                               \
  template struct PrivateMember<Name##Tag, &LiveVariables::Name>;
RUBIA_LIVENESS_MEMBERS(RUBIA_LIVENESS_MEMBER)
#undef RUBIA_LIVENESS_MEMBER

/// One analysis of a function. Members are called as LLVM calls them.
class Analysis {
public:
  Analysis(LiveVariables &variables, MachineFunction &function)
      : variables(variables), function(function), registers(function.getRegInfo()),
        target(*function.getSubtarget().getRegisterInfo()),
        registerCount(target.getNumSupportedRegs(function)), isTouched(registerCount) {}

  void run() {
    variables.*member(MFTag()) = &function;
    variables.*member(MRITag()) = &registers;
    variables.*member(TRITag()) = &target;
    definitions().assign(registerCount, nullptr);
    uses().assign(registerCount, nullptr);
    (variables.*member(PHIVarInfoTag())).resize(function.getNumBlockIDs());
    if (!registers.isSSA())
      report_fatal_error("live variables are wanted of a function that is not in SSA form");
    (variables.*member(analyzePHINodesTag()))(function);

    // A definition is seen before its uses, but for those of phis.
    df_iterator_default_set<MachineBasicBlock *, 16> visited;
    for (MachineBasicBlock *block : depth_first_ext(&function.front(), visited))
      runOn(*block);
    markKills();

    definitions().clear();
    uses().clear();
    (variables.*member(PHIVarInfoTag())).clear();
  }

private:
  std::vector<MachineInstr *> &definitions() { return variables.*member(PhysRegDefTag()); }
  std::vector<MachineInstr *> &uses() { return variables.*member(PhysRegUseTag()); }

  /// Handling an operand notes something of its register and the parts of that.
  void touch(MCRegister physical) {
    if (registers.isReserved(physical))
      return;
    for (MCPhysReg part : target.subregs_inclusive(physical))
      if (!isTouched.test(part)) {
        isTouched.set(part);
        touched.push_back(part);
        touchedEnd = std::max(touchedEnd, part + 1u);
      }
  }

  void runOn(MachineBasicBlock &block) {
    // Registers that live in have neither a definition nor a use before.
    auto &distances = variables.*member(DistanceMapTag());
    distances.clear();
    unsigned distance = 0;
    for (MachineInstr &inst : block) {
      if (inst.isDebugOrPseudoInstr())
        continue;
      distances.insert({&inst, distance++});
      for (const MachineOperand &operand : inst.operands())
        if (operand.isReg() && operand.getReg().isPhysical())
          touch(operand.getReg());
      // What a call writes is looked for among these.
      (variables.*member(runOnInstrTag()))(inst, defined, touchedEnd);
    }
    for (Register inPhi : (variables.*member(PHIVarInfoTag()))[block.getNumber()])
      variables.MarkVirtRegAliveInBlock(variables.getVarInfo(inPhi),
                                        registers.getVRegDef(inPhi)->getParent(), &block);
    endTouched(liveOutOf(block));
  }

  /// Registers that cannot be allocated may be read in another block.
  SmallSet<MCRegister, 4> liveOutOf(const MachineBasicBlock &block) const {
    SmallSet<MCRegister, 4> live;
    for (const MachineBasicBlock *next : block.successors())
      if (!next->isEHPad())
        for (const auto &in : next->liveins())
          if (!target.isInAllocatableClass(in.PhysReg))
            live.insert(in.PhysReg);
    return live;
  }

  /// What a block leaves in registers is dead, but for `live`. Nothing stays for the next block.
  void endTouched(const SmallSet<MCRegister, 4> &live) {
    sort(touched); // LLVM's order
    for (MCPhysReg physical : touched)
      if ((definitions()[physical] || uses()[physical]) && !live.contains(physical))
        (variables.*member(HandlePhysRegDefTag()))(physical, nullptr, defined);
    for (MCPhysReg physical : touched) {
      definitions()[physical] = uses()[physical] = nullptr;
      isTouched.reset(physical);
    }
    touched.clear();
    touchedEnd = 1;
  }

  /// The instructions are told what was found of virtual registers.
  void markKills() {
    auto &all = variables.*member(VirtRegInfoTag());
    for (unsigned i = 0, end = all.size(); i != end; ++i) {
      const Register value = Register::index2VirtReg(i);
      for (MachineInstr *last : all[value].Kills)
        if (last == registers.getVRegDef(value))
          last->addRegisterDead(value, &target);
        else
          last->addRegisterKilled(value, &target);
    }
  }

  LiveVariables &variables;
  MachineFunction &function;
  MachineRegisterInfo &registers;
  const TargetRegisterInfo &target;
  const unsigned registerCount;
  BitVector isTouched;
  SmallVector<MCPhysReg, 64> touched; // in this block
  unsigned touchedEnd = 1;            // beyond all of them
  SmallVector<Register, 4> defined;   // by this instruction
};

class SparseLiveness : public LiveVariablesWrapperPass {
public:
  bool runOnMachineFunction(MachineFunction &function) override {
    Analysis(getLV(), function).run();
    return false;
  }
};

} // namespace

Pass *makeSparseLiveness() { return new SparseLiveness; }

} // namespace rubia::codegen
