// SPDX-License-Identifier: Apache-2.0
// Scalar arithmetic: each lane through the reference evaluator.
#include "reference/lib/FloatFormat.h"
#include "reference/lib/interpreter/Decode.h"
#include "reference/lib/interpreter/Warp.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/bit.h"
#include <cmath>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation FMax, FMin;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Ftz;
} // namespace rubia::ptx::Mod

namespace rubia::reference::interpreter {
namespace {

// The number of the format nearest to the true value.
uint64_t nearest(const ErrorBound &bound) {
  const FloatFormat &format = *bound.format;
  const double value = bound.trueValue;
  const uint64_t sign = std::signbit(value) ? format.signBit() : 0;
  if (bound.flush && value != 0 && std::fabs(value) < std::ldexp(1.0, format.minExponent))
    return sign;
  if (format.bits == 64)
    return llvm::bit_cast<uint64_t>(value);
  if (std::isinf(value))
    return sign | format.infinity();
  return encode(format, mpq_class(value), {}, std::signbit(value));
}

// detail: whether the instruction sets CC.CF.
void evaluate(Warp &warp, const Micro &micro) {
  const auto &reference = *static_cast<const Reference *>(micro.data);
  const unsigned count = unsigned(micro.sources.size());
  const uint64_t *sources[5];
  for (unsigned i = 0; i < count; ++i)
    sources[i] = warp.source(micro, i);
  uint64_t *carry = warp.carryRow();
  for (unsigned lane = 0; lane < kLanes; ++lane) {
    if (!(warp.active >> lane & 1))
      continue;
    ReferenceInputs inputs;
    for (unsigned i = 0; i < count; ++i)
      inputs.source[i] = sources[i][lane];
    inputs.carry = carry[lane];
    ReferenceOutput output = reference(inputs);
    if (output.bounds[0] || output.bounds[1]) {
      const FloatFormat &format = *(output.bounds[0] ? output.bounds[0] : output.bounds[1])->format;
      const bool isPacked = micro.destinations[0].mask == maskOf(2 * format.bits);
      for (unsigned half = 0; half < 2; ++half) {
        if (!output.bounds[half])
          continue;
        const unsigned shift = half * format.bits;
        const uint64_t mask = maskOf(format.bits) << shift;
        output.bits = (isPacked ? output.bits & ~mask : 0) | nearest(*output.bounds[half]) << shift;
      }
    }
    warp.write(micro, 0, lane, output.bits);
    if (micro.destinations.size() > 1)
      warp.write(micro, 1, lane, output.second);
    if (micro.detail)
      carry[lane] = output.second;
  }
}

std::string selectorOf(const ptx::Operand &operand) {
  if (operand.kind != ptx::Operand::Kind::Register || operand.selector == 0xff)
    return "";
  std::string text = operand.selector & 8 ? "h" : "b";
  for (unsigned i = operand.selector & 7; i > 0; --i)
    text += utostr(uint32_t(operand.offset) >> 4 * (i - 1) & 15);
  return text;
}

} // namespace

std::string mnemonicOf(const ptx::Instruction &inst) {
  const ptx::Spelling &spelling = *inst.spelling;
  std::string text = spelling.text.str();
  // What modules for sm_1x imply.
  if (spelling.has(ptx::Mod::Ftz) && !StringRef(text).contains(".ftz"))
    text.insert(text.find('.'), ".ftz");
  if ((inst.op() == ptx::Op::FMin || inst.op() == ptx::Op::FMax) && inst.operands.size() == 4)
    text += ".3";
  return text;
}

void decodeScalar(Decoder &decoder) {
  const ptx::Instruction &inst = decoder.inst();
  const std::string mnemonic = mnemonicOf(inst);
  std::vector<std::string> selectors;
  bool hasSelectors = false;
  for (auto [n, operand] : enumerate(inst.operands)) {
    selectors.push_back(selectorOf(operand));
    hasSelectors |= !selectors.back().empty();
    if (n == 0) {
      decoder.destination(operand);
      continue;
    }
    ptx::Operand plain = operand;
    if (!selectors.back().empty()) {
      plain.selector = 0xff;
      plain.offset = 0;
    }
    decoder.source(plain, inst.spelling->operandType(unsigned(n)));
  }
  const bool isVideo = StringRef(mnemonic).starts_with("v");
  auto reference = referenceFor(mnemonic, isVideo ? selectors : std::vector<std::string>());
  if (!reference)
    return decoder.unsupported(toString(reference.takeError()));
  if (decoder.sources.size() > 5 || decoder.destinations.empty())
    return decoder.unsupported("an instruction of this shape");
  decoder.micro.data = &decoder.code.references.emplace_back(std::move(*reference));
  decoder.micro.detail = StringRef(mnemonic).contains(".cc");
  const bool isPlain = !hasSelectors && decoder.destinations.size() == 1;
  Execute fast = isPlain ? fastScalar(mnemonic) : nullptr;
  decoder.execute(fast ? fast : evaluate);
}

} // namespace rubia::reference::interpreter
