// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/BarrierPlan.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/Uniformity.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <set>
#include <vector>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation BarArrive, BarRed, WgmmaWait;
} // namespace rubia::ptx::Op

namespace rubia::lowering {

namespace {

constexpr uint32_t kWarpgroup = 128; // threads

// A barrier with a number.
bool isBarrier(const ptx::Instruction &instruction) {
  return does(instruction, effects::MeetsCta | effects::ArrivesCta);
}

// barrier.cluster.wait, of a cluster of one CTA.
bool isClusterWait(const ptx::Instruction &instruction) {
  return does(instruction, effects::MeetsCluster) && isMeeting(instruction);
}

// What is known of the CTAs that the unit's kernels are launched with, in whole warps.
struct CtaSizes {
  uint64_t exact = 0; // 0: not known
  uint64_t most = 0;

  explicit CtaSizes(const Unit &unit) {
    auto product = [](const uint32_t (&dimensions)[3]) {
      return dimensions[0] ? uint64_t(dimensions[0]) * std::max(dimensions[1], 1u) *
                                 std::max(dimensions[2], 1u)
                           : 0;
    };
    bool first = true;
    for (const ptx::Function *kernel : unit.kernels) {
      uint64_t required = alignTo(product(kernel->attributes.requiredThreads), 32);
      uint64_t limit = alignTo(product(kernel->attributes.maxThreads), 32);
      exact = first || exact == required ? required : 0;
      most = std::max(most, required ? required : limit ? limit : uint64_t(abi::kMostThreads));
      first = false;
    }
  }
  bool mayBe(uint64_t threads) const { return exact ? threads == exact : threads <= most; }
};

// Finds the barriers that parts of a warp may come to, and those to which the rest may come late.
void findDivided(const Unit &unit, const CtaSizes &sizes, BarrierPlan &plan) {
  std::unique_ptr<Uniformity> uniformity; // costs time, and hardly any kernel needs it
  for (BarrierUse &use : plan.uses) {
    if (isAligned(*use.instruction))
      continue;
    if (!uniformity)
      uniformity = std::make_unique<Uniformity>(unit, functionsWithAddress(unit), Group::Warp);
    uint32_t index = uint32_t(use.instruction - use.function->body.data());
    use.mayDivide = !uniformity->executesTogether(*use.function, index).together;
  }
  // Numbers of those that may divide; there are thousands of uses in a large unit.
  bool isAny = false, isUnknown = false;
  std::set<uint64_t> numbers;
  for (const BarrierUse &use : plan.uses)
    if (use.mayDivide) {
      isAny = true;
      isUnknown |= !use.id;
      if (use.id)
        numbers.insert(*use.id);
    }
  for (BarrierUse &use : plan.uses) {
    if (isAligned(*use.instruction))
      continue;
    use.noticesLate = use.id ? isUnknown || numbers.contains(*use.id) : isAny;
    if (use.noticesLate)
      plan.words.missed =
          uint32_t(std::clamp<uint64_t>(sizes.most / 32, 1, BarrierWords::kMaxWaves));
  }
}

} // namespace

BarrierPlan planBarriers(const Unit &unit, bool isChecked) {
  BarrierPlan plan;
  auto add = [&](const ptx::Function &function) {
    if (none_of(function.body,
                [](const ptx::Instruction &i) { return isBarrier(i) || isClusterWait(i); }))
      return;
    Definitions definitions(function);
    for (const ptx::Instruction &instruction : function.body) {
      if (isClusterWait(instruction)) {
        plan.indexes[&instruction] = plan.uses.size();
        plan.uses.push_back(
            {&function, &instruction, BarrierForm::Hardware, BarrierPlan::kCluster, 0, ""});
      }
      if (!isBarrier(instruction))
        continue;
      if (instruction.op() == ptx::Op::WgmmaWait) {
        plan.indexes[&instruction] = plan.uses.size();
        plan.uses.push_back({&function, &instruction, BarrierForm::Hardware,
                             BarrierPlan::kWarpgroups, kWarpgroup, ""});
        continue;
      }
      unsigned first = instruction.op() == ptx::Op::BarRed;
      bool counts = instruction.operands.size() > (first ? 3u : 1u);
      BarrierUse use{&function, &instruction, BarrierForm::Hardware, {}, 0, ""};
      if (std::optional<uint64_t> id = definitions.constant(instruction.operands[first]))
        use.id = *id % BarrierPlan::kNumbers; // as an H100 does
      if (counts)
        use.threads = definitions.constant(instruction.operands[first + 1]);
      plan.indexes[&instruction] = plan.uses.size();
      plan.uses.push_back(use);
    }
  };
  for (const ptx::Function *kernel : unit.kernels)
    add(*kernel);
  for (const ptx::Function *function : unit.functions)
    add(*function);

  CtaSizes sizes(unit);
  auto mayMeet = [](const BarrierUse &a, const BarrierUse &b) {
    return (!a.id || !b.id || *a.id == *b.id) &&
           (!a.threads || !b.threads || *a.threads == *b.threads);
  };
  std::vector<BarrierUse> arrivals;
  for (const BarrierUse &use : plan.uses)
    if (use.instruction->op() == ptx::Op::BarArrive && (!use.threads || sizes.mayBe(*use.threads)))
      arrivals.push_back(use);
  auto meetsArrival = [&](const BarrierUse &use) {
    return any_of(arrivals, [&](const BarrierUse &other) { return mayMeet(use, other); });
  };
  for (BarrierUse &use : plan.uses) {
    auto set = [&](BarrierForm form, const char *reason) {
      use.form = form;
      use.reason = reason;
    };
    if (use.instruction->op() == ptx::Op::BarArrive)
      set(BarrierForm::Counted, "arrive does not wait");
    else if (use.threads == 0)
      continue; // never meets one with a count
    else if (use.threads && !sizes.mayBe(*use.threads))
      set(BarrierForm::Counted, "it is for some of the CTA's threads");
    else if (meetsArrival(use))
      set(BarrierForm::Counted, "threads may arrive at this barrier without waiting");
    else if (!use.threads)
      set(BarrierForm::BySize, "its number of threads is in a register");
    else if (!sizes.exact)
      set(BarrierForm::BySize, "it may be for some of the CTA's threads");
  }

  findDivided(unit, sizes, plan);
  if (isChecked) {
    for (BarrierUse &use : plan.uses)
      use.noticesLate = true;
    plan.words.missed = BarrierWords::kMaxWaves / 2; // two warps a wave
  }
  auto statesOf = [](const BarrierUse &use) {
    if (use.id == BarrierPlan::kWarpgroups)
      return BarrierPlan::kNumbers + BarrierPlan::kMaxWarpgroups;
    return use.id ? uint32_t(*use.id) + 1 : BarrierPlan::kNumbers;
  };
  for (const BarrierUse &use : plan.uses) {
    if (use.form != BarrierForm::Hardware)
      plan.words.states = std::max(plan.words.states, statesOf(use));
    if (use.instruction->op() == ptx::Op::BarRed && use.form != BarrierForm::Counted)
      plan.words.reductions = true;
  }
  return plan;
}

bool BarrierPlan::isHardware(uint64_t ctaThreads) const {
  return all_of(uses, [&](const BarrierUse &use) {
    return use.form == BarrierForm::Hardware ||
           (use.form == BarrierForm::BySize && use.threads == alignTo(ctaThreads, 32));
  });
}

const BarrierUse *BarrierPlan::alwaysCounted() const {
  for (const BarrierUse &use : uses)
    if (use.form == BarrierForm::Counted)
      return &use;
  return nullptr;
}

} // namespace rubia::lowering
