// SPDX-License-Identifier: Apache-2.0
#include "diff/lib/Bounds.h"
#include "diff/Compare.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Approx, Ftz;
} // namespace rubia::ptx::Mod

namespace Mod = rubia::ptx::Mod;
using rubia::ptx::Operand;
using rubia::ptx::Type;

namespace rubia::ptx::Op {
extern const Operation FCos, FDiv, FEx2, FLg2, FRcp, FRsqrt, FSin, FSqrt, FTanh, Mma, MmaSp, Tex,
    WmmaMma;
} // namespace rubia::ptx::Op
namespace Op = rubia::ptx::Op;

namespace rubia::capsule {

// PTX ISA: floating-point-instructions-ex2 and the others. Matrices: (K + 2) 2^-23, as sums may be
// cut and in any order (docs/numerics.md, "Products of matrices").
constexpr Bound kBounds[] = {
    {Op::FDiv, -22, Magnitude::Result},       {Op::FRcp, -23, Magnitude::Result},
    {Op::FSqrt, -23, Magnitude::Result},      {Op::FRsqrt, -22, Magnitude::Result},
    {Op::FEx2, -22, Magnitude::Result},       {Op::FLg2, -22, Magnitude::ResultOrOne},
    {Op::FTanh, -11, Magnitude::Result},      {Op::FSin, -20, Magnitude::OneOrOperand},
    {Op::FCos, -20, Magnitude::OneOrOperand}, {Op::Mma, -18, Magnitude::Products},
    {Op::MmaSp, -17, Magnitude::Products},    {Op::WmmaMma, -18, Magnitude::Products},
    {Op::Tex, 0, Magnitude::Filter},
};

const Bound *boundOf(const ptx::Instruction &instruction) {
  for (const Bound &bound : kBounds)
    if (bound.op == instruction.op())
      return &bound;
  return nullptr;
}

/// Of numbers that are narrower than f32 the last place is what a bound is about.
int exponentOf(const Bound &bound, Type type, bool isFlushing) {
  switch (type) {
  case Type::F16:
  case Type::F16x2:
    return std::max(bound.exponent, -10);
  case Type::BF16:
  case Type::BF16x2:
    return std::max(bound.exponent, -7);
  case Type::F64: // the last places, but for rcp.approx.ftz and rsqrt.approx.ftz
    return isFlushing ? -20 : -51;
  default:
    return bound.exponent;
  }
}

/// The type of the numbers that an instruction's result has: a register may have two of 16 bits.
Type resultType(const ptx::Spelling &spelling) {
  const Type type = spelling.type(0), inRegister = spelling.operandType(0);
  const bool isPair = ptx::sizeInBits(inRegister) == 32;
  if (type == Type::F16 && isPair)
    return Type::F16x2;
  if (type == Type::BF16 && isPair)
    return Type::BF16x2;
  return type;
}

SmallVector<std::string, 8> registersOf(const ptx::Function &function, const Operand &operand) {
  SmallVector<std::string, 8> names;
  if (operand.kind == Operand::Kind::Register)
    names.push_back(function.registerName(operand.reg));
  for (const Operand &element : operand.elements())
    names.push_back(element.kind == Operand::Kind::Register ? function.registerName(element.reg)
                                                            : "");
  return names;
}

// wmma with factors of f16 says the types of D and C alone.
static uint32_t factorMask(const ptx::Spelling &spelling) {
  switch (spelling.type(2) == Type::None ? Type::F16 : spelling.type(1)) {
  case Type::F16:
  case Type::BF16:
    return 0x7fff7fff;
  case Type::TF32:
    return 0x7fffffff;
  case Type::E4M3:
  case Type::E5M2:
    return 0x7f7f7f7f;
  default:
    return 0;
  }
}

static bool hasKnownFactors(const ptx::Function &function, const ptx::Instruction &instruction) {
  if (instruction.guard.reg != ptx::kNone || !factorMask(*instruction.spelling) ||
      instruction.operands.size() < 4)
    return false;
  for (unsigned i = 0; i < 4; ++i)
    if (is_contained(registersOf(function, instruction.operands[i]), ""))
      return false;
  return true;
}

std::string productMagnitudes(const ptx::Function &function, const ptx::Instruction &instruction) {
  if (!hasKnownFactors(function, instruction))
    return "";
  std::string code;
  raw_string_ostream os(code);
  const size_t results = registersOf(function, instruction.operands[0]).size();
  const bool isSingleC =
      instruction.spelling->type(3) == Type::F32 ||
      (instruction.spelling->type(2) == Type::None && instruction.spelling->type(1) == Type::F32);
  std::string lists;
  raw_string_ostream list(lists);
  list << "{";
  for (size_t i = 0; i < results; ++i)
    list << (i ? ", " : "") << "%rubia_m" << i;
  list << "}";
  os << ".reg .b32 %rubia_m<" << results << ">; ";
  for (unsigned operand = 1; operand < 4; ++operand) {
    const SmallVector<std::string, 8> names = registersOf(function, instruction.operands[operand]);
    const std::string copy = formatv("%rubia_x{0}_", operand);
    const uint32_t mask = operand < 3 ? factorMask(*instruction.spelling)
                          : isSingleC ? 0x7fffffff
                                      : 0x7fff7fff;
    os << ".reg .b32 " << copy << "<" << names.size() << ">; ";
    list << ", {";
    for (size_t i = 0; i < names.size(); ++i) {
      os << "and.b32 " << copy << i << ", " << names[i] << ", " << mask << "; ";
      list << (i ? ", " : "") << copy << i;
    }
    list << "}";
  }
  for (const Operand &more : instruction.operands.drop_front(4)) // the metadata of mma.sp
    if (more.kind == Operand::Kind::Register)
      list << ", " << function.registerName(more.reg);
    else
      list << ", " << more.bits;
  os << instruction.spelling->text << " " << lists << "; ";
  return code;
}

std::optional<ResultBound> resultBoundOf(const ptx::Function &function,
                                         const ptx::Instruction &instruction) {
  const Bound *bound = boundOf(instruction);
  if (!bound || bound->magnitude == Magnitude::Filter)
    return std::nullopt;
  const ptx::Spelling &spelling = *instruction.spelling;
  ResultBound of;
  of.type = resultType(spelling);
  of.exponent = exponentOf(*bound, of.type, spelling.has(Mod::Ftz));
  of.magnitude = bound->magnitude;
  // PTX ISA: floating-point-instructions-div: a large divisor may give 0.
  of.isSmallDivisor = bound->op == Op::FDiv && spelling.has(Mod::Approx);
  if (bound->magnitude == Magnitude::OneOrOperand || of.isSmallDivisor) {
    const SmallVector<std::string, 8> names =
        registersOf(function, instruction.operands[of.isSmallDivisor ? 2 : 1]);
    if (names.empty()) // a constant
      return std::nullopt;
    of.operand = names.front();
  }
  constexpr Type kKnown[] = {Type::F32,  Type::F64,   Type::F16,
                             Type::BF16, Type::F16x2, Type::BF16x2};
  return is_contained(kKnown, of.type) ? std::optional(of) : std::nullopt;
}

// docs/textures.md: the last places; a step of the weights where faces meet.
ResultBound filterBoundOf(const ptx::Spelling &spelling) {
  const bool isStep = spelling.text.contains("cube");
  constexpr int kStep = -7, kLast = -20;
  return {spelling.type(0), isStep ? kStep : kLast, Magnitude::Filter, false, "", 0};
}

namespace {

/// Of one number.
bool isNumberWithin(const ResultBound &bound, Type type, uint64_t got, uint64_t nearest,
                    double magnitude) {
  const double a = valueOf(type, got), b = valueOf(type, nearest);
  if (std::isnan(a) || std::isnan(b))
    return std::isnan(a) && std::isnan(b);
  if (a == b)
    return true;
  // What a format's last places leave, and numbers that are flushed to 0.
  const double large = type == Type::F16   ? 65504
                       : type == Type::F64 ? 0x1.fffffffffffffp1023
                       : type == Type::F32 ? 0x1.fffffep127
                                           : 0x1.fep127,
               flushed = type == Type::F16   ? 0x1p-14
                         : type == Type::F64 ? 0x1p-1022
                                             : 0x1p-126;
  const double relative = std::ldexp(1.0, bound.exponent);
  if (std::isinf(magnitude)) // of sums: they may overflow on the way, to either side
    return true;
  if (std::isinf(a) || std::isinf(b)) {
    const double finite = std::isinf(a) ? b : a;
    return !std::isinf(finite) && std::signbit(a) == std::signbit(b) &&
           std::abs(finite) >= large * (1 - 2 * relative);
  }
  double scale = std::max(std::abs(a), std::abs(b));
  if (bound.magnitude == Magnitude::ResultOrOne)
    scale = std::max(scale, 1.0);
  if (bound.magnitude == Magnitude::OneOrOperand)
    scale = std::max(std::abs(magnitude), 1.0);
  if (bound.magnitude == Magnitude::Filter)
    scale = bound.texels;
  if (bound.magnitude == Magnitude::Products)
    scale = std::max(scale, std::abs(magnitude));
  // Half of it again: the nearest number is not the true value.
  return std::abs(a - b) <= 1.5 * relative * scale + flushed;
}

} // namespace

bool isWithin(const ResultBound &bound, uint64_t got, uint64_t nearest, uint64_t magnitude) {
  const bool isPair = bound.type == Type::F16x2 || bound.type == Type::BF16x2;
  const Type type = bound.type == Type::F16x2    ? Type::F16
                    : bound.type == Type::BF16x2 ? Type::BF16
                                                 : bound.type;
  const bool isOfOperand = bound.magnitude == Magnitude::OneOrOperand || bound.isSmallDivisor;
  const bool isOfMagnitude = bound.magnitude == Magnitude::Products || isOfOperand;
  const unsigned bits = ptx::sizeInBits(type);
  const uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  for (unsigned at = 0; at <= (isPair ? bits : 0); at += bits) {
    const double by = isOfMagnitude ? valueOf(type, magnitude >> at & mask) : 0;
    if (bound.isSmallDivisor && !(std::abs(by) <= 0x1p126))
      continue;
    if (!isNumberWithin(bound, type, got >> at & mask, nearest >> at & mask,
                        bound.isSmallDivisor ? 0 : by))
      return false;
  }
  return true;
}

} // namespace rubia::capsule
