// SPDX-License-Identifier: Apache-2.0
#include "Zeros.h"
#include "Rewriter.h"
#include "Rows.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstring>

namespace rubia::random_kernels {

namespace {

/// Makes the body of a kernel, and its input.
class Zeros : Rewriter {
public:
  explicit Zeros(test::Random &random) : Rewriter(random) {}
  void compute(Kernel &kernel);

private:
  using Pools = std::array<std::vector<Operand>, kKindCount>;

  Register all;                  // what all of them give
  std::vector<Register> defined; // integers of 32 bits
  Pools pools;                   // of the computation that is drawn

  void compute();
  void draw(Kind kind);
  void choose(Kind kind);
  Operand source(Kind kind, const Operand *other);
  uint64_t number(Kind kind);
  Operand constant(Kind kind);
  Operand variable(Kind kind);
  Operand load(Kind kind);
  Operand made(Kind kind);
  Operand bit(Kind kind);
  Operand pair(Kind kind, Operand low, Operand high);
  std::vector<Operand> several(Statement statement, std::vector<Kind> kinds);
  void fold(Operand value);
};

constexpr unsigned kComputations = 20;
constexpr Kind kFloats[] = {Kind::F32, Kind::F64, Kind::F16, Kind::BF16, Kind::F16x2, Kind::BF16x2};

std::string bitsName(Kind kind) { return ".b" + std::to_string(bitsOf(kind)); }

std::string typeName(Kind kind) {
  return kind == Kind::F32   ? ".f32"
         : kind == Kind::F64 ? ".f64"
         : kind == Kind::F16 ? ".f16"
                             : ".bf16";
}

bool isPair(Kind kind) { return kind == Kind::F16x2 || kind == Kind::BF16x2; }
Kind halfOf(Kind kind) { return kind == Kind::F16x2 ? Kind::F16 : Kind::BF16; }

Kind integerOf(Kind kind) {
  return bitsOf(kind) == 16 ? Kind::B16 : bitsOf(kind) == 32 ? Kind::B32 : Kind::B64;
}

uint64_t oneOf(Kind kind) {
  switch (kind) {
  case Kind::F64:
    return 0x3ff0000000000000;
  case Kind::F16:
    return 0x3c00;
  case Kind::BF16:
    return 0x3f80;
  default:
    return 0x3f800000;
  }
}

using Rows = std::vector<Row>;

/// Those of a line that have floating-point numbers and predicates alone; all, or the plain ones.
struct Line {
  Rows all, plain;
};

bool isPlain(const Row &row) {
  for (const char *modifier : {".rz", ".rm", ".rp", ".ftz", ".sat", ".NaN", ".relu"})
    if (row.word.find(modifier) != std::string::npos)
      return false;
  return true;
}

/// The lines with sources of a kind.
const std::vector<Line> &linesOf(Kind kind) {
  static const auto kAll = [] {
    std::array<std::vector<Line>, kKindCount> all;
    for (Topic topic : {Topic::Single, Topic::Double, Topic::Half, Topic::BFloat, Topic::Slow,
                        Topic::Convert, Topic::Compare, Topic::Select})
      for (Rows rows : rowsOf(topic)) {
        std::erase_if(rows, [](const Row &row) {
          return (row.destinations + row.sources).find_first_not_of("fexbyzpq") !=
                 std::string::npos;
        });
        if (rows.empty())
          continue;
        Line line{rows, rows};
        std::erase_if(line.plain, [](const Row &row) { return !isPlain(row); });
        if (line.plain.empty())
          line.plain = rows;
        all[unsigned(kindOf(rows[0].sources[0]))].push_back(std::move(line));
      }
    return all;
  }();
  return kAll[unsigned(kind)];
}

/// A statement of several results.
std::vector<Operand> Zeros::several(Statement statement, std::vector<Kind> kinds) {
  std::vector<Operand> results;
  for (Kind kind : kinds) {
    statement.destinations.push_back(fresh(kind));
    results.push_back(Operand::of(statement.destinations.back()));
  }
  out.push_back(std::move(statement));
  return results;
}

Operand Zeros::pair(Kind kind, Operand low, Operand high) {
  Statement pack;
  pack.what = Statement::What::Pack;
  pack.word = "b32";
  pack.sources = {low, high};
  return several(std::move(pack), {kind})[0];
}

uint64_t Zeros::number(Kind kind) {
  const uint64_t sign = random.chance(50) ? uint64_t(1) << (bitsOf(kind) - 1) : 0;
  return sign | (random.chance(20) ? oneOf(kind) : 0);
}

Operand Zeros::constant(Kind kind) {
  if (kind == Kind::Pred)
    return variable(kind);
  if (isPair(kind))
    return pair(kind, constant(halfOf(kind)), constant(halfOf(kind)));
  return put("mov" + bitsName(kind), kind, {Operand::constant(number(kind))});
}

/// 0 or 1, as an integer as wide as the kind: a bit of some number.
Operand Zeros::bit(Kind kind) {
  const Operand number = Operand::of(random.pick(defined));
  const Operand shifted = put(
      "shr.u32", Kind::B32, {number, Operand::constant(random.below(random.chance(70) ? 5 : 32))});
  const Operand bit = put("and.b32", Kind::B32, {shifted, Operand::constant(1)});
  return integerOf(kind) == Kind::B32
             ? bit
             : put("cvt.u" + std::to_string(bitsOf(kind)) + ".u32", integerOf(kind), {bit});
}

/// Where numbers of a kind are in a thread's part of the input.
struct Place {
  unsigned offset, count;
};

Place placeOf(Kind kind) {
  switch (kind) {
  case Kind::F32:
    return {0, 8};
  case Kind::F64:
    return {32, 6};
  case Kind::F16:
    return {80, 12};
  default:
    return {104, 12};
  }
}

Operand Zeros::load(Kind kind) {
  const Place place = placeOf(isPair(kind) ? halfOf(kind) : kind);
  const unsigned size = bitsOf(kind) / 8;
  Statement load;
  load.what = Statement::What::Load;
  load.word = bitsName(kind).substr(1);
  load.address.space = Space::Input;
  load.address.offset =
      place.offset + size * unsigned(random.below(isPair(kind) ? place.count / 2 : place.count));
  return several(std::move(load), {kind})[0];
}

Operand Zeros::variable(Kind kind) {
  if (kind == Kind::Pred)
    return put("setp.ne.u32", kind, {bit(Kind::B32), Operand::constant(0)});
  if (random.chance(70))
    return load(kind);
  return isPair(kind) ? pair(kind, source(halfOf(kind), nullptr), source(halfOf(kind), nullptr))
                      : made(kind);
}

/// Compilers know bits of these.
Operand Zeros::made(Kind kind) {
  const unsigned bits = bitsOf(kind);
  const auto sign = [&] {
    return put("shl" + bitsName(kind), kind, {bit(kind), Operand::constant(bits - 1)});
  };
  const auto one = [&] {
    return put("mul.lo.u" + std::to_string(bits), kind,
               {bit(kind), Operand::constant(oneOf(kind))});
  };
  switch (random.below(4)) {
  case 0:
    return one();
  case 1:
    return put("or" + bitsName(kind), kind, {sign(), one()});
  default:
    return sign();
  }
}

/// What there is of a kind, but for `other`.
Operand Zeros::source(Kind kind, const Operand *other) {
  std::vector<Operand> &pool = pools[unsigned(kind)];
  if (pool.empty())
    pool.push_back(variable(kind));
  const Operand found = random.chance(35) ? pool.back() : random.pick(pool);
  return other && other->reg == found.reg ? random.pick(pool) : found;
}

void Zeros::draw(Kind kind) {
  const std::vector<Line> &lines = linesOf(kind);
  const Line &line = lines[random.below(lines.size())];
  const Row row = random.pick(random.chance(70) ? line.plain : line.all);
  Statement statement;
  statement.word = row.word;
  const size_t constantAt = random.chance(50) ? random.below(row.sources.size()) : SIZE_MAX;
  for (size_t i = 0; i < row.sources.size(); ++i) {
    const Kind of = kindOf(row.sources[i]);
    const Operand *before =
        i && row.sources[i - 1] == row.sources[i] ? &statement.sources[i - 1] : nullptr;
    Operand operand = i == constantAt && row.sources.size() > 1 ? constant(of) : source(of, before);
    operand.negated = row.sources[i] == 'q' && random.chance(40);
    statement.sources.push_back(operand);
  }
  std::vector<Kind> kinds;
  for (char letter : row.destinations)
    kinds.push_back(kindOf(letter));
  for (const Operand &result : several(std::move(statement), kinds))
    pools[unsigned(result.reg->kind)].push_back(result);
}

/// One of two numbers that are compared, or another one.
void Zeros::choose(Kind kind) {
  const Operand a = source(kind, nullptr),
                b = random.chance(50) ? constant(kind) : source(kind, &a);
  const auto one = [&] {
    return random.chance(80) ? random.chance(50) ? a : b : source(kind, nullptr);
  };
  const std::string comparison =
      random.oneOf({"lt", "le", "gt", "ge", "ltu", "leu", "gtu", "geu", "eq", "ne"}).str();
  const bool isTurned = random.chance(50);
  const Operand isTrue =
      put("setp." + comparison + typeName(kind), Kind::Pred, {isTurned ? b : a, isTurned ? a : b});
  pools[unsigned(kind)].push_back(put("selp" + bitsName(kind), kind, {one(), one(), isTrue}));
}

/// A NaN becomes a constant, so that its bits do not matter.
void Zeros::fold(Operand value) {
  const Kind kind = value.reg->kind;
  const auto into = [&](Operand word) {
    Statement sum;
    sum.word = "mad.lo.u32";
    sum.sources = {Operand::of(all), Operand::constant(5), word};
    sum.destinations = {all};
    out.push_back(std::move(sum));
  };
  if (kind == Kind::Pred)
    return into(put("selp.b32", Kind::B32, {Operand::constant(1), Operand::constant(0), value}));
  if (isPair(kind)) {
    Statement halves;
    halves.what = Statement::What::Unpack;
    halves.word = "b32";
    halves.sources = {value};
    for (const Operand &half : several(std::move(halves), {halfOf(kind), halfOf(kind)}))
      fold(half);
    return;
  }
  const Operand isNan = put("setp.nan" + typeName(kind), Kind::Pred, {value, value});
  const Operand number =
      put("selp" + bitsName(kind), integerOf(kind), {Operand::constant(0x1234), value, isNan});
  if (kind == Kind::F32)
    return into(number);
  if (kind != Kind::F64)
    return into(put("cvt.u32.u16", Kind::B32, {number}));
  for (unsigned shift : {0, 32})
    into(put("cvt.u32.u64", Kind::B32,
             {put("shr.u64", Kind::B64, {number, Operand::constant(shift)})}));
}

void Zeros::compute() {
  pools = {};
  const Kind kind = random.pick(kFloats);
  for (size_t i = 0, count = 2 + random.below(3); i < count; ++i)
    pools[unsigned(kind)].push_back(variable(kind));
  for (size_t i = 0, count = 2 + random.below(7); i < count; ++i)
    if (!isPair(kind) && random.chance(15))
      choose(kind);
    else
      draw(random.chance(85) ? kind : random.pick(kFloats));
  const std::vector<Register> last = out.back().destinations;
  const Pools found = pools;
  for (const auto &pool : found)
    for (const Operand &value : pool)
      if (random.chance(25) || value.reg == last.back())
        fold(value);
}

void Zeros::compute(Kernel &kernel) {
  countRegisters(kernel.body);
  kernel.body.clear();
  for (unsigned thread = 0; thread < kernel.threads(); ++thread)
    for (Kind kind : {Kind::F32, Kind::F64, Kind::F16, Kind::BF16}) {
      const Place place = placeOf(kind);
      const unsigned size = bitsOf(kind) / 8;
      for (unsigned i = 0; i < place.count; ++i) {
        const uint64_t bits = number(kind);
        memcpy(&kernel.input[thread * kInputBytes + place.offset + size * i], &bits, size);
      }
    }
  Statement thread;
  thread.what = Statement::What::Special;
  thread.word = "%tid.x";
  defined.push_back(*several(std::move(thread), {Kind::B32})[0].reg);
  all = *put("mov.b32", Kind::B32, {Operand::constant(0)}).reg;
  for (unsigned i = 0; i < kComputations; ++i)
    compute();
  out.push_back(resultOf(kernel, all));
  kernel.body.insert(kernel.body.end(), out.begin(), out.end());
}

} // namespace

void computeWithZeros(Kernel &kernel) {
  test::Random random(kernel.seed ^ 0x7a65726f73);
  kernel.family = "zeros";
  kernel.nanBits = kernel.contract = false;
  kernel.functions.clear();
  kernel.outputWords = 0;
  Zeros(random).compute(kernel);
}

} // namespace rubia::random_kernels
