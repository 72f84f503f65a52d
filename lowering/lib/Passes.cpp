// SPDX-License-Identifier: Apache-2.0
// The order in which a unit is lowered. Lowering.cpp decides on the warp form first and makes the
// order of memory accesses explicit last, since that reads the finished module.
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/instructions/Barriers.h"
#include "lowering/lib/transform/InitialValues.h"
#include "lowering/lib/transform/MeetingLoops.h"
#include "lowering/lib/transform/NestedLoops.h"
#include "lowering/lib/transform/SpinLoops.h"

using namespace llvm;

namespace rubia::lowering {

void UnitLowering::lowerAll() {
  // What a function is declared as depends on what it contains.
  findAddressesAndCalls();
  findExitingFunctions(); // needs to know who is called
  findModuleLocals();
  // One mode for all functions, since a call does not change it.
  flushesF32Denormals = chooseDenormalMode();

  if (!experience && !isDeviceLibrary)
    warpMeetings = findWarpMeetings(unit, rowWarps);

  // Callees before bodies, since any function may mention any other.
  for (const ptx::Function *kernel : unit.kernels) {
    checkKernel(*kernel);
    declareFunction(*kernel);
  }
  for (const ptx::Function *function : unit.functions)
    declareFunction(*function);

  for (const ptx::Function *kernel : unit.kernels)
    lowerBody(*kernel);
  for (const ptx::Function *function : unit.functions)
    lowerBody(*function);

  makeFunctionTable();

  debugInfo.finalize();
  for (std::unique_ptr<UnitLowering> &library : deviceFunctions)
    if (library)
      library->debugInfo.finalize();
}

void FunctionLowering::lowerBody() {
  prepareEntry();
  if (unitLowering.experience) {
    lowerInstructions({}); // nothing below reports a problem
    return;
  }
  const bool mayWait = !unitLowering.isDeviceLibrary;
  FoundWaits found;
  if (mayWait)
    found = waitsIn(*this);
  waits_ = found.any;
  Places places = lowerInstructions(found.ends);
  // Every thread passes this before it can come to a barrier.
  if (source_.isKernel)
    emitBarrierSetup(*this, prologueBuilder);
  // Last of what makes code: the instructions add to the prologue.
  finishEntry(places.body);

  // Both ask for loops in the PTX, of which the graph tells, and follow there what they do. Loops
  // are kept apart before waiting ones are looked for: an inner loop that was merged with its outer
  // one is none of its own.
  ControlFlowGraph graph(source_, found.ends);
  DenseMap<uint32_t, BasicBlock *> headers = keepLoopsApart(*this, places.starts, graph);
  if (mayWait)
    treatSpinLoops(*this, places.starts, places.behind, headers, leaveBlock, graph);
  // After those, which look for what they know in front of the loops' headers.
  joinLoopsOfMeetings(*this, places.meetings);
  // Any of the passes above may be the last reader of a register.
  dropUnreadInitialValues(function);
}

} // namespace rubia::lowering
