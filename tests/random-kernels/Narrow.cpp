// SPDX-License-Identifier: Apache-2.0
#include "Narrow.h"
#include "Rewriter.h"
#include <algorithm>

namespace rubia::random_kernels {

namespace {

bool isScalarFloat(Kind kind) {
  return kind == Kind::F32 || kind == Kind::F64 || kind == Kind::F16;
}

/// The statements of a kernel or of a function.
class Narrower : Rewriter {
public:
  Narrower(test::Random &random, bool withFloats) : Rewriter(random), withFloats(withFloats) {}
  void narrow(std::vector<Statement> &statements) {
    countRegisters(statements);
    while (findMasks(statements))
      continue;
    change(statements);
  }
  using Rewriter::see;

private:
  const bool withFloats;
  std::vector<Register> masks; // and lanes of warp instructions, and what they are made of

  bool findMasks(const std::vector<Statement> &statements);
  bool isMask(const Statement &statement) const {
    return std::any_of(
        statement.destinations.begin(), statement.destinations.end(),
        [&](Register reg) { return std::find(masks.begin(), masks.end(), reg) != masks.end(); });
  }
  void change(std::vector<Statement> &statements);
  unsigned width(Kind kind);
  Operand limited(Operand source);
  Operand limitedFloat(Operand source);
  void divide(Register changed, Operand first, Operand second);
};

/// Whether there was another one.
bool Narrower::findMasks(const std::vector<Statement> &statements) {
  const size_t known = masks.size();
  auto add = [&](const Operand &source) {
    if (source.reg && std::find(masks.begin(), masks.end(), *source.reg) == masks.end())
      masks.push_back(*source.reg);
  };
  for (const Statement &statement : statements) {
    if (statement.what == Statement::What::Warp)
      for (size_t i = 1; i < statement.sources.size(); ++i) // behind the value: lanes and a mask
        add(statement.sources[i]);
    if (statement.what == Statement::What::Scalar && isMask(statement))
      for (const Operand &source : statement.sources)
        add(source);
    findMasks(statement.body);
    findMasks(statement.orElse);
    for (const auto &body : statement.cases)
      findMasks(body);
  }
  return masks.size() > known;
}

/// How many bits a number is to have: often about as many as single precision holds, or half.
unsigned Narrower::width(Kind kind) {
  const unsigned bits = bitsOf(kind);
  const unsigned around = random.pick(std::array{1u, 8u, 16u, 24u, 32u, 53u});
  const unsigned at =
      random.chance(70) ? around - 1 + unsigned(random.below(3)) : random.below(bits);
  return std::clamp(at, 1u, bits);
}

Operand Narrower::limited(Operand source) {
  const Kind kind = source.reg->kind;
  const std::string bits = std::to_string(bitsOf(kind));
  const unsigned kept = width(kind);
  if (random.chance(65))
    return put("and.b" + bits, kind, {source, Operand::constant(~uint64_t(0) >> (64 - kept))});
  return put((random.chance(60) ? "shr.u" : "shr.s") + bits, kind,
             {source, Operand::constant(bitsOf(kind) - kept)});
}

/// Compilers know of the results of these that they have no sign, are no NaN, or are integers.
Operand Narrower::limitedFloat(Operand source) {
  const Kind kind = source.reg->kind;
  const std::string type = kind == Kind::F32 ? ".f32" : kind == Kind::F64 ? ".f64" : ".f16";
  const uint64_t one = kind == Kind::F32 ? 0x3f800000 : 0x3ff0000000000000;
  switch (random.below(kind == Kind::F16 ? 3 : 6)) {
  case 0:
    return put("abs" + type, kind, {source});
  case 1:
    return put("cvt.sat" + type + type, kind, {source});
  case 2:
    return put("cvt." + random.oneOf({"rni", "rzi", "rmi", "rpi"}).str() + type + type, kind,
               {source});
  case 3:
    return put("max" + type, kind, {source, Operand::constant(0)});
  case 4:
    return put("min" + type, kind, {source, Operand::constant(one)});
  default:
    return put("cvt.rn" + type + (random.chance(50) ? ".u32" : ".s32"), kind,
               {limited(put("cvt.rzi.s32" + type, Kind::B32, {source}))});
  }
}

/// changed ^= (first * second + {-1, 0, 1}) / second, or the remainder. The dividend has `all`
/// bits, and the divisor some of them.
void Narrower::divide(Register changed, Operand first, Operand second) {
  const Kind kind = changed.kind;
  const unsigned all = width(kind), ofDivisor = 1 + unsigned(random.below(all));
  const std::string bits = std::to_string(bitsOf(kind));
  const std::string type = (random.chance(65) ? ".u" : ".s") + bits;
  auto masked = [&](Operand number, unsigned kept) {
    return put("and.b" + bits, kind, {number, Operand::constant(~uint64_t(0) >> (64 - kept))});
  };
  const Operand divisor = masked(second, ofDivisor);
  const Operand quotient = masked(first, std::max(all - ofDivisor, 1u));
  const uint64_t offset = (random.below(3) - 1) & (~uint64_t(0) >> (64 - bitsOf(kind)));
  Operand dividend = put("mad.lo" + type, kind, {quotient, divisor, Operand::constant(offset)});
  if (random.chance(70))
    dividend = masked(dividend, all);
  const Operand result = put((random.chance(50) ? "div" : "rem") + type, kind, {dividend, divisor});
  xorInto(changed, result);
}

void Narrower::change(std::vector<Statement> &statements) {
  std::vector<Statement> before = std::move(out);
  out.clear();
  for (Statement &statement : statements) {
    change(statement.body);
    change(statement.orElse);
    for (auto &body : statement.cases)
      change(body);
    if (statement.what != Statement::What::Scalar || isMask(statement)) {
      out.push_back(std::move(statement));
      continue;
    }
    // The bits of a NaN are hidden behind this one.
    const bool isNanTest = llvm::StringRef(statement.word).starts_with("setp.nan");
    std::vector<Operand> registers;
    for (Operand &source : statement.sources)
      if (source.reg && isInteger(source.reg->kind)) {
        registers.push_back(source);
        if (random.chance(45))
          source = limited(source);
      } else if (withFloats && !isNanTest && source.reg && isScalarFloat(source.reg->kind) &&
                 random.chance(30)) {
        source = limitedFloat(source);
      }
    const std::vector<Register> changed = statement.destinations;
    out.push_back(std::move(statement));
    if (changed.size() != 1 || !isInteger(changed[0].kind) || !random.chance(25))
      continue;
    std::erase_if(registers,
                  [&](const Operand &each) { return each.reg->kind != changed[0].kind; });
    if (!registers.empty())
      divide(changed[0], random.pick(registers), random.pick(registers));
  }
  statements = std::move(out);
  out = std::move(before);
}

} // namespace

void narrow(Kernel &kernel) {
  test::Random random(kernel.seed ^ 0x6e6172726f77);
  const bool withFloats = !kernel.nanBits; // abs of a NaN may be another NaN
  for (Function &function : kernel.functions) {
    Narrower narrower(random, withFloats);
    for (Kind kind : function.parameters)
      narrower.see({kind, unsigned(function.parameters.size())});
    for (Register reg : function.returned)
      narrower.see(reg);
    narrower.narrow(function.body);
  }
  Narrower(random, withFloats).narrow(kernel.body);
}

} // namespace rubia::random_kernels
