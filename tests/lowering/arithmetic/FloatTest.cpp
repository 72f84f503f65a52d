// SPDX-License-Identifier: Apache-2.0
// PTX ISA: floating-point-instructions with a defined result, in every rounding, with and without
// .ftz and .sat, in kernels of either denormal mode.
#include "tests/lowering/arithmetic/Harness.h"
#include "tests/lowering/arithmetic/HostFloat.h"
#include <cmath>
#include <random>

using namespace rubia::lowering;
using namespace rubia::lowering::test;

namespace rubia::settings::FlushMode {
extern const Word Nvidia;
} // namespace rubia::settings::FlushMode
namespace rubia::settings::NanMode {
extern const Word Any, Canonical;
} // namespace rubia::settings::NanMode

namespace {

const char *const kRoundings[] = {"rn", "rz", "rm", "rp"};

float saturated(float value) { return value > 0 ? (value < 1 ? value : 1) : 0; }

// Type T computed by `compute` under the mode that the modifiers name.
template <typename T, typename Compute>
auto reference(const char *rounding, bool flushes, bool saturates, Compute compute) {
  return [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) -> uint64_t {
    auto operand = [](uint64_t bits) {
      if constexpr (sizeof(T) == 4)
        return f32(bits);
      else
        return f64(bits);
    };
    T x = operand(a), y = operand(b), z = operand(c), result;
    {
      HostMode mode(hostRounding(rounding), flushes);
      result = opaque(compute(opaque(x), opaque(y), opaque(z)));
    }
    return bitsOf(saturates && result == result ? T(saturated(result)) : saturates ? T(0) : result);
  };
}

// AMD's hardware may decide whether to flush on the result rounded to a denormal, NVIDIA's does on
// the one rounded with unbounded exponent: what rounds up to 2^-126 is 0 there and may stay here
// (docs/hardware-assumptions.md), but with flush=nvidia.
const Accept kRoundedUpToNormal = [](uint64_t got, uint64_t expected, uint64_t, uint64_t) {
  return (got & 0x7fffffff) == 0x00800000 && expected == (got & 0x80000000);
};

// Every form of an operation.
template <typename Compute>
void checkRounded(const std::string &name, unsigned sources, bool hasSat, bool optionalRounding,
                  Compute compute) {
  const char *arguments = sources == 1 ? " d, a" : sources == 2 ? " d, a, b" : " d, a, b, c";
  std::vector<Kind> singles(sources, Kind::F32), doubles(sources, Kind::F64);
  bool isDivision = name == "div" || name == "rcp" || name == "sqrt";
  auto operation = [&](const std::string &modifiers) { return name + modifiers + arguments; };
  auto single = [=](float x, float y, float z) { return compute(x, y, z); };
  auto twice = [=](double x, double y, double z) { return compute(x, y, z); };
  for (const char *rounding : kRoundings) {
    std::string r = std::string(".") + rounding;
    check({operation(r + ".f32"), Kind::F32, singles,
           reference<float>(rounding, false, false, single)});
    auto flushing = [&](const std::string &text, bool saturates) {
      check({text, Kind::F32, singles, reference<float>(rounding, true, saturates, single)},
            operandsFor(singles), {}, isDivision ? nullptr : &kRoundedUpToNormal);
      if (!isDivision)
        check({text, Kind::F32, singles, reference<float>(rounding, true, saturates, single)},
              {.flush = rubia::settings::FlushMode::Nvidia});
    };
    flushing(operation(r + ".ftz.f32"), false);
    // The same beside an instruction that keeps denormals.
    flushing(".reg .b32 t;\n add.f32 t, a, a;\n " + operation(r + ".ftz.f32"), false);
    check({operation(r + ".f64"), Kind::F64, doubles,
           reference<double>(rounding, false, false, twice)});
    if (hasSat)
      flushing(operation(r + ".ftz.sat.f32"), true);
  }
  if (hasSat)
    check({operation(".rn.sat.f32"), Kind::F32, singles,
           reference<float>("rn", false, true, single)});
  if (optionalRounding) {
    check({operation(".f32"), Kind::F32, singles, reference<float>("rn", false, false, single)});
    check({operation(".f64"), Kind::F64, doubles, reference<double>("rn", false, false, twice)});
  }
}

} // namespace

TEST(FloatingPoint, Add) {
  checkRounded("add", 2, true, true, [](auto x, auto y, auto) { return x + y; });
}

TEST(FloatingPoint, Sub) {
  checkRounded("sub", 2, true, true, [](auto x, auto y, auto) { return x - y; });
}

TEST(FloatingPoint, Mul) {
  checkRounded("mul", 2, true, true, [](auto x, auto y, auto) { return x * y; });
}

TEST(FloatingPoint, Fma) {
  checkRounded("fma", 3, true, false, [](auto x, auto y, auto z) { return std::fma(x, y, z); });
}

TEST(FloatingPoint, MadIsFma) {
  checkRounded("mad", 3, true, false, [](auto x, auto y, auto z) { return std::fma(x, y, z); });
}

TEST(FloatingPoint, Div) {
  checkRounded("div", 2, false, false, [](auto x, auto y, auto) { return x / y; });
}

TEST(FloatingPoint, Rcp) {
  checkRounded("rcp", 1, false, false, [](auto x, auto, auto) { return 1 / x; });
}

TEST(FloatingPoint, Sqrt) {
  checkRounded("sqrt", 1, false, false, [](auto x, auto, auto) { return std::sqrt(x); });
}

// LLVM replaces these by their operands.
TEST(FloatingPoint, FlushesWhereTheResultIsAnOperand) {
  auto gives = [](const std::string &text, uint64_t sign) {
    check({text, Kind::F32, {Kind::F32}, [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
             return (a & 0x7f800000 ? a : a & 0x80000000) ^ sign;
           }});
  };
  for (const char *arithmetic :
       {"mul.ftz.f32 d, a, 0f3f800000", "add.ftz.f32 d, a, 0f80000000",
        "sub.ftz.f32 d, a, 0f00000000", "fma.rn.ftz.f32 d, a, 0f3f800000, 0f80000000",
        "div.approx.ftz.f32 d, a, 0f3f800000",
        ".reg .b32 one;\n mov.b32 one, 0f3f800000;\n mul.ftz.f32 d, a, one"})
    gives(arithmetic, 0);
  for (const char *arithmetic : {"mul.ftz.f32 d, a, 0fbf800000", "sub.ftz.f32 d, 0f80000000, a"})
    gives(arithmetic, 0x80000000);
  // A loop that is peeled.
  gives(".reg .b32 i;\n .reg .pred again;\n mov.b32 d, 0f3f800000;\n mov.b32 i, 0;\nLoop:\n"
        " mul.ftz.f32 d, d, a;\n add.u32 i, i, 1;\n setp.lt.u32 again, i, 1;\n @again bra Loop;\n"
        " mov.b32 d, d",
        0);
}

TEST(FloatingPoint, FlushesConstants) {
  for (const char *keeps : {"", ".reg .b32 t;\n add.f32 t, a, a;\n "})
    for (const char *arithmetic :
         {"mul.ftz.f32 d, 0f00000001, 0f7e800000", "mul.ftz.f32 d, 0f1f800000, 0f1f800000",
          "add.ftz.f32 d, 0f00000001, 0f00000001", "sub.ftz.f32 d, 0f00800001, 0f00800000",
          "fma.rn.ftz.f32 d, 0f00000001, 0f7e800000, 0f00000000",
          "rcp.approx.ftz.f32 d, 0f7f000000", "div.approx.ftz.f32 d, 0f41000000, 0f7f000000",
          "div.rn.ftz.f32 d, 0f00000001, 0f00800000", "sqrt.rn.ftz.f32 d, 0f00000001"})
      check({std::string(keeps) + arithmetic,
             Kind::F32,
             {Kind::F32},
             [](uint64_t, uint64_t, uint64_t, uint64_t) -> uint64_t { return 0; }});
}

namespace {
// Quotients and roots that lie close to the middle or the ends of an ulp: random mantissas, and
// exponents that make results denormal, smallest normal, largest, and overflow.
std::vector<Operands> hardOperands(unsigned bits, bool isRoot) {
  std::vector<Operands> tuples;
  std::mt19937_64 engine(7);
  unsigned mantissa = bits == 32 ? 23 : 52;
  uint64_t bias = bits == 32 ? 127 : 1023, largest = 2 * bias;
  for (unsigned i = 0; i < 6000; ++i) {
    auto random = [&](uint64_t exponent) {
      uint64_t fraction = engine() & ((1ull << mantissa) - 1);
      if (engine() % 4 == 0)
        fraction = engine() % 8; // near a power of two
      if (engine() % 8 == 0)
        fraction = (1ull << mantissa) - 1 - engine() % 8;
      return exponent << mantissa | fraction | (isRoot ? 0 : engine() << (bits - 1));
    };
    auto masked = [&](uint64_t value) { return value & (~0ull >> (64 - bits)); };
    uint64_t kind = engine() % 5;
    uint64_t a = bias + engine() % 3 - 1, b = bias + engine() % 3 - 1;
    if (kind == 1)
      a = engine() % 3, b = bias + engine() % 60; // denormal operands and results
    if (kind == 2)
      a = largest - engine() % 3, b = bias - engine() % 60; // overflow
    if (kind == 3)
      a = engine() % 64, b = engine() % 64;
    if (kind == 4)
      a = engine() % (largest + 1), b = engine() % (largest + 1);
    tuples.push_back({{masked(random(a)), masked(random(b)), 0, 0}});
  }
  return tuples;
}
} // namespace

TEST(FloatingPoint, DirectedDivisionAndRootsOfHardOperands) {
  for (const char *rounding : kRoundings) {
    std::string r = rounding;
    for (bool flushes : {false, true}) {
      std::string suffix = r + (flushes ? ".ftz.f32" : ".f32");
      check({"div." + suffix + " d, a, b",
             Kind::F32,
             {Kind::F32, Kind::F32},
             reference<float>(rounding, flushes, false,
                              [](float x, float y, float) { return x / y; })},
            hardOperands(32, false));
      check(
          {"rcp." + suffix + " d, a",
           Kind::F32,
           {Kind::F32},
           reference<float>(rounding, flushes, false, [](float x, float, float) { return 1 / x; })},
          hardOperands(32, false));
      check({"sqrt." + suffix + " d, a",
             Kind::F32,
             {Kind::F32},
             reference<float>(rounding, flushes, false,
                              [](float x, float, float) { return std::sqrt(x); })},
            hardOperands(32, true));
    }
    check({"div." + r + ".f64 d, a, b",
           Kind::F64,
           {Kind::F64, Kind::F64},
           reference<double>(rounding, false, false,
                             [](double x, double y, double) { return x / y; })},
          hardOperands(64, false));
    check(
        {"rcp." + r + ".f64 d, a",
         Kind::F64,
         {Kind::F64},
         reference<double>(rounding, false, false, [](double x, double, double) { return 1 / x; })},
        hardOperands(64, false));
    check({"sqrt." + r + ".f64 d, a",
           Kind::F64,
           {Kind::F64},
           reference<double>(rounding, false, false,
                             [](double x, double, double) { return std::sqrt(x); })},
          hardOperands(64, true));
  }
}

TEST(FloatingPoint, FullDivisionIsWithinItsBound) {
  for (bool flushes : {false, true})
    check({std::string("div.full") + (flushes ? ".ftz" : "") + ".f32 d, a, b",
           Kind::F32,
           {Kind::F32, Kind::F32},
           reference<float>("rn", flushes, false, [](float x, float y, float) { return x / y; })},
          hardOperands(32, false));
}

static uint64_t flushed(uint64_t bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }

TEST(FloatingPoint, SignOperations) {
  for (rubia::settings::Word nan :
       {rubia::settings::NanMode::Any, rubia::settings::NanMode::Canonical}) {
    auto bits = [=](uint64_t value) { return isNan(Kind::F32, value) ? 0x7fffffff : value; };
    Compilation setup = {.nan = nan};
    check({"abs.f32 d, a",
           Kind::F32,
           {Kind::F32},
           [=](uint64_t a, uint64_t, uint64_t, uint64_t) { return bits(a & 0x7fffffff); }},
          setup);
    check({"neg.f32 d, a",
           Kind::F32,
           {Kind::F32},
           [=](uint64_t a, uint64_t, uint64_t, uint64_t) { return bits(a ^ 0x80000000); }},
          setup);
    check({"abs.ftz.f32 d, a",
           Kind::F32,
           {Kind::F32},
           [=](uint64_t a, uint64_t, uint64_t, uint64_t) { return bits(flushed(a & 0x7fffffff)); }},
          setup);
    check({"neg.ftz.f32 d, a",
           Kind::F32,
           {Kind::F32},
           [=](uint64_t a, uint64_t, uint64_t, uint64_t) { return bits(flushed(a ^ 0x80000000)); }},
          setup);
    check({".reg .b32 t;\n mul.f32 t, a, a;\n neg.ftz.f32 d, a",
           Kind::F32,
           {Kind::F32},
           [=](uint64_t a, uint64_t, uint64_t, uint64_t) { return bits(flushed(a ^ 0x80000000)); }},
          setup);
  }
  check({"abs.f64 d, a", Kind::F64, {Kind::F64}, [](uint64_t a, uint64_t, uint64_t, uint64_t) {
           return a & 0x7fffffffffffffff;
         }});
  check({"neg.f64 d, a", Kind::F64, {Kind::F64}, [](uint64_t a, uint64_t, uint64_t, uint64_t) {
           return a ^ 0x8000000000000000;
         }});
  check({"copysign.f32 d, a, b",
         Kind::I32,
         {Kind::F32, Kind::F32},
         [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
           return (a & 0x80000000) | (b & 0x7fffffff);
         }});
  check({"copysign.f64 d, a, b",
         Kind::I64,
         {Kind::F64, Kind::F64},
         [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
           return (a & 0x8000000000000000) | (b & 0x7fffffffffffffff);
         }});
}

namespace {
// Patterns of a format ordered as numbers, -0 below +0.
int64_t ordered(uint64_t bits, unsigned width) {
  int64_t value = int64_t(bits << (64 - width)) >> (64 - width);
  return value < 0 ? int64_t(~uint64_t(value) | (1ull << 63)) : value;
}

uint64_t minMax(uint64_t a, uint64_t b, Kind kind, bool isMin, bool keepsNan) {
  bool aNan = isNan(kind, a), bNan = isNan(kind, b);
  uint64_t nan = kind == Kind::F32 ? 0x7fffffff : 0x7ff8000000000000;
  if ((aNan && bNan) || (keepsNan && (aNan || bNan)))
    return nan;
  if (aNan || bNan)
    return aNan ? b : a;
  unsigned width = kind == Kind::F32 ? 32 : 64;
  bool less = ordered(a, width) < ordered(b, width);
  return less == isMin ? a : b;
}
} // namespace

TEST(FloatingPoint, MinMax) {
  for (bool isMin : {false, true})
    for (const char *arch : {"gfx1100"}) {
      std::string name = isMin ? "min" : "max";
      std::vector<Kind> singles = {Kind::F32, Kind::F32};
      Compilation setup = {.arch = arch};
      check({name + ".f32 d, a, b", Kind::F32, singles,
             [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
               return minMax(a, b, Kind::F32, isMin, false);
             }},
            setup);
      check({name + ".NaN.f32 d, a, b", Kind::F32, singles,
             [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
               return minMax(a, b, Kind::F32, isMin, true);
             }},
            setup);
      check({name + ".ftz.f32 d, a, b", Kind::F32, singles,
             [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
               return minMax(flushed(a), flushed(b), Kind::F32, isMin, false);
             }},
            setup);
      check({".reg .b32 t;\n add.f32 t, a, a;\n " + name + ".ftz.NaN.f32 d, a, b", Kind::F32,
             singles,
             [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
               return minMax(flushed(a), flushed(b), Kind::F32, isMin, true);
             }},
            setup);
      check({name + ".xorsign.abs.f32 d, a, b", Kind::F32, singles,
             [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
               uint64_t magnitude = minMax(a & 0x7fffffff, b & 0x7fffffff, Kind::F32, isMin, false);
               return magnitude ^ ((a ^ b) & 0x80000000);
             }},
            setup);
      check({name + ".f64 d, a, b",
             Kind::F64,
             {Kind::F64, Kind::F64},
             [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
               return minMax(a, b, Kind::F64, isMin, false);
             }},
            setup);
    }
}

TEST(FloatingPoint, CanonicalNan) {
  Compilation setup = {.nan = rubia::settings::NanMode::Canonical};
  auto canonical = [](float value) { return value == value ? bitsOf(value) : 0x7fffffff; };
  check({"add.rz.f32 d, a, b",
         Kind::F32,
         {Kind::F32, Kind::F32},
         [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
           HostMode mode(FE_TOWARDZERO);
           return canonical(opaque(opaque(f32(a)) + opaque(f32(b))));
         }},
        setup);
  check({"div.rn.f32 d, a, b",
         Kind::F32,
         {Kind::F32, Kind::F32},
         [=](uint64_t a, uint64_t b, uint64_t, uint64_t) { return canonical(f32(a) / f32(b)); }},
        setup);
  check({"sqrt.rn.f32 d, a",
         Kind::F32,
         {Kind::F32},
         [=](uint64_t a, uint64_t, uint64_t, uint64_t) { return canonical(std::sqrt(f32(a))); }},
        setup);
  check({"min.f32 d, a, b",
         Kind::F32,
         {Kind::F32, Kind::F32},
         [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
           return minMax(a, b, Kind::F32, true, false);
         }},
        setup);
}

TEST(FloatingPoint, Testp) {
  for (Kind kind : {Kind::F32, Kind::F64}) {
    uint64_t magnitudeMask = kind == Kind::F32 ? 0x7fffffff : 0x7fffffffffffffff;
    uint64_t infinity = kind == Kind::F32 ? 0x7f800000 : 0x7ff0000000000000;
    uint64_t normal = kind == Kind::F32 ? 0x00800000 : 0x0010000000000000;
    auto test = [&](const std::string &name, auto holds) {
      check({"testp." + name + (kind == Kind::F32 ? ".f32" : ".f64") + " d, a",
             Kind::Pred,
             {kind},
             [=](uint64_t a, uint64_t, uint64_t, uint64_t) -> uint64_t {
               return holds(a & magnitudeMask);
             }});
    };
    test("finite", [=](uint64_t m) { return m < infinity; });
    test("infinite", [=](uint64_t m) { return m == infinity; });
    test("number", [=](uint64_t m) { return m <= infinity; });
    test("notanumber", [=](uint64_t m) { return m > infinity; });
    test("normal", [=](uint64_t m) { return m == 0 || (m >= normal && m < infinity); });
    test("subnormal", [=](uint64_t m) { return m != 0 && m < normal; });
  }
}

// Operations with a rounding are never fused. Those without one are where NVIDIA's compiler fuses
// them (numerics.md); LLVM fuses nothing by itself.
TEST(FloatingPoint, ContractsOnlyWhereNoRoundingIsGiven) {
  const std::vector<Kind> sources = {Kind::F32, Kind::F32, Kind::F32};
  auto twice = [](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
    return bitsOf(opaque(opaque(f32(a) * f32(b)) + f32(c)));
  };
  for (const char *body :
       {"mul.rn.f32 t, a, b;\n add.f32 d, t, c", "mul.f32 t, a, b;\n add.rn.f32 d, t, c",
        "mul.rn.f32 t, a, b;\n add.rn.f32 d, t, c"})
    check({std::string(".reg .b32 t;\n ") + body, Kind::F32, sources, twice});
  check({".reg .b32 t;\n mul.f32 t, a, b;\n add.f32 d, t, c", Kind::F32, sources,
         [](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
           return bitsOf(std::fma(f32(a), f32(b), f32(c)));
         }});
}
