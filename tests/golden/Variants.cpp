// SPDX-License-Identifier: Apache-2.0
#include "Variants.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::golden {

Variant asRecorded(const Case &test) { return {test, {Constants(test.sources.size())}}; }

static bool isInteger(ptx::Type type) {
  using ptx::Type;
  return is_contained({Type::B16, Type::B32, Type::B64, Type::U16, Type::U32, Type::U64, Type::S16,
                       Type::S32, Type::S64},
                      type);
}

// A literal of the operand's type, or nothing if there are none, or the instruction takes none.
static std::string literalOf(const Case &test, const Operand &operand, uint64_t value) {
  // Packed bytes, of cvt, have a type of bits; literals of bfe and bfi must be in range.
  StringRef mnemonic = test.mnemonic;
  if (test.chapter == "simd-video-instructions" || mnemonic.starts_with("bfe.") ||
      mnemonic.starts_with("bfi.") ||
      (mnemonic.starts_with("cvt.") &&
       is_contained({ptx::Type::B16, ptx::Type::B32}, operand.type)))
    return "";
  if (operand.type == ptx::Type::F32)
    return formatv("0f{0:X-8}", value);
  if (operand.type == ptx::Type::F64)
    return formatv("0d{0:X-16}", value);
  if (isInteger(operand.type) && operand.bits == ptx::sizeInBits(operand.type))
    return formatv("{0}", value);
  return "";
}

// Declares a register and moves the value there.
static std::string moveTo(StringRef name, const Operand &operand, uint64_t value) {
  switch (operand.bits) {
  case 1:
    return formatv(".reg .pred {0}; setp.ne.u32 {0}, {1}, 0;", name, value);
  case 8:
    return formatv(".reg .b8 {0}; cvt.u8.u32 {0}, {1};", name, value);
  default:
    return formatv(".reg .b{1} {0}; mov.b{1} {0}, {2};", name, operand.bits, value);
  }
}

// The statements of a case with its constants, and its destinations from `firstDestination` on.
static std::string execution(const Case &test, const Constants &constants,
                             size_t firstDestination) {
  std::string moves, statements;
  StringRef rest = test.text;
  while (!rest.empty()) {
    auto [before, after] = rest.split('%');
    statements += before;
    rest = after;
    if (rest.empty())
      break;
    char kind = rest.front();
    size_t index = 0;
    StringRef number = rest.drop_front();
    if ((kind != 's' && kind != 'd') || number.consumeInteger(10, index)) {
      statements += '%'; // %c
      continue;
    }
    rest = number;
    if (kind == 'd') {
      statements += "%d" + utostr(firstDestination + index);
      continue;
    }
    if (!constants[index]) {
      statements += "%s" + utostr(index);
      continue;
    }
    const Operand &operand = test.sources[index];
    std::string literal = literalOf(test, operand, *constants[index]);
    bool isSelected = rest.starts_with("."); // %s0.b1
    if (literal.empty() || isSelected) {
      literal = "%k" + utostr(index);
      moves += moveTo(literal, operand, *constants[index]) + "\n  ";
    }
    statements += literal;
  }
  return "{ " + moves + statements + " }";
}

Variant withConstants(const Case &test, ArrayRef<uint64_t> inputs, unsigned count, size_t number) {
  Variant variant{test, {}};
  const size_t kEdgeTuples = 256;
  size_t sources = test.sources.size();
  for (unsigned i = 0; i < count; ++i) {
    size_t tuple = (number * 37 + i * 101) % kEdgeTuples, source = (number + i) % sources;
    Constants one(sources);
    one[source] = inputs[tuple * sources + source];
    variant.executions.push_back(one);
    if (sources > 1)
      variant.executions.emplace_back(inputs.begin() + tuple * sources,
                                      inputs.begin() + (tuple + 1) * sources);
  }
  variant.test.text.clear();
  variant.test.destinations.clear();
  for (const Constants &constants : variant.executions) {
    variant.test.text += execution(test, constants, variant.test.destinations.size()) + "\n  ";
    append_range(variant.test.destinations, test.destinations);
  }
  return variant;
}

void besideOtherDenormalMode(Case &test) {
  bool flushes = StringRef(test.mnemonic).contains(".ftz");
  test.text = std::string("{ .reg .f32 %t; mov.f32 %t, 0f00000000; ") +
              (flushes ? "add.f32 %t, %t, %t;" : "abs.ftz.f32 %t, %t;") + " }\n  " + test.text;
}

bool hasSources(const Constants &constants, ArrayRef<uint64_t> sources) {
  return all_of(zip_equal(constants, sources), [](auto both) {
    auto [constant, source] = both;
    return !constant || *constant == source;
  });
}

std::string textOf(const Constants &constants) {
  if (none_of(constants, [](auto &constant) { return constant.has_value(); }))
    return "";
  std::string text = "constants";
  for (auto [i, constant] : enumerate(constants))
    text += (i ? ", " : " ") + (constant ? utohexstr(*constant, /*LowerCase=*/true) : "-");
  return text;
}

} // namespace rubia::golden
