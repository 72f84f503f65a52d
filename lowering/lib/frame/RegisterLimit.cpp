// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/frame/RegisterLimit.h"
#include "lowering/Lowering.h"
#include "lowering/lib/analysis/MmaForm.h"
#include "ptx-frontend/RegisterLimit.h"
#include "llvm/IR/Function.h"

using namespace llvm;

namespace rubia::lowering {

namespace {

// LLVM 22 does not survive a limit that the operands of one instruction do not fit in. A target's
// full occupancy leaves 24 registers or more to a lane, products of matrices have operands of up to
// 32 registers.
constexpr unsigned kLeast = 32, kLeastWithMatrices = 128;

bool hasMatrices(const ptx::Function &function) {
  return any_of(function.body,
                [](const ptx::Instruction &inst) { return MmaForm::of(inst).has_value(); });
}

} // namespace

void limitRegisters(const ptx::Function &kernel, const Unit &unit, const Target &target,
                    Function &llvmFunction) {
  unsigned limit = kernel.attributes.maxRegisters;
  if (!limit || limit >= ptx::kMostRegisters)
    return;
  const bool usesMatrices = hasMatrices(kernel) || any_of(unit.functions, [](const auto *callee) {
                              return hasMatrices(*callee);
                            });
  limit = std::max(limit, usesMatrices ? kLeastWithMatrices : kLeast);
  // Where accumulation registers are a part of the vector registers, LLVM takes half the sum.
  if (target.row->accumulators == targets::Accumulators::Shared)
    limit /= 2;
  llvmFunction.addFnAttr("amdgpu-num-vgpr", std::to_string(limit));
}

} // namespace rubia::lowering
