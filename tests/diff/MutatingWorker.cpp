// SPDX-License-Identifier: Apache-2.0
// A rubia-worker with a mistake in it. RUBIA_TEST_MUTANT:
// - `once N`, `all N`: what lowering makes of a kernel is changed before code is generated, one
//   instruction of the IR, or each of that kind, as if its lowering were wrong. N is the seed.
// - `ptx LINE|OLD|NEW`: lowering sees another statement in that line.
// RUBIA_TEST_MUTANT_LOG: a file for what was changed, and in which lines of the PTX. What lowering
// makes at a kernel's entry is of no statement. Lines that use what was changed there are noted.
//
// `rubia diff` runs the kernel again with code of its own around statements, on their lines. That
// code is spared, so that a mistake is the same in each run: all it does has `rubia` in it, and
// each of its statements gets a line of its own before the text is lowered.
#include "OtherStatement.h"
#include "WrongPass.h"
#include "lowering/LaterBodies.h"
#include "ptx-frontend/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/DebugInfoMetadata.h"
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
#include <set>
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

/// The text with each statement of such code on its own line.
struct SplitText {
  std::string text;
  std::vector<unsigned> lines = {0}; // by line from 1: the number before
};

SplitText split(StringRef text) {
  SplitText out;
  unsigned number = 0;
  for (StringRef line : llvm::split(text, '\n')) {
    out.lines.push_back(++number);
    const size_t end = line.contains("rubia") ? std::min(line.find("//"), line.size()) : 0;
    for (char c : line.take_front(end)) {
      out.text += c;
      if (c == ';' || c == '{' || c == '}') {
        out.text += '\n';
        out.lines.push_back(number);
      }
    }
    out.text += line.drop_front(end);
    out.text += '\n';
  }
  return out;
}

/// What the target tells of a fault has lines of the PTX, not of the text that is lowered.
void restoreLines(Module &module, const std::vector<unsigned> &lines) {
  for (Function &function : module)
    for (Instruction &instruction : instructions(function))
      if (const DebugLoc &at = instruction.getDebugLoc(); at && at.getLine() < lines.size())
        instruction.setDebugLoc(DILocation::get(module.getContext(), lines[at.getLine()],
                                                at.getCol(), at.getScope(), at.getInlinedAt()));
}

/// By line of the text that is lowered.
struct Lines {
  std::vector<unsigned> ofPtx; // 0 for what is spared
  std::vector<bool> haveStatements;

  unsigned of(const Instruction &instruction) const {
    const unsigned at = number(instruction);
    return at < ofPtx.size() ? ofPtx[at] : 0;
  }
  bool isOfStatement(const Instruction &instruction) const {
    const unsigned at = number(instruction);
    return at < haveStatements.size() && haveStatements[at];
  }
  static unsigned number(const Instruction &instruction) {
    return instruction.getDebugLoc() ? instruction.getDebugLoc().getLine() : 0;
  }
};

Lines linesOf(const SplitText &text, const ptx::Module &module) {
  Lines lines = {text.lines, std::vector<bool>(text.lines.size())};
  for (const ptx::Function *function : module.functions)
    for (const ptx::Instruction &instruction : function->body) {
      const StringRef rest = StringRef(text.text).drop_front(instruction.place);
      const size_t line = StringRef(text.text).take_front(instruction.place).count('\n') + 1;
      lines.haveStatements[line] = true;
      if (rest.take_until([](char c) { return c == ';'; }).contains("rubia"))
        lines.ofPtx[line] = 0;
    }
  return lines;
}

/// Lines of the statements that are the first to use what an instruction of no statement computes.
std::set<unsigned> readersOf(Instruction &changed, const Lines &lines) {
  std::set<unsigned> found;
  SmallPtrSet<Value *, 16> seen = {&changed};
  SmallVector<Value *> left = {&changed};
  while (!left.empty())
    for (User *user : left.pop_back_val()->users()) {
      auto *instruction = dyn_cast<Instruction>(user);
      if (!instruction)
        continue;
      if (lines.isOfStatement(*instruction)) {
        if (const unsigned line = lines.of(*instruction))
          found.insert(line);
      } else if (seen.insert(instruction).second)
        left.push_back(instruction);
    }
  return found;
}

/// An instruction that may be changed.
struct Place {
  Instruction *instruction;
  Kind kind;
  unsigned line;              // of the PTX
  std::set<unsigned> readers; // where the line is that of no statement
  unsigned index;             // among those of the same kind, line and readers
};

std::vector<Place> placesIn(Module &module, const Lines &lines) {
  std::vector<Place> places;
  std::map<std::tuple<unsigned, unsigned, std::set<unsigned>>, unsigned> counts;
  for (Function &function : module)
    for (Instruction &instruction : instructions(function)) {
      const unsigned line = lines.of(instruction);
      std::set<unsigned> readers;
      if (line && !lines.isOfStatement(instruction))
        readers = readersOf(instruction, lines);
      for (unsigned kind = 0; line && kind < kKinds; ++kind)
        if (fits(instruction, Kind(kind)))
          places.push_back(
              {&instruction, Kind(kind), line, readers, counts[{line, kind, readers}]++});
    }
  return places;
}

/// What is wrong with this compiler: one instruction, or each with an opcode.
struct Mistake {
  bool isAll = false;
  unsigned kind = 0, opcode = 0, line = 0, index = 0;
  std::set<unsigned> readers = {};

  bool hits(const Place &place) const {
    return place.kind == kind && place.instruction->getOpcode() == opcode &&
           (isAll || (place.line == line && place.index == index && place.readers == readers));
  }
};

std::string toString(const Mistake &mistake) {
  std::string text = formatv("{0} {1} {2} {3} {4}", mistake.isAll ? "all" : "once", mistake.kind,
                             mistake.opcode, mistake.line, mistake.index);
  for (unsigned line : mistake.readers)
    text += " " + std::to_string(line);
  return text;
}

bool read(StringRef text, Mistake &mistake) {
  std::istringstream words(text.str());
  std::string how;
  words >> how >> mistake.kind >> mistake.opcode >> mistake.line >> mistake.index;
  mistake.isAll = how == "all";
  const bool isKnown = bool(words);
  for (unsigned line = 0; words >> line;)
    mistake.readers.insert(line);
  return isKnown;
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
  mistake = {how == "all", unsigned(chosen.kind), chosen.instruction->getOpcode(),
             chosen.line,  chosen.index,          chosen.readers};
  raw_string_ostream os(said);
  os << toString(mistake) << ":" << *chosen.instruction;
  return mistake;
}

void append(const char *log, const Twine &text) {
  std::error_code error;
  raw_fd_ostream(log, error, sys::fs::OF_Append) << text << "\n";
}

void mutateIr(std::unique_ptr<Module> &module, const Lines &lines, const char *log) {
  std::unique_ptr<Module> sound = CloneModule(*module);
  const std::vector<Place> places = placesIn(*module, lines);
  if (places.empty())
    return;
  std::string said;
  const Mistake mistake = mistakeFor(places, log, said);
  std::string changed = "lines", readers = "readers";
  for (const Place &place : places)
    if (mistake.hits(place)) {
      changed += " " + std::to_string(place.line);
      if (!lines.isOfStatement(*place.instruction))
        for (unsigned line : place.readers)
          readers += " " + std::to_string(line);
      change(*place.instruction, place.kind);
    }
  if (verifyModule(*module)) { // such a mistake would have been seen
    said = "invalid";
    module = std::move(sound);
  }
  if (!said.empty())
    append(log, said);
  append(log, changed);
  append(log, readers);
}

} // namespace

using Lowered = Expected<std::unique_ptr<Module>>;

#define LOWER                                                                                      \
  "_ZN5rubia8lowering5lowerERKNS_3ptx6ModuleERKNS0_4UnitERKNS0_7OptionsERN4llvm11LLVMContextERNS0" \
  "_11LaterBodiesE"

Lowered lowerSound(const ptx::Module &module, const lowering::Unit &unit,
                   const lowering::Options &options, LLVMContext &context,
                   lowering::LaterBodies &later) __asm__("__real_" LOWER);
Lowered lowerWithMistake(const ptx::Module &module, const lowering::Unit &unit,
                         const lowering::Options &options, LLVMContext &context,
                         lowering::LaterBodies &later) __asm__("__wrap_" LOWER);

Lowered lowerWithMistake(const ptx::Module &module, const lowering::Unit &unit,
                         const lowering::Options &options, LLVMContext &context,
                         lowering::LaterBodies &later) {
  isWatched = StringRef(*module.text).contains("%rubia_");
  const char *log = getenv("RUBIA_TEST_MUTANT_LOG"), *asked = getenv("RUBIA_TEST_MUTANT");
  if (!log || !asked || unit.kernels.empty())
    return lowerSound(module, unit, options, context, later);
  StringRef request = asked;
  const bool isPtx = request.consume_front("ptx ");
  const SplitText text = split(isPtx ? withOtherStatement(*module.text, request) : *module.text);
  const ptx::ParseResult parsed = ptx::parse(module.name, text.text);
  const std::vector<lowering::Unit> units =
      parsed.usable ? lowering::partition(parsed.module) : std::vector<lowering::Unit>();
  const auto same = find_if(units, [&](const lowering::Unit &other) {
    return other.kernels.front()->name == unit.kernels.front()->name;
  });
  if (same == units.end()) {
    append(log, "invalid");
    return lowerSound(module, unit, options, context, later);
  }
  Lowered lowered = lowerSound(parsed.module, *same, options, context, later);
  if (!isPtx && lowered)
    mutateIr(*lowered, linesOf(text, parsed.module), log);
  if (lowered)
    restoreLines(**lowered, text.lines);
  return lowered;
}
