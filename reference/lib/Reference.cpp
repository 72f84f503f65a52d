// SPDX-License-Identifier: Apache-2.0
#include "reference/Reference.h"
#include "reference/lib/ReferenceParts.h"

using namespace llvm;

namespace rubia::reference {

Words::Words(StringRef mnemonic) {
  mnemonic.split(left, '.');
  name = left.front();
  left.erase(left.begin());
}

bool Words::has(StringRef word) const { return is_contained(left, word); }

bool Words::take(StringRef word) {
  auto *found = llvm::find(left, word);
  if (found == left.end())
    return false;
  left.erase(found);
  return true;
}

StringRef Words::takeOne(std::initializer_list<StringRef> words) {
  for (StringRef word : words)
    if (take(word))
      return word;
  return "";
}

StringRef Words::takeNext() {
  if (left.empty())
    return "";
  StringRef word = left.front();
  left.erase(left.begin());
  return word;
}

IntegerType integerType(StringRef word) {
  unsigned bits = 0;
  if (word.size() < 2 || !StringRef("usb").contains(word[0]) ||
      word.drop_front().getAsInteger(10, bits) || bits > 64)
    return {0, false};
  return {bits, word[0] == 's'};
}

const FloatFormat *floatFormat(StringRef word) {
  static const std::pair<StringRef, const FloatFormat *> kFormats[] = {
      {"f16", &kF16}, {"bf16", &kBf16}, {"tf32", &kTf32}, {"f32", &kF32}, {"f64", &kF64}};
  for (const auto &[name, format] : kFormats)
    if (word == name)
      return format;
  return nullptr;
}

mpz_class toInteger(uint64_t bits, IntegerType type) {
  mpz_class value(
      static_cast<unsigned long>(type.bits == 64 ? bits : bits & ((uint64_t(1) << type.bits) - 1)));
  if (type.isSigned && bits >> (type.bits - 1) & 1)
    value -= mpz_class(1) << type.bits;
  return value;
}

uint64_t wrap(const mpz_class &value, IntegerType type) {
  mpz_class low;
  mpz_fdiv_r_2exp(low.get_mpz_t(), value.get_mpz_t(), type.bits);
  uint64_t bits = low.get_ui();
  if (type.isSigned && type.bits < 64 && bits >> (type.bits - 1) & 1)
    bits |= ~uint64_t(0) << type.bits;
  return bits;
}

mpz_class smallest(IntegerType type) {
  return type.isSigned ? mpz_class(-(mpz_class(1) << (type.bits - 1))) : mpz_class(0);
}
mpz_class largest(IntegerType type) { return (mpz_class(1) << (type.bits - type.isSigned)) - 1; }

uint64_t saturate(const mpz_class &value, IntegerType type) {
  mpz_class low = smallest(type), high = largest(type);
  return wrap(value < low ? low : value > high ? high : value, type);
}

Rounding takeRounding(Words &words, Rounding absent) {
  StringRef word = words.takeOne({"rn", "rz", "rm", "rp", "rna"});
  if (word == "rz")
    return Rounding::Zero;
  if (word == "rm")
    return Rounding::Down;
  if (word == "rp")
    return Rounding::Up;
  if (word == "rna")
    return Rounding::NearestAway;
  return word.empty() ? absent : Rounding::NearestEven;
}

uint64_t generatedNan(const FloatFormat &format) {
  return format.bits == 64 ? 0xfff8000000000000 : format.signBit() - 1;
}

uint64_t propagatedNan(const FloatFormat &format, std::initializer_list<Float> byPriority) {
  if (format.bits == 64)
    for (const Float &operand : byPriority)
      if (operand.isNan())
        return operand.bits | 0x0008000000000000;
  return generatedNan(format);
}

Float readOperand(const FloatFormat &format, uint64_t bits, bool flush) {
  Float operand = decode(format, bits);
  if (flush && operand.isFinite() && abs(operand.value) < powerOfTwo(format.minExponent))
    operand.value = 0;
  return operand;
}

uint64_t finish(const FloatFormat &format, uint64_t bits, const ResultRule &rule) {
  if (!rule.saturateToUnit && !rule.relu)
    return bits;
  Float result = decode(format, bits);
  if (result.isNan())
    return rule.saturateToUnit ? 0 : bits;
  if (result.negative)
    return 0;
  if (rule.saturateToUnit && (result.isInfinity() || result.value > 1))
    return encode(format, 1, {}, false);
  return bits;
}

Reference packed(unsigned halfBits, Reference scalar) {
  return [halfBits, scalar = std::move(scalar)](const ReferenceInputs &inputs) {
    ReferenceInputs low = inputs, high = inputs;
    uint64_t mask = (uint64_t(1) << halfBits) - 1;
    for (unsigned i = 0; i < inputs.source.size(); ++i) {
      low.source[i] = inputs.source[i] & mask;
      high.source[i] = inputs.source[i] >> halfBits & mask;
    }
    ReferenceOutput lowOutput = scalar(low), highOutput = scalar(high);
    ReferenceOutput output;
    output.bits = (lowOutput.bits & mask) | (highOutput.bits & mask) << halfBits;
    output.second = (lowOutput.second & 1) | (highOutput.second & 1) << 1;
    output.bounds[0] = lowOutput.bounds[0];
    output.bounds[1] = highOutput.bounds[0];
    return output;
  };
}

static Error error(StringRef mnemonic, const Twine &reason) {
  return createStringError("no reference for '" + mnemonic + "': " + reason);
}

Expected<Reference> referenceFor(StringRef mnemonic, ArrayRef<std::string> selectors) {
  if (mnemonic.starts_with("v")) {
    Words words(mnemonic);
    if (Reference reference = videoReference(words, selectors)) {
      if (words.rest().empty())
        return reference;
      return error(mnemonic, "unknown modifier '." + words.peek() + "'");
    }
  }
  std::string leftOver;
  for (Reference (*chapter)(Words &) : {integerReference, floatReference, approximateReference,
                                        comparisonReference, logicReference, conversionReference}) {
    Words words(mnemonic);
    Reference reference = chapter(words);
    if (!reference)
      continue;
    if (words.rest().empty())
      return reference;
    leftOver = words.peek();
  }
  if (!leftOver.empty())
    return error(mnemonic, "unknown modifier '." + leftOver + "'");
  return error(mnemonic, "not a scalar instruction");
}

} // namespace rubia::reference
