// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/ShortBlocks.h"
#include "llvm/CodeGen/MachinePassRegistry.h"
#include "llvm/CodeGen/SchedulerRegistry.h"
#include "llvm/CodeGen/SelectionDAG.h"
#include "llvm/CodeGen/SelectionDAGISel.h"
#include "llvm/Support/CommandLine.h"

using namespace llvm;

namespace rubia::codegen {

static thread_local BlockOrders orders;

BlockOrders blockOrders() { return orders; }

static ScheduleDAGSDNodes *makeOrder(SelectionDAGISel *selection, CodeGenOptLevel level) {
  const bool isShort = selection->CurDAG->allnodes_size() < kNodesOfShortBlock;
  ++(isShort ? orders.linear : orders.scheduled);
  return isShort ? createDAGLinearizer(selection, level) : createDefaultScheduler(selection, level);
}

bool orderShortBlocksLinearly() {
  using Choice = cl::opt<RegisterScheduler::FunctionPassCtor, /*ExternalStorage=*/false,
                         RegisterPassParser<RegisterScheduler>>;
  auto found = cl::getRegisteredOptions().find("pre-RA-sched");
  if (found == cl::getRegisteredOptions().end())
    return false;
  // The default changes, since lld sets all options back to theirs.
  static_cast<Choice *>(found->second)->setInitialValue(makeOrder);
  return true;
}

} // namespace rubia::codegen
