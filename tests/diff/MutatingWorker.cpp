// SPDX-License-Identifier: Apache-2.0
// A rubia-worker with a mistake in it: what lowering makes of a kernel is changed before code is
// generated. RUBIA_TEST_MUTANT: `once N`, one instruction of the IR, or `all N`, each of that kind,
// as if its lowering were wrong. N is the seed. RUBIA_TEST_MUTANT_LOG: a file for what was changed.
#include "lowering/Lowering.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <random>
#include <sstream>

using namespace llvm;
using namespace rubia;

namespace {

using Random = std::mt19937;

/// Another operation on the same operands; 0: there is none.
unsigned otherOperation(unsigned opcode) {
  switch (opcode) {
  case Instruction::Add:
    return Instruction::Sub;
  case Instruction::Sub:
    return Instruction::Add;
  case Instruction::Mul:
    return Instruction::Add;
  case Instruction::And:
    return Instruction::Or;
  case Instruction::Or:
    return Instruction::Xor;
  case Instruction::Xor:
    return Instruction::And;
  case Instruction::Shl:
    return Instruction::LShr;
  case Instruction::LShr:
    return Instruction::AShr;
  case Instruction::AShr:
    return Instruction::LShr;
  case Instruction::FAdd:
    return Instruction::FSub;
  case Instruction::FSub:
    return Instruction::FAdd;
  case Instruction::FMul:
    return Instruction::FAdd;
  default:
    return 0;
  }
}

CmpInst::Predicate otherPredicate(CmpInst::Predicate predicate) {
  switch (predicate) {
  case CmpInst::ICMP_EQ:
  case CmpInst::ICMP_NE:
  case CmpInst::FCMP_OEQ:
  case CmpInst::FCMP_UNE:
    return CmpInst::getInversePredicate(predicate);
  default:
    return CmpInst::isStrictPredicate(predicate) ? CmpInst::getNonStrictPredicate(predicate)
                                                 : CmpInst::getStrictPredicate(predicate);
  }
}

enum Kind { Operation, Constant, Predicate, Arms, Branch, Fence, Extension, Width, Sign, kKinds };

/// The first operand that is a small number and may be another.
Use *constantOf(Instruction &instruction) {
  if (!isa<BinaryOperator, CmpInst, SelectInst, GetElementPtrInst, StoreInst>(instruction))
    return nullptr;
  for (Use &use : instruction.operands())
    if (const auto *number = dyn_cast<ConstantInt>(use);
        number && number->getBitWidth() > 1 && number->getBitWidth() <= 64 &&
        (!isa<GetElementPtrInst>(instruction) ||
         cast<GetElementPtrInst>(instruction).getSourceElementType()->isIntegerTy(8)))
      return &use;
  return nullptr;
}

bool fits(Instruction &instruction, Kind kind) {
  switch (kind) {
  case Operation:
    return isa<BinaryOperator>(instruction) && otherOperation(instruction.getOpcode());
  case Constant:
    return constantOf(instruction);
  case Predicate:
    return isa<CmpInst>(instruction);
  case Arms:
    return isa<SelectInst>(instruction);
  case Branch:
    return isa<BranchInst>(instruction) && cast<BranchInst>(instruction).isConditional();
  case Fence:
    return isa<FenceInst>(instruction);
  case Extension:
    return isa<ZExtInst, SExtInst>(instruction) &&
           !instruction.getOperand(0)->getType()->isIntOrIntVectorTy(1);
  case Width:
    return isa<LoadInst>(instruction) && instruction.getType()->isIntegerTy(32);
  case Sign: // of a factor
    return isa<CallInst>(instruction) && instruction.getType()->isFPOrFPVectorTy() &&
           cast<CallInst>(instruction).getIntrinsicID() == Intrinsic::fma;
  case kKinds:
    break;
  }
  return false;
}

void replace(Instruction &instruction, Value *by) {
  instruction.replaceAllUsesWith(by);
  instruction.eraseFromParent();
}

void change(Instruction &instruction, Kind kind) {
  IRBuilder<> builder(&instruction);
  switch (kind) {
  case Operation:
    return replace(instruction, builder.Insert(BinaryOperator::Create(
                                    Instruction::BinaryOps(otherOperation(instruction.getOpcode())),
                                    instruction.getOperand(0), instruction.getOperand(1))));
  case Constant: {
    Use &use = *constantOf(instruction);
    const auto *number = cast<ConstantInt>(use);
    const unsigned step = isa<GetElementPtrInst>(instruction) ? 4 : 1; // of bytes: a word
    use.set(ConstantInt::get(number->getContext(), number->getValue() + step));
    return;
  }
  case Predicate:
    return cast<CmpInst>(instruction)
        .setPredicate(otherPredicate(cast<CmpInst>(instruction).getPredicate()));
  case Arms:
    return cast<SelectInst>(instruction).swapValues();
  case Branch:
    return cast<BranchInst>(instruction).swapSuccessors();
  case Fence:
    instruction.eraseFromParent();
    return;
  case Extension:
    return replace(instruction,
                   isa<ZExtInst>(instruction)
                       ? builder.CreateSExt(instruction.getOperand(0), instruction.getType())
                       : builder.CreateZExt(instruction.getOperand(0), instruction.getType()));
  case Width: {
    auto *half = cast<LoadInst>(instruction.clone());
    half->mutateType(builder.getInt16Ty());
    builder.Insert(half);
    return replace(instruction, builder.CreateZExt(half, instruction.getType()));
  }
  case Sign:
    instruction.setOperand(0, builder.CreateFNeg(instruction.getOperand(0)));
    return;
  case kKinds:
    return;
  }
}

std::string mutate(Module &module, bool isAll, Random &random) {
  std::vector<std::pair<Instruction *, Kind>> places;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      for (unsigned kind = 0; kind < kKinds; ++kind)
        if (fits(instruction, Kind(kind)))
          places.emplace_back(&instruction, Kind(kind));
  if (places.empty())
    return "";
  const auto [chosen, kind] = places[random() % places.size()];
  const unsigned opcode = chosen->getOpcode();
  std::string said;
  raw_string_ostream os(said);
  os << (isAll ? "each such: " : "") << "kind " << int(kind) << " of" << *chosen;
  for (const auto &[instruction, other] : places)
    if (instruction == chosen ? other == kind
                              : isAll && other == kind && instruction->getOpcode() == opcode)
      change(*instruction, kind);
  return said;
}

void mutateByRequest(std::unique_ptr<Module> &module) {
  const char *request = getenv("RUBIA_TEST_MUTANT");
  if (!request)
    return;
  std::istringstream words(request);
  std::string how;
  unsigned seed = 0;
  words >> how >> seed;
  Random random(seed);
  std::unique_ptr<Module> sound = CloneModule(*module);
  std::string said = mutate(*module, how == "all", random);
  if (verifyModule(*module)) { // such a mistake would have been seen
    said = "invalid: " + said;
    module = std::move(sound);
  }
  std::error_code error;
  raw_fd_ostream log(getenv("RUBIA_TEST_MUTANT_LOG"), error, sys::fs::OF_Append);
  if (!error)
    log << said << "\n";
}

} // namespace

using Lowered = Expected<std::unique_ptr<Module>>;

Lowered lowerSound(const ptx::Module &module, const lowering::Unit &unit,
                   const lowering::Options &options,
                   LLVMContext &context) __asm__("__real__ZN5rubia8lowering5lowerERKNS_"
                                                 "3ptx6ModuleERKNS0_4UnitERKNS0_7OptionsERN4llvm"
                                                 "11LLVMContextE");
Lowered
lowerWithMistake(const ptx::Module &module, const lowering::Unit &unit,
                 const lowering::Options &options,
                 LLVMContext &context) __asm__("__wrap__ZN5rubia8lowering5lowerERKNS_"
                                               "3ptx6ModuleERKNS0_4UnitERKNS0_7OptionsERN4llvm"
                                               "11LLVMContextE");

Lowered lowerWithMistake(const ptx::Module &module, const lowering::Unit &unit,
                         const lowering::Options &options, LLVMContext &context) {
  Lowered lowered = lowerSound(module, unit, options, context);
  if (lowered)
    mutateByRequest(*lowered);
  return lowered;
}
