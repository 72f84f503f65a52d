// SPDX-License-Identifier: Apache-2.0
// What the chapters of the reference evaluator share: the words of a mnemonic, operand types, and
// the rules for floating-point operands and results that hold for all instructions.
#pragma once

#include "reference/Reference.h"
#include "reference/lib/FloatFormat.h"
#include "llvm/ADT/SmallVector.h"
#include <initializer_list>

namespace rubia::reference {

struct IntegerType {
  unsigned bits;
  bool isSigned;
};

/// The dotted words of an instruction. Reading a word takes it away, so that what no rule has asked
/// for is left over and can be reported.
class Words {
public:
  explicit Words(llvm::StringRef mnemonic);

  llvm::StringRef opcode() const { return name; }
  bool take(llvm::StringRef word);
  /// The first of these words that is there, or "".
  llvm::StringRef takeOne(std::initializer_list<llvm::StringRef> words);
  /// The next word, whatever it is, or "".
  llvm::StringRef takeNext();
  llvm::StringRef peek() const { return left.empty() ? "" : left.front(); }
  llvm::StringRef last() const { return left.empty() ? "" : left.back(); }
  bool has(llvm::StringRef word) const;
  llvm::ArrayRef<llvm::StringRef> rest() const { return left; }

private:
  llvm::StringRef name;
  llvm::SmallVector<llvm::StringRef, 8> left;
};

/// "u32", "s16", "b64"; bits 0 if it is none.
IntegerType integerType(llvm::StringRef word);
/// "f32", "bf16", ...; null if it is none. Not the packed ones.
const FloatFormat *floatFormat(llvm::StringRef word);

mpz_class toInteger(uint64_t bits, IntegerType type);
/// The low bits, extended as ReferenceOutput says.
uint64_t wrap(const mpz_class &value, IntegerType type);
uint64_t saturate(const mpz_class &value, IntegerType type);
mpz_class smallest(IntegerType type);
mpz_class largest(IntegerType type);

/// .rn .rz .rm .rp .rna; `absent` if there is none.
Rounding takeRounding(Words &words, Rounding absent = Rounding::NearestEven);

/// The NaN that an NVIDIA GPU gives where the NaN operands do not decide: 7fff, 7fffffff, and for
/// f64 (generated) fff8000000000000.
uint64_t generatedNan(const FloatFormat &format);
/// The NaN of an operation on NaNs: f64 keeps the first NaN of `byPriority`, quieted; all other
/// formats give the canonical NaN.
uint64_t propagatedNan(const FloatFormat &format, std::initializer_list<Float> byPriority);

/// An operand, flushed to a zero of its sign if `flush` is set and it is denormal.
Float readOperand(const FloatFormat &format, uint64_t bits, bool flush);

/// .sat: [0, 1], NaN to +0, -0 to +0. .relu: negative numbers and -0 to +0, NaN stays.
struct ResultRule {
  RoundingRule rounding;
  bool saturateToUnit = false, relu = false;
};
uint64_t finish(const FloatFormat &format, uint64_t bits, const ResultRule &rule);

/// Two halves of a register, each through the reference.
Reference packed(unsigned halfBits, Reference scalar);

/// One function a chapter; an empty function: not one of its instructions. Errors: a modifier value
/// that it does not know.
Reference integerReference(Words &words);
Reference floatReference(Words &words);
Reference approximateReference(Words &words);
Reference comparisonReference(Words &words);
Reference logicReference(Words &words);
Reference conversionReference(Words &words);
Reference videoReference(Words &words, llvm::ArrayRef<std::string> selectors);

} // namespace rubia::reference
