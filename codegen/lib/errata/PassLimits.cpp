// SPDX-License-Identifier: Apache-2.0
// LLVM's StraightLineStrengthReduce compares every addition, multiplication and address computation
// with those that dominate it: a block of 20,000 instructions (5,000 multiplications) takes it 120
// s, one of 5,000 takes 3.5 s, and everything else together 3 s and 0.5 s. With the limit below it
// costs at most 0.15 s.
//
// CodeGenPrepare numbers all instructions of a block for each that reads a negated or absolute
// value, 55 ns each: of a Fourier transform of 5,638 instructions 1.6 million, 15 % of its time. In
// such blocks it does next to nothing: the code of that kernel stays as it is.
#include "codegen/lib/errata/PassLimits.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

constexpr unsigned kMaxReductionCandidates = 512;
constexpr uint64_t kMaxNumbered = 500'000;
constexpr uint64_t kMaxLiveRanges = 64'000'000;

bool isReductionCandidate(const Instruction &inst) {
  return isa<GetElementPtrInst>(inst) || inst.getOpcode() == Instruction::Add ||
         inst.getOpcode() == Instruction::Sub || inst.getOpcode() == Instruction::Mul;
}

unsigned reductionCandidates(const Function &function) {
  unsigned count = 0;
  for (const BasicBlock &block : function)
    count += count_if(block, isReductionCandidate);
  return count;
}

bool isSignOnly(const Value *value) {
  using namespace PatternMatch;
  return match(value, m_FNeg(m_Value())) || match(value, m_FAbs(m_Value()));
}

/// How many instructions CodeGenPrepare numbers: all of a block, for each that reads a sign.
uint64_t numberedInstructions(const Function &function) {
  uint64_t numbered = 0;
  for (const BasicBlock &block : function) {
    uint64_t readers = count_if(
        block, [](const Instruction &inst) { return any_of(inst.operands(), isSignOnly); });
    numbered += readers * block.size();
  }
  return numbered;
}

/// What the SDWA peephole of gfx9 miscompiles if its result is zero-extended (docs/errata.md): it
/// takes a sign-extending operand for an instruction that clears the upper half.
bool isSignedHalfword(const Instruction &inst) {
  return inst.getType()->isIntegerTy(16) &&
         (inst.getOpcode() == Instruction::AShr || inst.getOpcode() == Instruction::SExt);
}

/// A byte or half of a register, sign-extended: the peephole makes it an operand. Of a
/// floating-point instruction it is then negated, not sign-extended: the two modifiers share a bit
/// (docs/errata.md).
bool isSignedPart(const Instruction &inst) {
  using namespace PatternMatch;
  if (isa<SExtInst>(inst))
    return inst.getOperand(0)->getType()->getScalarSizeInBits() <= 16;
  if (const auto *call = dyn_cast<IntrinsicInst>(&inst))
    return call->getIntrinsicID() == Intrinsic::amdgcn_sbfe;
  const APInt *amount = nullptr;
  return inst.getType()->getScalarSizeInBits() == 32 &&
         match(&inst, m_AShr(m_Value(), m_APInt(amount))) && (*amount == 16 || *amount == 24);
}

/// Where an integer becomes a floating-point number of the same bits.
bool isTakenForFloat(const Instruction &inst) {
  return isa<BitCastInst>(inst) && inst.getType()->isFPOrFPVectorTy() &&
         inst.getOperand(0)->getType()->isIntOrIntVectorTy();
}

bool isWrongWithSdwa(const Function &function) {
  bool hasSigned = false, hasFloat = false;
  for (const Instruction &inst : instructions(function)) {
    if (isSignedHalfword(inst))
      return true;
    hasSigned |= isSignedPart(inst);
    hasFloat |= isTakenForFloat(inst);
  }
  return hasSigned && hasFloat;
}

/// What the atomic optimizer gets wrong (docs/errata.md): it adds up the wave's operands first, and
/// the sum of floating-point numbers depends on the order. One order of the atomics must explain
/// both the memory and all results.
bool isFloatAtomic(const Instruction &inst) {
  const auto *rmw = dyn_cast<AtomicRMWInst>(&inst);
  return rmw && rmw->isFloatingPointOperation();
}

bool hasFloatAtomic(const Function &function) {
  for (const BasicBlock &block : function)
    if (any_of(block, isFloatAtomic))
      return true;
  return false;
}

/// Where EXEC is read as a number. The pre-RA pass over lane masks takes the register that a copy
/// of EXEC goes to for one that is written once, and gives all its writes to EXEC (docs/errata.md).
bool readsExec(const Instruction &inst) {
  const auto *call = dyn_cast<IntrinsicInst>(&inst);
  return call && call->getIntrinsicID() == Intrinsic::amdgcn_ballot &&
         isa<Constant>(call->getArgOperand(0));
}

bool hasExecRead(const Function &function) {
  for (const BasicBlock &block : function)
    if (any_of(block, readsExec))
      return true;
  return false;
}

/// The pass over live ranges of VGPRs takes what a loop over the callees of a call by address reads
/// word by word for dead. And in one branch it takes the registers that only the other one reads
/// for free, as idle lanes keep them: where all lanes are on they do not (docs/errata.md).
bool isWrongWithLiveRanges(const Instruction &inst) {
  const auto *call = dyn_cast<CallBase>(&inst);
  return call && (call->isIndirectCall() || call->getIntrinsicID() == Intrinsic::amdgcn_strict_wwm);
}

/// Made for the emulator's checks (codegen/lib/LocalArrays.h). They name the line of each access of
/// the program, and what LLVM makes of several has one line.
bool keepsItsAccesses(const Function &function) {
  return function.hasFnAttribute("rubia-local-arrays");
}

/// It looks at all registers for each branch: of 64,000 instructions with 8 % branches that is 13 %
/// of the time.
bool isSlowWithLiveRanges(const Function &function) {
  uint64_t branches = 0, instructions = 0;
  for (const BasicBlock &block : function) {
    branches += block.getTerminator()->getNumSuccessors() > 1;
    instructions += block.size();
  }
  return branches * instructions > kMaxLiveRanges;
}

bool isWrongWithLiveRanges(const Function &function) {
  return any_of(instructions(function),
                [](const Instruction &inst) { return isWrongWithLiveRanges(inst); });
}

} // namespace

bool PassLimits::Gate::shouldRunPass(StringRef pass, StringRef unit) const {
  if (pass == "si-peephole-sdwa")
    return !withoutSdwaPeephole.contains(unit);
  if (pass == "codegenprepare")
    return !withoutPreparation.contains(unit);
  if (pass == "amdgpu-atomic-optimizer")
    return !withoutAtomicOptimizer.contains(unit);
  if (pass == "si-optimize-exec-masking-pre-ra")
    return !withoutExecMasking.contains(unit);
  if (pass == "si-opt-vgpr-liverange")
    return !withoutLiveRanges.contains(unit);
  // Of a clause, which is one bundle, the first line alone is told.
  if (pass == "load-store-vectorizer" || pass == "si-load-store-opt" ||
      pass == "si-insert-hard-clauses")
    return !withoutJoinedAccesses.contains(unit);
  return pass != "slsr" || !withoutStrengthReduction.contains(unit);
}

PassLimits::PassLimits(Module &module)
    : context(module.getContext()), previous(context.getOptPassGate()) {
  for (const Function &function : module) {
    std::string name = ("function (" + function.getName() + ")").str();
    if (reductionCandidates(function) > kMaxReductionCandidates)
      gate.withoutStrengthReduction.insert(name);
    if (numberedInstructions(function) > kMaxNumbered)
      gate.withoutPreparation.insert(name);
    if (isWrongWithSdwa(function))
      gate.withoutSdwaPeephole.insert(name);
    if (hasFloatAtomic(function))
      gate.withoutAtomicOptimizer.insert(name);
    if (hasExecRead(function))
      gate.withoutExecMasking.insert(name);
    if (keepsItsAccesses(function))
      gate.withoutJoinedAccesses.insert(name);
    if (isWrongWithLiveRanges(function) || isSlowWithLiveRanges(function))
      gate.withoutLiveRanges.insert(name);
  }
  context.setOptPassGate(gate);
}

PassLimits::~PassLimits() { context.setOptPassGate(previous); }

} // namespace rubia::codegen
