// SPDX-License-Identifier: Apache-2.0
// Random kernels of carry chains: additions, subtractions and products of both widths that write
// and read CC.CF, among plain arithmetic, with constants, zeros that LLVM finds late, guards,
// branches and a loop; on each target against an interpreter on the host that has 128 bits. LLVM
// joins such instructions in many ways, and not always rightly (docs/errata.md).
#include "tests/Targets.h"
#include "tests/lowering/arithmetic/Harness.h"
#include "llvm/ADT/STLExtras.h"
#include <bit>
#include <cstdlib>
#include <random>

using llvm::enumerate;
using namespace rubia::lowering::test;

namespace {

using U = unsigned __int128;

constexpr unsigned kRegisters = 6; // of each width
constexpr unsigned kIterations = 3;
constexpr unsigned kThreads = 192; // and a uniform input of the kernels

// Wrapped: an addition, and whether its sum wrapped, found by one of four comparisons.
// Convert: to the other width. Pack: two words to a long one.
enum class Op : uint8_t {
  Add,
  Sub,
  MadLow,
  MadHigh,
  Mul,
  MulHigh,
  MulWide,
  Div,
  Shl,
  Shr,
  Not,
  And,
  Wrapped,
  Convert,
  Pack,
  Skip
};

struct Source {
  bool isConstant;
  unsigned reg;
  uint64_t value;
  bool isLate = false; // a zero that LLVM does not find before its last passes
};

struct Statement {
  Op op;
  unsigned bits; // of the operands
  bool isSigned;
  bool usesCarry, setsCarry;
  unsigned to;
  Source from[3];
  unsigned guard; // 0: none; 1, 2: @%low, @!%low; 3: @%few, which all threads agree on
  unsigned comparison;
  unsigned skipped; // statements that Skip jumps over
};

struct Program {
  std::vector<Statement> statements;
  size_t loopBegin, loopEnd; // executed kIterations times; none if equal
  bool loops() const { return loopBegin != loopEnd; }
};

unsigned resultBits(const Statement &s) {
  return s.op == Op::MulWide || s.op == Op::Pack || (s.op == Op::Convert && s.bits == 32) ? 64
         : s.op == Op::Convert                                                            ? 32
                                                                                          : s.bits;
}

class Generator {
public:
  explicit Generator(uint64_t seed) : engine(seed) {}

  Program program() {
    Program program;
    bool isStraight = below(2);
    unsigned count = 10 + below(30);
    for (unsigned i = 0; i < count; ++i) {
      Statement s = statement();
      if (!isStraight && below(8) == 0)
        s.guard = 1 + below(3);
      program.statements.push_back(s);
      if (!isStraight && below(10) == 0)
        program.statements.push_back(branch());
    }
    program.loopBegin = below(count / 2);
    program.loopEnd = program.loopBegin + (below(3) == 0 ? 1 + below(count / 2) : 0);
    // A branch neither enters nor leaves the loop.
    for (auto [i, s] : enumerate(program.statements))
      for (size_t border : {program.loopBegin, program.loopEnd, program.statements.size()})
        if (s.op == Op::Skip && i < border)
          s.skipped = std::min<size_t>(s.skipped, border - i - 1);
    return program;
  }

private:
  std::mt19937_64 engine;
  unsigned last[2] = {0, 1}; // results, of 32 and of 64 bits

  unsigned below(unsigned limit) { return unsigned(engine() % limit); }

  Source source(unsigned bits, bool mayBeConstant) {
    static const uint64_t kConstants[] = {0,
                                          0,
                                          0,
                                          1,
                                          13,
                                          ~uint64_t(0),
                                          0xffffffff,
                                          uint64_t(1) << 32,
                                          0x80000000,
                                          uint64_t(1) << 63,
                                          0xffffffff00000000};
    if (mayBeConstant && below(4) == 0) {
      uint64_t value = kConstants[below(std::size(kConstants))];
      return {true, 0, bits == 32 ? uint32_t(value) : value};
    }
    if (mayBeConstant && below(10) == 0)
      return {true, 0, 0, true};
    // Often what was just computed, so that it happens in one block.
    return {false, below(3) == 0 ? last[bits == 64] : below(kRegisters), 0};
  }

  Statement branch() {
    Statement s = {};
    s.op = Op::Skip;
    s.guard = 1 + below(3);
    s.skipped = 1 + below(4);
    return s;
  }

  Statement statement() {
    Statement s = {};
    s.bits = below(3) ? 64 : 32;
    s.isSigned = below(2);
    s.to = below(kRegisters);
    s.comparison = below(4);
    unsigned kind = below(20);
    s.op = kind < 6    ? Op::Add
           : kind < 10 ? Op::Sub
           : kind < 12 ? Op::MadLow
           : kind < 14 ? Op::MadHigh
                       : Op(unsigned(Op::Mul) + below(unsigned(Op::Skip) - unsigned(Op::Mul)));
    if (s.op <= Op::MadHigh && below(4)) {
      s.usesCarry = below(3);
      s.setsCarry = !s.usesCarry || below(3);
    }
    if (s.op == Op::MulWide || s.op == Op::Pack)
      s.bits = 32;
    if (s.op == Op::Div)
      s.isSigned = false;
    for (unsigned i = 0; i < 3; ++i)
      s.from[i] = source(s.bits, (i > 0 && s.op != Op::Pack) || s.op <= Op::Sub);
    if (s.op == Op::Wrapped && s.comparison == 3)
      s.from[1] = {true, 0, 1};
    if (s.op == Op::Shl || s.op == Op::Shr)
      s.from[1] = {true, 0, below(s.bits)};
    last[resultBits(s) == 64] = s.to;
    return s;
  }
};

// ---------- As PTX

std::string nameOf(unsigned bits, unsigned reg) {
  return (bits == 64 ? "%w" : "%x") + std::to_string(reg);
}

std::string textOf(unsigned bits, const Source &source) {
  if (source.isLate)
    return bits == 64 ? "%zero64" : "%zero32";
  return source.isConstant ? std::to_string(int64_t(source.value)) : nameOf(bits, source.reg);
}

// The spelling without its type.
std::string opcodeOf(const Statement &s) {
  std::string carry = s.usesCarry ? "c" : "", cc = s.setsCarry ? ".cc" : "";
  switch (s.op) {
  case Op::Add:
    return "add" + carry + cc;
  case Op::Sub:
    return "sub" + carry + cc;
  case Op::MadLow:
    return "mad" + carry + ".lo" + cc;
  case Op::MadHigh:
    return "mad" + carry + ".hi" + cc;
  case Op::Mul:
    return "mul.lo";
  case Op::MulHigh:
    return "mul.hi";
  case Op::MulWide:
    return "mul.wide";
  case Op::Div:
    return "div";
  case Op::Shl:
    return "shl";
  case Op::Shr:
    return "shr";
  case Op::Not:
    return "not";
  case Op::And:
    return "and";
  case Op::Wrapped:
  case Op::Convert:
  case Op::Pack:
  case Op::Skip:
    break;
  }
  return "";
}

std::string ptxOf(const Statement &s, size_t index) {
  const char *const kGuards[] = {"", "@%low ", "@!%low ", "@%few "};
  std::string guard = kGuards[s.guard], type = std::to_string(s.bits);
  auto from = [&](unsigned n) { return ", " + textOf(s.bits, s.from[n]); };
  auto to = [&](unsigned bits) { return " " + nameOf(bits, s.to); };
  if (s.op == Op::Skip)
    return guard + "bra L" + std::to_string(index + 1 + s.skipped);
  if (s.op == Op::Convert)
    return guard + (s.bits == 32 ? "cvt.u64.u32" + to(64) : "cvt.u32.u64" + to(32)) + ", " +
           nameOf(s.bits, s.from[0].reg);
  if (s.op == Op::Pack)
    return guard + "mov.b64" + to(64) + ", {" + nameOf(32, s.from[0].reg) + ", " +
           nameOf(32, s.from[1].reg) + "}";
  if (s.op == Op::Wrapped) {
    const std::string sum = nameOf(s.bits, s.to),
                      comparisons[] = {"lt.u" + type + " %again, " + sum + from(0),
                                       "lt.u" + type + " %again, " + sum + from(1),
                                       "eq.u" + type + " %again, " + sum + ", 0",
                                       "eq.u" + type + " %again" + from(0) + ", -1"};
    return guard + "add.u" + type + " " + sum + from(0) + from(1) + ";\n " + guard + "setp." +
           comparisons[s.comparison] + ";\n " + guard + "selp.u" + type + " " +
           nameOf(s.bits, (s.to + 1) % kRegisters) + ", 1, 0, %again";
  }
  bool isUntyped = s.op == Op::Shl || s.op == Op::Not || s.op == Op::And;
  std::string text = guard + opcodeOf(s) +
                     (isUntyped    ? ".b"
                      : s.isSigned ? ".s"
                                   : ".u") +
                     type + to(s.op == Op::MulWide ? 64 : s.bits) + from(0);
  if (s.op != Op::Not)
    text += from(1);
  if (s.op == Op::MadLow || s.op == Op::MadHigh)
    text += from(2);
  return text;
}

// Sources start the registers, with `count` for a value that all threads share; the sum of all
// registers and the flag is the result.
std::string ptxOf(const Program &program) {
  std::string text =
      ".reg .b64 %w<6>, %left, %right, %wide;\n .reg .b32 %x<6>, %none;\n .reg .pred %low, %few, "
      "%again;\n .reg .b32 %trip;\n setp.lt.u64 %low, a, b;\n setp.lt.u32 %few, %count, 1000;\n"
      " mov.b64 %w0, a;\n mov.b64 %w1, b;\n mov.b64 %w2, c;\n mov.b64 %w3, e;\n"
      " cvt.u64.u32 %w4, %count;\n xor.b64 %w5, a, c;\n cvt.u32.u64 %x0, a;\n"
      " cvt.u32.u64 %x1, b;\n cvt.u32.u64 %x2, c;\n shr.u64 %left, e, 32;\n"
      " cvt.u32.u64 %x3, %left;\n mul.lo.u32 %x4, %count, -7;\n mov.b32 %x5, -1;\n"
      " add.cc.u32 %none, 0, 0;\n mov.u32 %trip, 0;\n"
      // The difference of two loads, one of which is of a vector.
      " .reg .b32 %zero32, %half<2>;\n .reg .b64 %zero64, %even, %other<2>;\n"
      " and.b64 %even, %address, -16;\n ld.global.b64 %zero64, [%even];\n"
      " ld.global.nc.v2.u64 {%other0, %other1}, [%even];\n cvt.u32.u64 %half0, %other0;\n"
      " cvt.u32.u64 %half1, %zero64;\n sub.u64 %zero64, %zero64, %other0;\n"
      " sub.u32 %zero32, %half0, %half1;\n";
  for (size_t i = 0; i <= program.statements.size(); ++i) {
    text += "L" + std::to_string(i) + ":\n";
    if (program.loops() && i == program.loopEnd)
      text += " add.u32 %trip, %trip, 1;\n setp.lt.u32 %again, %trip, " +
              std::to_string(kIterations) + ";\n @%again bra Loop;\n";
    if (program.loops() && i == program.loopBegin)
      text += "Loop:\n";
    if (i < program.statements.size())
      text += " " + ptxOf(program.statements[i], i) + ";\n";
  }
  text += " addc.u64 d, 0, 0;\n";
  const char *const kFold = " shl.b64 %left, d, 7;\n shr.u64 %right, d, 57;\n"
                            " or.b64 d, %left, %right;\n xor.b64 d, d, %wide;\n";
  for (unsigned n = 0; n < kRegisters; ++n) {
    text += " mov.b64 %wide, " + nameOf(64, n) + ";\n" + kFold;
    text += " cvt.u64.u32 %wide, " + nameOf(32, n) + ";\n" + kFold;
  }
  return text + " mov.b64 d, d"; // check() ends the statement
}

// ---------- On the host

struct State {
  uint64_t wide[kRegisters];
  uint32_t narrow[kRegisters];
  bool carry = false;
  bool low;

  uint64_t read(unsigned bits, const Source &source) const {
    return source.isConstant ? source.value : bits == 64 ? wide[source.reg] : narrow[source.reg];
  }
  void write(unsigned bits, unsigned reg, uint64_t value) {
    if (bits == 64)
      wide[reg] = value;
    else
      narrow[reg] = uint32_t(value);
  }
};

uint64_t maskOf(unsigned bits) { return ~uint64_t(0) >> (64 - bits); }

uint64_t highProduct(unsigned bits, bool isSigned, uint64_t x, uint64_t y) {
  if (!isSigned)
    return uint64_t(U(x) * y >> bits);
  auto extended = [&](uint64_t v) { return int64_t(v << (64 - bits)) >> (64 - bits); };
  return uint64_t(U(__int128(extended(x)) * extended(y)) >> bits) & maskOf(bits);
}

// x + y and what is carried in; the flag is what this is beyond `bits`.
uint64_t addUp(State &state, const Statement &s, uint64_t x, uint64_t y) {
  bool carry = s.usesCarry ? state.carry : s.op == Op::Sub;
  U sum = U(x) + y + carry;
  if (s.setsCarry)
    state.carry = sum >> s.bits & 1;
  return uint64_t(sum) & maskOf(s.bits);
}

// The second result; the first is written, since the comparison may read it.
uint64_t wrapped(State &state, const Statement &s) {
  auto x = [&] { return state.read(s.bits, s.from[0]); };
  auto y = [&] { return state.read(s.bits, s.from[1]); };
  uint64_t sum = (x() + y()) & maskOf(s.bits);
  state.write(s.bits, s.to, sum);
  return s.comparison == 0   ? sum < x()
         : s.comparison == 1 ? sum < y()
         : s.comparison == 2 ? sum == 0
                             : x() == maskOf(s.bits);
}

uint64_t compute(State &state, const Statement &s) {
  uint64_t x = state.read(s.bits, s.from[0]), y = state.read(s.bits, s.from[1]),
           z = state.read(s.bits, s.from[2]);
  switch (s.op) {
  case Op::Add:
    return addUp(state, s, x, y);
  case Op::Sub:
    return addUp(state, s, x, ~y & maskOf(s.bits));
  case Op::MadLow:
    return addUp(state, s, x * y & maskOf(s.bits), z);
  case Op::MadHigh:
    return addUp(state, s, highProduct(s.bits, s.isSigned, x, y), z);
  case Op::Mul:
    return x * y;
  case Op::MulHigh:
    return highProduct(s.bits, s.isSigned, x, y);
  case Op::MulWide:
    return s.isSigned ? uint64_t(int64_t(int32_t(x)) * int32_t(y)) : x * y;
  case Op::Shl:
    return x << y;
  case Op::Shr:
    return !s.isSigned    ? x >> y
           : s.bits == 64 ? uint64_t(int64_t(x) >> y)
                          : uint64_t(int32_t(x) >> y);
  case Op::Not:
    return ~x;
  case Op::And:
    return x & y;
  case Op::Div:
    return y ? x / y : ~uint64_t(0);
  case Op::Wrapped:
    return wrapped(state, s);
  case Op::Pack:
    return x | y << 32;
  case Op::Convert:
  case Op::Skip:
    break;
  }
  return x;
}

uint64_t interpret(const Program &program, uint64_t a, uint64_t b, uint64_t c, uint64_t e) {
  State state = {.wide = {a, b, c, e, kThreads, a ^ c},
                 .narrow = {uint32_t(a), uint32_t(b), uint32_t(c), uint32_t(e >> 32),
                            uint32_t(kThreads) * uint32_t(-7), ~uint32_t(0)},
                 .low = a < b};
  unsigned trip = 0;
  for (size_t i = 0; true; ++i) {
    if (program.loops() && i == program.loopEnd && ++trip < kIterations)
      i = program.loopBegin;
    if (i >= program.statements.size())
      break;
    const Statement &s = program.statements[i];
    if ((s.guard == 1 && !state.low) || (s.guard == 2 && state.low))
      continue;
    if (s.op == Op::Skip)
      i += s.skipped;
    else
      state.write(resultBits(s), s.op == Op::Wrapped ? (s.to + 1) % kRegisters : s.to,
                  compute(state, s));
  }
  uint64_t sum = state.carry;
  auto fold = [&](uint64_t word) { sum = std::rotl(sum, 7) ^ word; };
  for (unsigned n = 0; n < kRegisters; ++n) {
    fold(state.wide[n]);
    fold(state.narrow[n]);
  }
  return sum;
}

std::vector<Operands> operands(uint64_t seed) {
  static const uint64_t kEdges[] = {0,
                                    1,
                                    0x7fffffff,
                                    0x80000000,
                                    0xffffffff,
                                    uint64_t(1) << 32,
                                    0xbfffffffffffffff,
                                    uint64_t(1) << 63,
                                    0xfffffffeffffffff,
                                    0xffffffff00000000,
                                    ~uint64_t(1),
                                    ~uint64_t(0),
                                    ~uint64_t(0)};
  std::mt19937_64 engine(seed);
  std::vector<Operands> tuples(kThreads);
  for (Operands &tuple : tuples)
    for (uint64_t &value : tuple.values)
      value = engine() % 2 ? kEdges[engine() % std::size(kEdges)] : engine();
  return tuples;
}

void checkKernels(uint64_t begin, uint64_t end, const char *arch) {
  for (uint64_t seed = begin; seed < end; ++seed) {
    Program program = Generator(seed).program();
    std::string text = ptxOf(program);
    check({"// seed " + std::to_string(seed) + ", " + arch + "\n" + text,
           Kind::I64,
           {Kind::I64, Kind::I64, Kind::I64, Kind::I64},
           [&](uint64_t a, uint64_t b, uint64_t c, uint64_t e) {
             return interpret(program, a, b, c, e);
           }},
          operands(seed), {.arch = arch});
  }
}

} // namespace

// By default each target has kernels of its own; the whole has the label `long`.
TEST(RandomCarryChains, OfEachTarget) {
  bool isLong = getenv("RUBIA_TEST_LONG");
  uint64_t count = isLong ? 1500 : 16, begin = 1;
  for (const char *arch : rubia::test::testTargets()) {
    checkKernels(begin, begin + count, arch);
    begin += isLong ? 0 : count;
  }
}

// Which were wrong once, by zeros that LLVM finds late.
TEST(RandomCarryChains, ThatWereWrong) {
  for (uint64_t seed : {423, 825, 1075})
    for (const char *arch : {"gfx1030", "gfx1100", "gfx942"})
      checkKernels(seed, seed + 1, arch);
}

// A flag that a subtraction leaves is not inverted: the carry of a + ~b + 1.
TEST(ExtendedPrecision, CarryOfASubtraction) {
  for (unsigned bits : {32u, 64u}) {
    std::string b = std::to_string(bits);
    Kind kind = bits == 32 ? Kind::I32 : Kind::I64;
    auto mask = maskOf(bits);
    check({".reg .b" + b + " t;\n sub.cc.u" + b + " t, a, b;\n addc.u" + b + " d, 0, 0",
           kind,
           {kind, kind},
           [](uint64_t a, uint64_t b, uint64_t, uint64_t) { return a >= b; }});
    check({".reg .b" + b + " t;\n add.cc.u" + b + " t, a, b;\n subc.u" + b + " d, a, b",
           kind,
           {kind, kind},
           [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
             return (a - b - !(U(a) + b > mask)) & mask;
           }});
    check({".reg .b" + b + " t;\n sub.cc.u" + b + " t, a, b;\n madc.lo.u" + b + " d, a, b, c",
           kind,
           {kind, kind, kind},
           [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
             return (a * b + c + (a >= b)) & mask;
           }});
  }
}

// The work-around for wrong carries (docs/errata.md) leaves sums of two numbers that are loaded,
// and of long numbers with a word or a carry, as they are.
TEST(ExtendedPrecision, CommonChainsNeedNoComparison) {
  const char *const kBodies[] = {
      ".reg .b64 t;\n add.cc.u64 t, a, b;\n addc.u64 d, c, e;\n xor.b64 d, d, t;",
      ".reg .b64 t;\n sub.cc.u64 t, a, b;\n subc.u64 d, c, e;\n xor.b64 d, d, t;",
      ".reg .b64 t;\n add.cc.u64 t, a, 13;\n addc.cc.u64 d, b, 0;\n addc.u64 d, d, t;",
      ".reg .b64 t;\n mad.lo.cc.u64 t, a, b, c;\n madc.hi.u64 d, a, b, e;\n xor.b64 d, d, t;"};
  for (const char *body : kBodies)
    for (const char *arch : {"gfx1100", "gfx942"}) {
      std::string assembly =
          emitAssembly(kernelText(body, Kind::I64, {Kind::I64, Kind::I64, Kind::I64, Kind::I64}),
                       {.arch = arch});
      // The one comparison is that of the thread's index.
      size_t first = assembly.find("v_cmp_");
      EXPECT_EQ(assembly.find("v_cmp_", first + 1), std::string::npos) << arch << ": " << body;
    }
}
