// SPDX-License-Identifier: Apache-2.0
// RDNA 3 has a bug for which LLVM makes several instructions of a trap, in blocks of their own that
// are the function's last. The pass that ends selection goes on behind those: what has to be
// replaced in the blocks between, another trap among it, is left as it was and has no encoding.
// So traps are replaced before that pass, by the same function.
#include "codegen/lib/errata/Traps.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetLowering.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

class Traps : public MachineFunctionPass {
public:
  static char ID;
  Traps() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Traps"; }

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetSubtargetInfo &target = function.getSubtarget();
    static const unsigned trap = findOpcode(*target.getInstrInfo(), "SIMULATED_TRAP");
    SmallVector<MachineInstr *, 4> traps;
    for (MachineBasicBlock &block : function)
      for (MachineInstr &inst : block)
        if (inst.getOpcode() == trap)
          traps.push_back(&inst);
    for (MachineInstr *inst : traps)
      target.getTargetLowering()->EmitInstrWithCustomInserter(*inst, inst->getParent());
    return !traps.empty();
  }
};

char Traps::ID = 0;

} // namespace

Pass *makeTraps() { return new Traps; }

} // namespace rubia::codegen
