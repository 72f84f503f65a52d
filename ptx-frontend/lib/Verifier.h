// SPDX-License-Identifier: Apache-2.0
// The checks of one function's instructions. What follows from the spelling alone (version, target,
// vector width) is decided once a module and spelling; the operands take a few compares each.
#pragma once

#include "ptx-frontend/Linker.h"
#include "ptx-frontend/lib/Parser.h"
#include "ptx-frontend/lib/TypeNames.h"
#include "llvm/ADT/STLExtras.h"

namespace rubia::ptx {

/// May a register or variable of type `actual` stand where the instruction has type `expected`?
/// Bits fit everything of their size, signedness does not matter, and floating point types fit only
/// themselves and bits. `wider`: ld, st and cvt also take a larger one.
bool fits(Type expected, Type actual, bool wider);

class Verifier {
public:
  Verifier(const Module &module, Function &fn, DiagnosticLog &diagnostics)
      : module(module), fn(fn), diagnostics(diagnostics),
        isLinked(llvm::is_contained(module.pragmas, kLinkedPragma)),
        version{isLinked ? uint8_t(0xff) : uint8_t(module.versionMajor),
                uint8_t(module.versionMinor)} {}

  void run() {
    for (const Instruction &instruction : fn.body) {
      Shape shape(instruction, fn);
      const auto *matched = static_cast<const MatchedSpelling *>(instruction.spelling);
      if (!shape.known() || !matched->rightShapes.contains(shape))
        checkAndRemember(instruction, shape);
    }
  }

private:
  const Module &module;
  Function &fn;
  DiagnosticLog &diagnostics;
  /// What the header says is that of no unit: what is new enough for one may be too old for
  /// another.
  bool isLinked;
  Version version;
  const Instruction *inst = nullptr;
  const MatchedSpelling *spelling = nullptr;
  const MatchedSpelling *lastRejected = nullptr; // reported once in a row

  // ---------- Verifier.cpp: errors. All give false.
  bool error(uint32_t place, const llvm::Twine &message, bool unsupported = false);
  bool spellingError(const llvm::Twine &message) {
    return error(inst->place, "'" + llvm::Twine(inst->spelling->text) + "' " + message);
  }
  bool operandError(const Operand &operand, unsigned index, const llvm::Twine &message);
  bool typeError(const Operand &operand, unsigned index, Type expected);

  void check(const Instruction &instruction);
  void checkAndRemember(const Instruction &instruction, const Shape &shape);
  Type inferred = Type::None;   // of the vector that is being checked, if not that of its registers
  bool constantsMatter = false; // a rule or range that looks at their values was met

  // ---------- VerifySpelling.cpp: what holds for all instructions of a spelling
  bool checkSpelling();
  bool checkVersion();

  // ---------- VerifyOperands.cpp
  void checkOperands();
  bool isPresent(const ExpectedOperand &place, const Operand &found, size_t spare) const;
  bool checkList(llvm::ArrayRef<Operand> operands, llvm::ArrayRef<ExpectedOperand> expected,
                 unsigned index, bool isInside);
  bool countError(size_t found, size_t required, size_t most, unsigned index, bool isInside);
  bool checkNeed(const Operand &operand, unsigned index, const OperandSlot &slot);
  bool checkOperand(const Operand &operand, unsigned index, const ExpectedOperand &expected);
  bool checkValue(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                  Type type, bool destination);
  bool checkRegister(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                     Type type);
  bool checkWhole(const Operand &operand, unsigned index, bool minus, OperandSlot::Selector kind);
  template <typename... Ops> bool is(Ops... ops) const { return ((inst->op() == ops) || ...); }
  bool hasByteElements() const;
  bool fitsFixedBits(const OperandSlot &slot, Type type) const;
  bool takesNoConstants(const ExpectedOperand &expected) const;
  bool checkSelector(const Operand &operand, unsigned index, OperandSlot::Selector kind);
  bool checkConstant(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                     Type type);
  bool checkPredicateConstant(const Operand &operand, unsigned index);
  bool holdsOnlyIntegers() const;
  bool takesSinks() const;
  bool checkSpecial(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                    Type type);
  bool checkName(const Operand &operand, unsigned index, const ExpectedOperand &expected,
                 Type type);
  bool takesMoreCoordinates(const ExpectedOperand &expected) const;
  bool checkVector(const Operand &operand, unsigned index, const ExpectedOperand &expected);
  Type inferredType(const Operand &vector) const;
  bool checkElementsAgree(const Operand &vector, unsigned index);
  bool isWholeVector(const Operand &operand) const;
  bool checkPackedRegister(const Operand &operand, unsigned index, const ExpectedOperand &expected);
  bool checkPacked(const Operand &operand, unsigned index, const ExpectedOperand &expected);

  // ---------- VerifyAddresses.cpp
  bool checkAddress(const Operand &operand, unsigned index, const ExpectedOperand &expected);
  bool checkInside(const Operand &operand, unsigned index, const ExpectedOperand &expected);
  bool checkOpaque(const Operand &operand, unsigned index, Type type);
  StateSpace spaceOfAddress(const OperandSlot &slot) const;

  // ---------- VerifyRules.cpp: rules between operands
  void checkRules();
  void checkBarrier();
  void checkMov();
  void checkBitField();
  void checkAlloca();
  void checkStackrestore();
  void checkColumns();
  void checkCopy();
  void checkInputScale();
  void checkProductSign();
  void checkElementType();
  void checkNarrowed();
  void checkPairsOfSinks();
  void checkBulkSize();
  void checkPolicySizes();

  // ---------- VerifyCalls.cpp
  void checkCall();
  bool checkArguments(llvm::ArrayRef<Operand> actual, llvm::ArrayRef<const Variable *> formal,
                      llvm::StringRef what, llvm::StringRef callee, uint32_t place);
};

} // namespace rubia::ptx
