// LLVM's StraightLineStrengthReduce compares every addition, multiplication and address computation
// with those that dominate it: a block of 20,000 instructions (5,000 multiplications) takes it 120
// s, one of 5,000 takes 3.5 s, and everything else together 3 s and 0.5 s. With the limit below it
// costs at most 0.15 s.
#include "codegen/lib/PassLimits.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

constexpr unsigned kMaxReductionCandidates = 512;

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

/// What the SDWA peephole of gfx9 miscompiles if its result is zero-extended (docs/errata.md): it
/// takes a sign-extending operand for an instruction that clears the upper half.
bool isSignedHalfword(const Instruction &inst) {
  return inst.getType()->isIntegerTy(16) &&
         (inst.getOpcode() == Instruction::AShr || inst.getOpcode() == Instruction::SExt);
}

bool hasSignedHalfword(const Function &function) {
  for (const BasicBlock &block : function)
    if (any_of(block, isSignedHalfword))
      return true;
  return false;
}

/// What the atomic optimizer gets wrong (docs/errata.md): it adds up the wave's operands first, and
/// the sum of floating-point numbers depends on the order. One order of the atomics must explain
/// both the memory and all results.
bool isFloatAtomic(const Instruction &inst) {
  auto *rmw = dyn_cast<AtomicRMWInst>(&inst);
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
  auto *call = dyn_cast<IntrinsicInst>(&inst);
  return call && call->getIntrinsicID() == Intrinsic::amdgcn_ballot &&
         isa<Constant>(call->getArgOperand(0));
}

bool hasExecRead(const Function &function) {
  for (const BasicBlock &block : function)
    if (any_of(block, readsExec))
      return true;
  return false;
}

} // namespace

bool PassLimits::Gate::shouldRunPass(StringRef pass, StringRef unit) const {
  if (pass == "si-peephole-sdwa")
    return !withoutSdwaPeephole.contains(unit);
  if (pass == "amdgpu-atomic-optimizer")
    return !withoutAtomicOptimizer.contains(unit);
  if (pass == "si-optimize-exec-masking-pre-ra")
    return !withoutExecMasking.contains(unit);
  return pass != "slsr" || !withoutStrengthReduction.contains(unit);
}

PassLimits::PassLimits(Module &module)
    : context(module.getContext()), previous(context.getOptPassGate()) {
  for (const Function &function : module) {
    std::string name = ("function (" + function.getName() + ")").str();
    if (reductionCandidates(function) > kMaxReductionCandidates)
      gate.withoutStrengthReduction.insert(name);
    if (hasSignedHalfword(function))
      gate.withoutSdwaPeephole.insert(name);
    if (hasFloatAtomic(function))
      gate.withoutAtomicOptimizer.insert(name);
    if (hasExecRead(function))
      gate.withoutExecMasking.insert(name);
  }
  context.setOptPassGate(gate);
}

PassLimits::~PassLimits() { context.setOptPassGate(previous); }

} // namespace rubia::codegen
