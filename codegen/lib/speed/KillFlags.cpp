// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/KillFlags.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineRegisterInfo.h"
#include <atomic>

using namespace llvm;

namespace rubia::codegen {
namespace {

std::atomic<bool> wasAsked;

// The function whose flags are cleared once, and the registers that have been.
thread_local const MachineRegisterInfo *onceFor = nullptr;
thread_local DenseSet<unsigned> cleared;

bool mayHaveFlags(const MachineRegisterInfo *registers, Register reg) {
  wasAsked.store(true, std::memory_order_relaxed);
  return registers != onceFor || cleared.insert(reg.id()).second;
}

class KillFlags : public MachineFunctionPass {
public:
  static char ID;
  explicit KillFlags(bool once) : MachineFunctionPass(ID), once(once) {}
  StringRef getPassName() const override { return "Rubia Kill Flags"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    onceFor = once ? &function.getRegInfo() : nullptr;
    cleared.clear();
    return false;
  }

private:
  const bool once;
};

char KillFlags::ID = 0;

} // namespace

Pass *makeKillFlagsOnce() { return new KillFlags(true); }
Pass *makeKillFlagsAgain() { return new KillFlags(false); }

bool wasAskedForKillFlags() { return wasAsked; }

} // namespace rubia::codegen

extern "C" {

void RUBIA_REAL(_ZNK4llvm19MachineRegisterInfo14clearKillFlagsENS_8RegisterE)(
    const MachineRegisterInfo *registers, Register reg);

// MachineRegisterInfo::clearKillFlags(Register) const
void RUBIA_WRAP(_ZNK4llvm19MachineRegisterInfo14clearKillFlagsENS_8RegisterE)(
    const MachineRegisterInfo *registers, Register reg) {
  if (rubia::codegen::mayHaveFlags(registers, reg))
    RUBIA_REAL(_ZNK4llvm19MachineRegisterInfo14clearKillFlagsENS_8RegisterE)(registers, reg);
}
}
