// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/RegisterUse.h"
#include "llvm/CodeGen/AsmPrinterHandler.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
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
