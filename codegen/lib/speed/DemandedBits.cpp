// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/speed/DemandedBits.h"
#include "codegen/lib/speed/Wrap.h"
#include "llvm/CodeGen/SelectionDAG.h"
#include "llvm/CodeGen/SelectionDAGNodes.h"
#include <atomic>

using namespace llvm;

namespace rubia::codegen {

static std::atomic<bool> wasAsked;

bool wereNearOperationsAsked() { return wasAsked; }

/// How far up LLVM believes to be when it begins. It ends at SelectionDAG::MaxRecursionDepth.
static constexpr unsigned kFirstDepth = SelectionDAG::MaxRecursionDepth - 3;

} // namespace rubia::codegen

// TargetLowering::SimplifyDemandedBits(SDValue, const APInt &, const APInt &, KnownBits &,
//                                      TargetLoweringOpt &, unsigned, bool) const
#define RUBIA_FUNCTION                                                                             \
  _ZNK4llvm14TargetLowering20SimplifyDemandedBitsENS_7SDValueERKNS_5APIntES4_RNS_9KnownBitsERNS0_17TargetLoweringOptEjb

extern "C" {

bool RUBIA_REAL(RUBIA_FUNCTION)(const void *lowering, SDValue value, const APInt &bits,
                                const APInt &elements, void *known, void *combiner, unsigned depth,
                                bool isOnlyUse);

// A value with several users is looked at as a whole at depth 0 alone.
bool RUBIA_WRAP(RUBIA_FUNCTION)(const void *lowering, SDValue value, const APInt &bits,
                                const APInt &elements, void *known, void *combiner, unsigned depth,
                                bool isOnlyUse) {
  rubia::codegen::wasAsked.store(true, std::memory_order_relaxed);
  if (depth == 0 && (isOnlyUse || value.getNode()->hasOneUse()))
    depth = rubia::codegen::kFirstDepth;
  return RUBIA_REAL(RUBIA_FUNCTION)(lowering, value, bits, elements, known, combiner, depth,
                                    isOnlyUse);
}
}
