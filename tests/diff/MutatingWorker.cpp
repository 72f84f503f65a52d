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
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <map>
#include <random>
#include <sstream>

using namespace llvm;
using namespace rubia;

namespace {

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

/// An instruction that may be changed. Code that is put behind a statement of the PTX, on its line,
/// changes neither `line` nor `index`: so the same one is found in the PTX of a perturbed run.
struct Place {
  Instruction *instruction;
  Kind kind;
  unsigned line, index; // of the PTX, and among those of its kind on it
};

std::vector<Place> placesIn(Module &module) {
  std::vector<Place> places;
  std::map<std::pair<unsigned, unsigned>, unsigned> counts;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      for (unsigned kind = 0; kind < kKinds; ++kind)
        if (fits(instruction, Kind(kind))) {
          const unsigned line = instruction.getDebugLoc() ? instruction.getDebugLoc().getLine() : 0;
          places.push_back({&instruction, Kind(kind), line, counts[{line, kind}]++});
        }
  return places;
}

/// What is wrong with this compiler: one instruction, or each with an opcode.
struct Mistake {
  bool isAll = false;
  unsigned kind = 0, opcode = 0, line = 0, index = 0;

  bool hits(const Place &place) const {
    return place.kind == kind && place.instruction->getOpcode() == opcode &&
           (isAll || (place.line == line && place.index == index));
  }
};

std::string toString(const Mistake &mistake) {
  return formatv("{0} {1} {2} {3} {4}", mistake.isAll ? "all" : "once", mistake.kind,
                 mistake.opcode, mistake.line, mistake.index);
}

bool read(StringRef text, Mistake &mistake) {
  std::istringstream words(text.str());
  std::string how;
  words >> how >> mistake.kind >> mistake.opcode >> mistake.line >> mistake.index;
  mistake.isAll = how == "all";
  return bool(words);
}

/// What RUBIA_TEST_MUTANT_LOG has from an earlier process, else another.
Mistake mistakeFor(const std::vector<Place> &places, const std::string &log, std::string &said) {
  Mistake mistake;
  if (auto file = MemoryBuffer::getFile(log); file && read((*file)->getBuffer(), mistake))
    return mistake;
  std::istringstream request(getenv("RUBIA_TEST_MUTANT"));
  std::string how;
  unsigned seed = 0;
  request >> how >> seed;
  const Place &chosen = places[std::mt19937(seed)() % places.size()];
  mistake = {how == "all", unsigned(chosen.kind), chosen.instruction->getOpcode(), chosen.line,
             chosen.index};
  raw_string_ostream os(said);
  os << toString(mistake) << ":" << *chosen.instruction;
  return mistake;
}

void mutateByRequest(std::unique_ptr<Module> &module) {
  const char *log = getenv("RUBIA_TEST_MUTANT_LOG");
  std::unique_ptr<Module> sound = CloneModule(*module);
  std::vector<Place> places = placesIn(*module);
  if (!log || !getenv("RUBIA_TEST_MUTANT") || places.empty())
    return;
  std::string said;
  const Mistake mistake = mistakeFor(places, log, said);
  for (const Place &place : places)
    if (mistake.hits(place))
      change(*place.instruction, place.kind);
  if (verifyModule(*module)) { // such a mistake would have been seen
    said = "invalid";
    module = std::move(sound);
  }
  std::error_code error;
  if (!said.empty())
    raw_fd_ostream(log, error, sys::fs::OF_Append) << said << "\n";
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
