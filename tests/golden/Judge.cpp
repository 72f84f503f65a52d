// SPDX-License-Identifier: Apache-2.0
#include "Judge.h"
#include <algorithm>

using namespace llvm;

namespace rubia::golden {

Expected<Judge> Judge::create(const Case &test) {
  auto reference = reference::referenceFor(test.mnemonic, test.selectors);
  if (!reference)
    return reference.takeError();
  return Judge(test, std::move(*reference));
}

reference::ReferenceOutput Judge::reference(ArrayRef<uint64_t> sources) const {
  reference::ReferenceInputs inputs;
  size_t at = 0;
  for (size_t i = 0; i < test->sources.size(); ++i, ++at) {
    if (test->immediate && i == test->immediateIndex)
      inputs.source[at++] = uint64_t(*test->immediate);
    inputs.source[at] = sources[i] ^ uint64_t(test->sources[i].negated);
  }
  if (test->immediate && test->immediateIndex == test->sources.size())
    inputs.source[at] = uint64_t(*test->immediate);
  // The carry flag is set from the last source. Cases of subtractions have the borrow there and as
  // their second result (Case.cpp): the inverted flag.
  bool hasBorrows = StringRef(test->mnemonic).starts_with("sub");
  inputs.carry = !test->sources.empty() && inputs.source[test->sources.size() - 1];
  inputs.carry ^= hasBorrows;
  reference::ReferenceOutput output = evaluate(inputs);
  output.second ^= uint64_t(hasBorrows);
  return output;
}

static uint64_t maskOf(unsigned bits) {
  return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
}

std::vector<uint64_t> Judge::expected(ArrayRef<uint64_t> sources) const {
  const reference::ReferenceOutput output = reference(sources);
  const uint64_t values[] = {output.bits, output.second};
  std::vector<uint64_t> all;
  for (auto [value, operand] : zip(values, test->destinations))
    all.push_back(value & maskOf(operand.bits));
  return all;
}

namespace {
// A floating-point format, by where its NaNs are: magnitudes above infinity's.
struct NanRule {
  unsigned bits; // of one element
  uint64_t infinity;
};
} // namespace

static std::optional<NanRule> nanRuleOf(const Case &test, ptx::Type type) {
  // Bytes lie in untyped registers; the type of the result is the one before the last word.
  StringRef result = StringRef(test.mnemonic).rsplit('.').first.rsplit('.').second;
  if (result.starts_with("e4m3x"))
    return NanRule{8, 0x7e}; // the largest number: there is no infinity
  if (result.starts_with("e5m2x"))
    return NanRule{8, 0x7c};
  switch (type) {
  case ptx::Type::F16:
  case ptx::Type::F16x2:
    return NanRule{16, 0x7c00};
  case ptx::Type::BF16:
  case ptx::Type::BF16x2:
    return NanRule{16, 0x7f80};
  case ptx::Type::F32:
  case ptx::Type::F32x2:
  case ptx::Type::TF32:
    return NanRule{32, 0x7f800000};
  case ptx::Type::F64:
    return NanRule{64, 0x7ff0000000000000};
  default:
    return std::nullopt;
  }
}

bool Judge::isRight(ArrayRef<uint64_t> sources, ArrayRef<uint64_t> got, ArrayRef<uint64_t> expected,
                    bool anyNan) {
  if (got == expected)
    return true;
  reference::ReferenceOutput output = reference(sources);
  for (size_t i = 0; i < got.size(); ++i) {
    const Operand &operand = test->destinations[i];
    NanRule rule = nanRuleOf(*test, operand.type).value_or(NanRule{operand.bits, ~uint64_t(0)});
    uint64_t all = maskOf(rule.bits), magnitude = all >> 1;
    for (unsigned element = 0; element * rule.bits < operand.bits; ++element) {
      uint64_t a = got[i] >> (element * rule.bits) & all;
      uint64_t b = expected[i] >> (element * rule.bits) & all;
      bool areNan = (a & magnitude) > rule.infinity && (b & magnitude) > rule.infinity;
      if (a == b || (anyNan && areNan))
        continue;
      if (i > 0 || element > 1 || !output.bounds[element])
        return false;
      double fraction = reference::errorFraction(*output.bounds[element], a);
      if (!(fraction <= 1))
        return false;
      worstFraction = std::max(worstFraction, fraction);
    }
  }
  return true;
}

} // namespace rubia::golden
