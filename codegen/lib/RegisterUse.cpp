// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/RegisterUse.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/CodeGen/AsmPrinterHandler.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetFrameLowering.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Function.h"
#include <algorithm>

using namespace llvm;

namespace rubia::codegen {
namespace {

// One more than the highest register of a class that an instruction names. What calls may overwrite
// is counted where it is named.
unsigned usedOf(const MachineRegisterInfo &registers, const TargetRegisterClass &all) {
  for (unsigned count = all.getNumRegs(); count > 0; --count)
    if (registers.isPhysRegUsed(all.getRegister(count - 1), /*SkipRegMaskTest=*/true))
      return count;
  return 0;
}

// Registers of 32 bits and less that code can write are in these classes, or named here.
constexpr StringLiteral kClasses[] = {"VGPR_32", "AGPR_32", "SGPR_32"};
constexpr StringLiteral kSingle[] = {"VCC_LO", "VCC_HI", "SCC", "M0", "FLAT_SCR_LO", "FLAT_SCR_HI"};
// These are the same behind a function: SGPR32 is the stack pointer of LLVM's calls.
constexpr StringLiteral kRestored[] = {"EXEC_LO", "EXEC_HI",   "MODE",
                                       "SGPR32",  "SGPR_NULL", "SGPR_NULL_HI"};

struct Candidate {
  MCRegister one;
  bool isRestored;
};

std::vector<Candidate> candidatesOf(const TargetRegisterInfo &info) {
  std::vector<Candidate> all;
  const auto add = [&](MCRegister one) {
    all.push_back({one, is_contained(kRestored, info.getName(one))});
  };
  for (const TargetRegisterClass *registers : info.regclasses())
    if (is_contained(kClasses, info.getRegClassName(registers)))
      for (MCPhysReg one : *registers)
        add(one);
  for (unsigned one = 1; one < info.getNumRegs(); ++one)
    if (is_contained(kSingle, info.getName(one)) || is_contained(kRestored, info.getName(one)))
      add(one);
  return all;
}

void noteWritten(const MachineRegisterInfo &registers, RegisterUse &use) {
  const TargetRegisterInfo &info = *registers.getTargetRegisterInfo();
  // All processors have the same registers. To find these of ten thousand takes a hundredth of a
  // small kernel's time.
  static const std::vector<Candidate> candidates = candidatesOf(info);
  BitVector known(info.getNumRegUnits());
  for (const auto [one, isRestored] : candidates) {
    if (!registers.isPhysRegModified(one))
      continue;
    for (MCRegUnit unit : info.regunits(one))
      known.set(unsigned(unit));
    if (!isRestored)
      use.written.push_back(one.id());
  }
  use.knowsWritten = true;
  for (unsigned one = 1; one < info.getNumRegs(); ++one)
    if (!registers.def_empty(one))
      for (MCRegUnit unit : info.regunits(one))
        use.knowsWritten &= known.test(unsigned(unit));
}

void describe(const MachineFunction &function, RegisterUse &use) {
  const MachineFrameInfo &frame = function.getFrameInfo();
  noteWritten(function.getRegInfo(), use);
  use.stackBytes = frame.getStackSize();
  use.hasPlainStack =
      !frame.hasVarSizedObjects() && !frame.hasCalls() &&
      frame.getMaxAlign() <= function.getSubtarget().getFrameLowering()->getStackAlign();
  Align alignment = function.getAlignment();
  for (const MachineBasicBlock &block : function)
    alignment = std::max(alignment, block.getAlignment());
  use.alignment = alignment.value();
}

class RegisterCount : public AsmPrinterHandler {
public:
  explicit RegisterCount(RegisterUse *const &use) : use(use) {}

  void beginFunction(const MachineFunction *) override {}
  void endFunction(const MachineFunction *function) override {
    if (!use)
      return;
    const MachineRegisterInfo &registers = function->getRegInfo();
    const TargetRegisterInfo &info = *registers.getTargetRegisterInfo();
    for (const TargetRegisterClass *all : info.regclasses()) {
      StringRef name = info.getRegClassName(all);
      if (unsigned *count = name == "VGPR_32"   ? &use->vgprs
                            : name == "AGPR_32" ? &use->agprs
                            : name == "SGPR_32" ? &use->sgprs
                                                : nullptr)
        *count = std::max(*count, usedOf(registers, *all));
    }
    if (use->wantsFunction &&
        function->getFunction().getCallingConv() != CallingConv::AMDGPU_KERNEL)
      describe(*function, *use);
  }
  void endModule() override {}

private:
  RegisterUse *const &use;
};

} // namespace

void RegisterUse::join(const RegisterUse &other) {
  vgprs = std::max(vgprs, other.vgprs);
  agprs = std::max(agprs, other.agprs);
  sgprs = std::max(sgprs, other.sgprs);
}

std::unique_ptr<AsmPrinterHandler> makeRegisterCount(RegisterUse *const &use) {
  return std::make_unique<RegisterCount>(use);
}

} // namespace rubia::codegen
