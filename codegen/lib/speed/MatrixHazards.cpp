// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/MatrixHazards.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

thread_local const MachineFunction *withoutProducts = nullptr;
thread_local unsigned spared = 0;
thread_local unsigned everywhere = 0;

class MatrixHazards : public MachineFunctionPass {
public:
  static char ID;
  MatrixHazards() : MachineFunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Matrix Hazards"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(MachineFunction &function) override {
    const TargetInstrInfo &names = *function.getSubtarget().getInstrInfo();
    const bool hasProducts = any_of(function, [&](const MachineBasicBlock &block) {
      return any_of(block.instrs(), [&](const MachineInstr &instruction) {
        return mayBeProduct(names.getName(instruction.getOpcode()));
      });
    });
    withoutProducts = hasProducts ? nullptr : &function;
    return false;
  }
};

char MatrixHazards::ID = 0;

bool isSpared(const MachineInstr &instruction) {
  if (everywhere || instruction.getMF() != withoutProducts)
    return false;
  ++spared;
  return true;
}

} // namespace

bool mayBeProduct(StringRef name) { return name.contains("MFMA") || name.contains("DOT"); }

Pass *makeMatrixHazards() { return new MatrixHazards; }

unsigned matrixHazardsSpared() { return spared; }

MatrixHazardsEverywhere::MatrixHazardsEverywhere() { ++everywhere; }
MatrixHazardsEverywhere::~MatrixHazardsEverywhere() { --everywhere; }

} // namespace rubia::codegen

extern "C" {

int RUBIA_REAL(_ZN4llvm19GCNHazardRecognizer19checkMAIVALUHazardsEPNS_12MachineInstrE)(
    void *recognizer, MachineInstr *instruction);

// GCNHazardRecognizer::checkMAIVALUHazards(MachineInstr *): how long the instruction has to wait
int RUBIA_WRAP(_ZN4llvm19GCNHazardRecognizer19checkMAIVALUHazardsEPNS_12MachineInstrE)(
    void *recognizer, MachineInstr *instruction) {
  return rubia::codegen::isSpared(*instruction)
             ? 0
             : RUBIA_REAL(_ZN4llvm19GCNHazardRecognizer19checkMAIVALUHazardsEPNS_12MachineInstrE)(
                   recognizer, instruction);
}
}
