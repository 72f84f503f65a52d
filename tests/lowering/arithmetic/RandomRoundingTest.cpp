// SPDX-License-Identifier: Apache-2.0
// Random kernels that mix directed and plain rounding, flushing and keeping of denormals, f32 and
// f64, guards and a loop: executed on gfx1100 against an interpreter on the host that sets MXCSR
// for each operation, and compiled for gfx90a and gfx942 through the checker of MODE. LLVM moves
// plain operations across writes of MODE if it is let, most of all its SLP vectorizer.
#include "tests/Targets.h"
#include "tests/lowering/arithmetic/Harness.h"
#include "tests/lowering/arithmetic/HostFloat.h"
#include <cmath>
#include <random>

using namespace rubia::lowering::test;

namespace {

constexpr unsigned kRegisters = 6; // of each type
constexpr unsigned kIterations = 3;

enum class Op : uint8_t { Add, Sub, Mul, Fma, Div, Rcp, Sqrt, Narrow, Widen };

struct Statement {
  Op op;
  bool isDouble; // not for Narrow and Widen
  const char *rounding;
  bool flushes;
  unsigned to, from[3];
  int guard; // 0: none, 1: @p, 2: @!p
};

struct Program {
  std::vector<Statement> statements;
  unsigned loopBegin, loopEnd; // statements executed kIterations times
};

Program randomProgram(uint64_t seed) {
  std::mt19937_64 engine(seed);
  auto below = [&](unsigned limit) { return unsigned(engine() % limit); };
  bool mixesFlushing = below(2);
  Program program;
  unsigned count = 24 + below(24);
  while (program.statements.size() < count) {
    Statement statement = {};
    unsigned kind = below(20);
    statement.op = kind < 6    ? Op::Add
                   : kind < 9  ? Op::Sub
                   : kind < 12 ? Op::Mul
                   : kind < 15 ? Op::Fma
                   : kind < 16 ? Op::Div
                   : kind < 17 ? (below(2) ? Op::Rcp : Op::Sqrt)
                   : kind < 19 ? Op::Narrow
                               : Op::Widen;
    statement.isDouble = below(3) == 0;
    const char *kNames[] = {"rz", "rm", "rp"};
    statement.rounding = below(2) ? "rn" : kNames[below(3)];
    statement.flushes = mixesFlushing && !statement.isDouble && below(5) == 0;
    if (statement.op == Op::Narrow || statement.op == Op::Widen)
      statement.flushes = false;
    statement.to = below(kRegisters);
    for (unsigned &from : statement.from)
      from = below(kRegisters);
    statement.guard = below(6) == 0 ? 1 + below(2) : 0;
    // Runs of the same operation on neighbouring registers are what the SLP vectorizer looks for.
    unsigned run = statement.op <= Op::Fma ? 1 + below(4) : 1;
    for (unsigned n = 0; n < run; ++n) {
      program.statements.push_back(statement);
      statement.to = (statement.to + 1) % kRegisters;
      for (unsigned &from : statement.from)
        from = (from + 1) % kRegisters;
      if (below(3) == 0)
        statement.rounding = "rn";
    }
  }
  program.loopBegin = below(program.statements.size() / 2);
  program.loopEnd = program.loopBegin + 1 + below(program.statements.size() / 2);
  return program;
}

// ---------- As PTX

std::string registerName(bool isDouble, unsigned n) {
  return (isDouble ? "%g" : "%f") + std::to_string(n);
}

std::string ptxOf(const Statement &s) {
  std::string text = s.guard == 1 ? "  @%low " : s.guard == 2 ? "  @!%low " : "  ";
  auto f = [&](unsigned n) { return registerName(s.isDouble, n); };
  std::string modifiers =
      std::string(".") + s.rounding + (s.flushes ? ".ftz" : "") + (s.isDouble ? ".f64 " : ".f32 ");
  std::string two = f(s.to) + ", " + f(s.from[0]) + ", " + f(s.from[1]);
  switch (s.op) {
  case Op::Add:
    return text + "add" + modifiers + two;
  case Op::Sub:
    return text + "sub" + modifiers + two;
  case Op::Mul:
    return text + "mul" + modifiers + two;
  case Op::Fma:
    return text + "fma" + modifiers + two + ", " + f(s.from[2]);
  case Op::Div:
    return text + "div" + modifiers + two;
  case Op::Rcp:
    return text + "rcp" + modifiers + f(s.to) + ", " + f(s.from[0]);
  case Op::Sqrt:
    return text + "sqrt" + modifiers + f(s.to) + ", " + f(s.from[0]);
  case Op::Narrow:
    return text + "cvt." + s.rounding + ".f32.f64 " + registerName(false, s.to) + ", " +
           registerName(true, s.from[0]);
  case Op::Widen:
    return text + "cvt.f64.f32 " + registerName(true, s.to) + ", " + registerName(false, s.from[0]);
  }
  return text;
}

// Sources a and b (f32) start the registers; the sum of all, NaNs made equal, is the result.
std::string ptxOf(const Program &program) {
  std::string text = ".reg .f32 %f<6>;\n .reg .f64 %g<6>;\n .reg .pred %low, %isNan, %again;\n"
                     " .reg .b32 %word, %trip;\n .reg .b64 %wide, %left, %right;\n"
                     " setp.lt.f32 %low, a, b;\n mov.b32 %f0, a;\n mov.b32 %f1, b;\n"
                     " cvt.f64.f32 %g0, a;\n cvt.f64.f32 %g1, b;\n";
  for (unsigned n = 2; n < kRegisters; ++n)
    for (bool isDouble : {false, true})
      text += " sub" + std::string(isDouble ? ".f64 " : ".f32 ") + registerName(isDouble, n) +
              ", " + registerName(isDouble, n - 1) + ", " + registerName(isDouble, n - 2) + ";\n";
  text += " mov.u32 %trip, 0;\n";
  for (size_t i = 0; i < program.statements.size(); ++i) {
    if (i == program.loopBegin)
      text += "Loop:\n";
    text += ptxOf(program.statements[i]) + ";\n";
    if (i + 1 == program.loopEnd)
      text += " add.u32 %trip, %trip, 1;\n setp.lt.u32 %again, %trip, " +
              std::to_string(kIterations) + ";\n @%again bra Loop;\n";
  }
  text += " mov.b64 d, 0;\n";
  for (unsigned n = 0; n < kRegisters; ++n) {
    std::string f = registerName(false, n), g = registerName(true, n);
    text += " setp.nan.f32 %isNan, " + f + ", " + f + ";\n mov.b32 %word, " + f +
            ";\n selp.b32 %word, 2143289344, %word, %isNan;\n cvt.u64.u32 %wide, %word;\n";
    const char *const kFold = " shl.b64 %left, d, 7;\n shr.u64 %right, d, 57;\n"
                              " or.b64 d, %left, %right;\n xor.b64 d, d, %wide;\n";
    text += kFold;
    text += " setp.nan.f64 %isNan, " + g + ", " + g + ";\n mov.b64 %wide, " + g +
            ";\n selp.b64 %wide, 9221120237041090560, %wide, %isNan;\n";
    text += kFold;
  }
  text += " mov.b64 d, d"; // check() ends the statement
  return text;
}

// ---------- On the host

struct Registers {
  float f[kRegisters];
  double g[kRegisters];
};

template <typename T> T compute(const Statement &s, const T *r) {
  T x = opaque(r[s.from[0]]), y = opaque(r[s.from[1]]), z = opaque(r[s.from[2]]);
  switch (s.op) {
  case Op::Add:
    return opaque(x + y);
  case Op::Sub:
    return opaque(x - y);
  case Op::Mul:
    return opaque(x * y);
  case Op::Fma:
    return opaque(std::fma(x, y, z));
  case Op::Div:
    return opaque(x / y);
  case Op::Rcp:
    return opaque(T(1) / x);
  default:
    return opaque(std::sqrt(x));
  }
}

void step(const Statement &s, Registers &r, bool low) {
  if ((s.guard == 1 && !low) || (s.guard == 2 && low))
    return;
  HostMode mode(hostRounding(s.rounding), s.flushes);
  if (s.op == Op::Narrow)
    r.f[s.to] = opaque(float(opaque(r.g[s.from[0]])));
  else if (s.op == Op::Widen)
    r.g[s.to] = opaque(double(opaque(r.f[s.from[0]])));
  else if (s.isDouble)
    r.g[s.to] = compute(s, r.g);
  else
    r.f[s.to] = compute(s, r.f);
}

uint64_t interpret(const Program &program, uint64_t a, uint64_t b) {
  Registers r = {};
  r.f[0] = f32(a), r.f[1] = f32(b);
  r.g[0] = r.f[0], r.g[1] = r.f[1];
  for (unsigned n = 2; n < kRegisters; ++n) {
    r.f[n] = opaque(r.f[n - 1] - r.f[n - 2]);
    r.g[n] = opaque(r.g[n - 1] - r.g[n - 2]);
  }
  bool low = r.f[0] < r.f[1];
  for (size_t i = 0; i < program.loopBegin; ++i)
    step(program.statements[i], r, low);
  for (unsigned trip = 0; trip < kIterations; ++trip)
    for (size_t i = program.loopBegin; i < program.loopEnd; ++i)
      step(program.statements[i], r, low);
  for (size_t i = program.loopEnd; i < program.statements.size(); ++i)
    step(program.statements[i], r, low);
  uint64_t sum = 0;
  auto fold = [&](uint64_t word) { sum = std::rotl(sum, 7) ^ word; };
  for (unsigned n = 0; n < kRegisters; ++n) {
    fold(std::isnan(r.f[n]) ? 0x7fc00000 : bitsOf(r.f[n]));
    fold(std::isnan(r.g[n]) ? 0x7ff8000000000000 : bitsOf(r.g[n]));
  }
  return sum;
}

std::vector<Operands> operandPairs(uint64_t seed) {
  std::mt19937_64 engine(seed);
  std::vector<Operands> tuples;
  for (unsigned i = 0; i < 200; ++i) {
    // Mostly numbers near 1, some of any magnitude.
    auto number = [&]() -> uint64_t {
      uint64_t bits = engine() & 0xffffffff;
      return i % 8 == 0 ? bits : (bits & 0x807fffff) | (120 + engine() % 14) << 23;
    };
    tuples.push_back({{number(), number()}});
  }
  return tuples;
}

} // namespace

TEST(RandomRounding, SixtyKernelsOnTheEmulator) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    Program program = randomProgram(seed);
    check({ptxOf(program),
           Kind::I64,
           {Kind::F32, Kind::F32},
           [&](uint64_t a, uint64_t b, uint64_t, uint64_t) { return interpret(program, a, b); }},
          operandPairs(seed));
  }
}

// compileToCode() fails the test if the checker of MODE objects.
TEST(RandomRounding, SixtyKernelsPassTheModeCheckerOfWave64Targets) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    std::string text =
        kernelText(ptxOf(randomProgram(seed)) + ";", Kind::I64, {Kind::F32, Kind::F32});
    for (const char *arch : {"gfx90a", "gfx942"})
      EXPECT_FALSE(compileToCode(text, {.arch = arch}).empty()) << arch;
  }
}

// A kernel that flushes throughout, with LLVM's own switches of the denormal mode for division.
TEST(RandomRounding, DirectedRoundingBesideDivisionInAFlushingKernel) {
  std::string body = ".reg .f32 q, r, s, t;\n div.rn.ftz.f32 q, a, b;\n add.rm.ftz.f32 r, a, b;\n"
                     " sub.rp.ftz.f32 s, a, b;\n div.rn.ftz.f32 t, r, s;\n add.rz.ftz.f32 d, q, t";
  for (const char *arch : rubia::test::testTargets())
    compileToCode(kernelText(body + ";", Kind::F32, {Kind::F32, Kind::F32}), {.arch = arch});
  check({body, Kind::F32, {Kind::F32, Kind::F32}, [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
           auto in = [](const char *rounding, auto compute) {
             HostMode mode(hostRounding(rounding), true);
             return opaque(compute());
           };
           float x = f32(a), y = f32(b);
           float q = in("rn", [&] { return opaque(x) / opaque(y); });
           float r = in("rm", [&] { return opaque(x) + opaque(y); });
           float s = in("rp", [&] { return opaque(x) - opaque(y); });
           float t = in("rn", [&] { return opaque(r) / opaque(s); });
           return bitsOf(in("rz", [&] { return opaque(q) + opaque(t); }));
         }});
}
