// SPDX-License-Identifier: Apache-2.0
#include "Repeat.h"
#include "Rewriter.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>

namespace rubia::random_kernels {

namespace {

/// Repeats statements of a kernel and folds what they give into one register, which is a result.
class Repeater : Rewriter {
public:
  explicit Repeater(test::Random &random) : Rewriter(random) {}
  void repeat(Kernel &kernel);

private:
  Register all;
  std::vector<Register> defined;  // what has a value here
  std::vector<Statement> earlier; // of which all sources have

  static bool isRepeatable(const Statement &statement);
  bool isDefined(const Statement &statement) const;
  void collect(const std::vector<Statement> &body);
  void again(const Statement &statement);
  void change(std::vector<Statement> &statements);
};

/// Of one result, without memory, a guard or a carry.
bool Repeater::isRepeatable(const Statement &statement) {
  if (statement.what != Statement::What::Scalar || statement.guard ||
      !statement.selectors.empty() || statement.destinations.size() != 1)
    return false;
  const Kind kind = statement.destinations[0].kind;
  const llvm::StringRef word = statement.word, operation = word.split('.').first;
  return (isInteger(kind) || kind == Kind::Pred) && !word.contains(".cc") && operation != "addc" &&
         operation != "subc" && operation != "madc";
}

bool Repeater::isDefined(const Statement &statement) const {
  return std::all_of(statement.sources.begin(), statement.sources.end(),
                     [&](const Operand &source) {
                       return !source.reg || std::find(defined.begin(), defined.end(),
                                                       *source.reg) != defined.end();
                     });
}

/// What a branch or a loop has computed and can be computed behind it.
void Repeater::collect(const std::vector<Statement> &body) {
  for (const Statement &statement : body) {
    if (isRepeatable(statement) && isDefined(statement))
      earlier.push_back(statement);
    collect(statement.body);
    collect(statement.orElse);
    for (const auto &each : statement.cases)
      collect(each);
  }
}

void Repeater::again(const Statement &statement) {
  const Kind kind = statement.destinations[0].kind;
  std::vector<Operand> sources = statement.sources;
  // The same in the low words alone, which only the back end sees.
  for (Operand &source : sources)
    if (kind == Kind::B64 && random.chance(60)) {
      if (source.reg && source.reg->kind == Kind::B64)
        source =
            put("xor.b64", kind, {source, Operand::constant(uint64_t(random.below(256)) << 48)});
      else if (!source.reg && source.bits >> 32)
        source.bits ^= uint64_t(1) << (32 + random.below(32));
    }
  Operand value = put(statement.word, kind, std::move(sources));
  if (kind == Kind::Pred)
    value = put("selp.b32", Kind::B32,
                {Operand::constant(1 + random.below(7)), Operand::constant(0), value});
  else if (kind == Kind::B16)
    value = put("cvt.u32.u16", Kind::B32, {value});
  else if (kind == Kind::B64)
    value = put("cvt.u32.u64", Kind::B32,
                {put("shr.u64", kind, {value, Operand::constant(random.chance(50) ? 32 : 0)})});
  xorInto(all, value);
}

void Repeater::change(std::vector<Statement> &statements) {
  std::vector<Statement> before = std::move(out);
  out.clear();
  const size_t visible = earlier.size(), known = defined.size();
  for (Statement &statement : statements) {
    change(statement.body);
    change(statement.orElse);
    for (auto &body : statement.cases)
      change(body);
    const bool hasBodies = !statement.body.empty() || !statement.cases.empty();
    const size_t outer = earlier.size();
    collect({statement});
    defined.insert(defined.end(), statement.destinations.begin(), statement.destinations.end());
    out.push_back(std::move(statement));
    const size_t first = hasBodies && outer < earlier.size() ? outer : 0;
    for (unsigned i = 0; i < (hasBodies ? 4u : 1u); ++i)
      if (first < earlier.size() && random.chance(hasBodies ? 80 : 12))
        again(Statement(earlier[first + random.below(earlier.size() - first)]));
  }
  earlier.resize(visible);
  defined.resize(known);
  statements = std::move(out);
  out = std::move(before);
}

void Repeater::repeat(Kernel &kernel) {
  countRegisters(kernel.body);
  all = *put("mov.b32", Kind::B32, {Operand::constant(0)}).reg;
  Statement start = std::move(out[0]);
  change(kernel.body);
  kernel.body.insert(kernel.body.begin(), std::move(start));
  kernel.body.push_back(resultOf(kernel, all));
}

} // namespace

void repeat(Kernel &kernel) {
  test::Random random(kernel.seed ^ 0x726570656174);
  Repeater(random).repeat(kernel);
}

} // namespace rubia::random_kernels
