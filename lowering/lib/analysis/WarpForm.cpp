// SPDX-License-Identifier: Apache-2.0
// Two warps may share a wave of 64 lanes if neither can have to wait for the other. The wave
// executes one instruction at a time, so
// - every barrier has to be AMD's own (a wave cannot wait in a loop for half of itself), and all
//   threads of the CTA have to come to it together: s_barrier counts waves, and a wave that comes
//   to two barriers one half after the other counts twice;
// - no loop may wait for what another warp writes.
// What is not proven is half-filled. CTAs of more than 512 threads are too large for that: if only
// the barriers stand against the packed form, they take it with a check at each (MissedBarriers.h).
#include "lowering/lib/analysis/WarpForm.h"
#include "lowering/lib/analysis/BarrierPlan.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/ThreadFacts.h"
#include "lowering/lib/analysis/Uniformity.h"
#include "lowering/lib/analysis/WaitingLoops.h"
#include "ptx-frontend/Lines.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

class Decision {
public:
  Decision(const ptx::Module &module, const Unit &unit)
      : module(module), unit(unit), addressTaken(functionsWithAddress(unit)) {}

  WarpFormDecision decide() {
    if (mostThreads() <= 32)
      return packed("no CTA has more than one warp");
    BarrierPlan barriers = planBarriers(unit);
    uint32_t exactThreads = 0;
    for (const BarrierUse &use : barriers.uses) {
      if (use.form == BarrierForm::Hardware)
        continue;
      bool decidedByLaunch = use.form == BarrierForm::BySize && use.threads &&
                             (!exactThreads || exactThreads == *use.threads) &&
                             addressTaken.empty(); // both forms would share addresses
      if (!decidedByLaunch)
        return halfFilled(*use.function, *use.instruction,
                          "is counted in shared memory: " + Twine(use.reason));
      exactThreads = uint32_t(*use.threads);
    }
    if (std::optional<WaitingLoop> spin = findWaitingLoop(unit, addressTaken))
      return halfFilled(*spin->function, *spin->exit,
                        "may leave a loop by what " + describe(*spin->read) +
                            " reads, which another warp may write");
    std::optional<WarpFormDecision> apart = findDividedBarrier(barriers);
    const bool canBeChecked = this->canBeChecked(barriers);
    if (apart) {
      apart->canBeChecked = canBeChecked;
      apart->mayBeChecked = canBeChecked && mostThreads() > abi::kMostHalfFilledThreads;
      apart->mustBeChecked = canBeChecked && fewestThreads() > abi::kMostHalfFilledThreads;
      return *apart;
    }
    WarpFormDecision result =
        packed(barriers.uses.empty() && !hasClusterBarriers
                   ? "there are no barriers, and no loop waits for another warp"
                   : "all threads come to every barrier together, and no loop waits for another "
                     "warp");
    result.canBeChecked = canBeChecked;
    if (exactThreads) {
      result.exactThreads = exactThreads;
      result.reason += "; for CTAs of " + std::to_string(exactThreads) +
                       " threads, of which a barrier is for all";
    }
    return result;
  }

private:
  template <typename Visit> void forEachFunction(Visit visit) const {
    for (const ptx::Function *kernel : unit.kernels)
      visit(*kernel);
    for (const ptx::Function *function : unit.functions)
      visit(*function);
  }

  static uint64_t product(const uint32_t (&sizes)[3]) {
    return uint64_t(sizes[0]) * std::max(sizes[1], 1u) * std::max(sizes[2], 1u);
  }

  // 0: a kernel does not require any.
  uint64_t fewestThreads() const {
    uint64_t fewest = abi::kMostThreads;
    for (const ptx::Function *kernel : unit.kernels)
      fewest = std::min(fewest, product(kernel->attributes.requiredThreads));
    return fewest;
  }

  uint64_t mostThreads() const {
    uint64_t most = 0;
    for (const ptx::Function *kernel : unit.kernels) {
      uint64_t own = product(kernel->attributes.requiredThreads);
      if (!own)
        own = product(kernel->attributes.maxThreads);
      most = std::max(most, own ? own : uint64_t(abi::kMostThreads));
    }
    return most;
  }

  std::optional<WarpFormDecision> findDividedBarrier(const BarrierPlan &barriers) {
    std::unique_ptr<Uniformity> uniformity; // costs time, and most kernels have no barrier
    std::optional<WarpFormDecision> result;
    forEachFunction([&](const ptx::Function &function) {
      for (auto [index, instruction] : enumerate(function.body)) {
        bool isCluster = does(instruction, effects::MeetsCluster);
        hasClusterBarriers |= isCluster;
        if (result || !(isCluster || barriers.indexes.contains(&instruction)))
          continue;
        if (!uniformity)
          uniformity = std::make_unique<Uniformity>(unit, addressTaken);
        Uniformity::Answer answer = uniformity->executesTogether(function, uint32_t(index));
        if (answer.together)
          continue;
        if (answer.isCalledByAddress)
          result = halfFilled(function, instruction,
                              "may be reached by calls of '" + answer.function->name +
                                  "' through its address");
        else
          result = halfFilled(function, instruction,
                              "is not reached by all threads of the CTA together: " +
                                  describe(*answer.cause) + " differs between them");
      }
    });
    return result;
  }

  // Where functions have addresses both forms would share them. Threads of a warp that come to a
  // barrier one after the other are not told from warps that do.
  bool canBeChecked(const BarrierPlan &barriers) const {
    return !barriers.uses.empty() && !hasClusterBarriers && addressTaken.empty() &&
           all_of(barriers.uses, [](const BarrierUse &use) {
             return use.form == BarrierForm::Hardware && !use.mayDivide;
           });
  }

  std::string describe(const ptx::Instruction &instruction) const {
    return ("line " + Twine(lineOf(instruction)) + " ('" + instruction.spelling->text + "')").str();
  }

  uint32_t lineOf(const ptx::Instruction &instruction) const {
    return ptx::lineAndColumn(module, instruction.place).first;
  }

  static WarpFormDecision packed(std::string reason) {
    return {abi::WarpForm::Packed, std::move(reason)};
  }

  WarpFormDecision halfFilled(const ptx::Function &function, const ptx::Instruction &instruction,
                              const Twine &what) const {
    return {abi::WarpForm::HalfFilled,
            ("'" + function.name + "': " + describe(instruction) + " " + what).str(), 0, &function,
            instruction.place};
  }

  const ptx::Module &module;
  const Unit &unit;
  const DenseSet<const ptx::Function *> addressTaken;
  bool hasClusterBarriers = false;
};

} // namespace

WarpFormDecision checkedForm(WarpFormDecision decision) {
  WarpFormDecision result = std::move(decision);
  result.form = abi::WarpForm::Packed;
  result.reason = "the kernel ends if warps of a wave come to a barrier apart; " + result.reason;
  result.mayBeChecked = result.mustBeChecked = false;
  result.isChecked = true;
  return result;
}

WarpFormDecision decideWarpForm(const ptx::Module &module, const Unit &unit, const Target &target) {
  if (target.waveSize == 32)
    return {abi::WarpForm::Wave32, target.name() + " executes wave32"};
  return Decision(module, unit).decide();
}

StringRef nameOf(abi::WarpForm form) {
  switch (form) {
  case abi::WarpForm::Wave32:
    return "wave32";
  case abi::WarpForm::HalfFilled:
    return "half-filled";
  case abi::WarpForm::Packed:
    return "packed";
  }
  return "";
}

} // namespace rubia::lowering
