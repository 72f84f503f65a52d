// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/DebugHistory.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/CodeGen/DbgEntityHistoryCalculator.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/TargetRegisterInfo.h"
#include <atomic>

using namespace llvm;

namespace rubia::codegen {

static std::atomic<bool> wasSkipped;

bool wasDebugHistorySkipped() { return wasSkipped; }

static bool hasDebugInstructions(const MachineFunction &function) {
  for (const MachineBasicBlock &block : function)
    for (const MachineInstr &inst : block)
      if (inst.isDebugInstr())
        return true;
  return false;
}

} // namespace rubia::codegen

// calculateDbgEntityHistory(const MachineFunction *, const TargetRegisterInfo *,
//                           DbgValueHistoryMap &, DbgLabelInstrMap &)
#define RUBIA_FUNCTION                                                                             \
  _ZN4llvm25calculateDbgEntityHistoryEPKNS_15MachineFunctionEPKNS_18TargetRegisterInfoERNS_18DbgValueHistoryMapERNS_16DbgLabelInstrMapE

extern "C" {

void RUBIA_REAL(RUBIA_FUNCTION)(const MachineFunction *function,
                                const TargetRegisterInfo *registers, DbgValueHistoryMap &values,
                                DbgLabelInstrMap &labels);

void RUBIA_WRAP(RUBIA_FUNCTION)(const MachineFunction *function,
                                const TargetRegisterInfo *registers, DbgValueHistoryMap &values,
                                DbgLabelInstrMap &labels) {
  if (rubia::codegen::hasDebugInstructions(*function))
    return RUBIA_REAL(RUBIA_FUNCTION)(function, registers, values, labels);
  rubia::codegen::wasSkipped.store(true, std::memory_order_relaxed);
}
}
