// SPDX-License-Identifier: Apache-2.0
// Signs of zeros that LLVM 22.1 gets wrong (docs/errata.md): each test fails without the
// work-around.
#include "tests/Targets.h"
#include "tests/lowering/arithmetic/Harness.h"
#include <bit>
#include <functional>
#include <tuple>

using namespace rubia::lowering::test;

namespace {

template <class Number, class Bits> uint64_t ofBits(uint64_t a, uint64_t b, auto compute) {
  return std::bit_cast<Bits>(
      Number(compute(std::bit_cast<Number>(Bits(a)), std::bit_cast<Number>(Bits(b)))));
}

struct Type {
  const char *name, *bits;
  Kind kind;
  uint64_t one, minusZero;
};

constexpr Type kTypes[] = {{"f32", "b32", Kind::F32, 0x3f800000, 0x80000000},
                           {"f16", "b16", Kind::F16, 0x3c00, 0x8000},
                           {"f64", "b64", Kind::F64, 0x3ff0000000000000, 1ull << 63}};

} // namespace

// 0 - x was a negation where another instruction took it: -0, of 0.
TEST(Zeros, ZeroMinusZeroHasNoSign) {
  struct Way {
    const char *difference; // t of 0 - a
    const char *what;       // d of t and b
    std::function<float(float, float)> reference;
  };
  const auto product = [](float a, float b) { return (0 - a) * b; };
  const auto sum = [](float a, float b) { return (0 - a) + b; };
  const Way ways[] = {
      {"sub.rn.TYPE t, zero, a", "mul.rn.TYPE d, t, b", product},
      {"sub.rn.TYPE t, zero, a", "add.rn.TYPE d, t, b", sum},
      {"sub.rn.TYPE t, zero, a", "fma.rn.TYPE d, t, b, t",
       [](float a, float b) { return (0 - a) * b + (0 - a); }},
      {"neg.TYPE t, a;\n add.rn.TYPE t, t, zero", "mul.rn.TYPE d, t, b", product},
      {"neg.TYPE t, a;\n add.rn.TYPE t, zero, t", "add.rn.TYPE d, b, t", sum},
      {"sub.rn.TYPE u, b, a;\n neg.TYPE t, u;\n add.rn.TYPE t, t, zero", "mul.rn.TYPE d, t, b",
       [](float a, float b) { return (0 - (b - a)) * b; }},
      {"neg.TYPE u, one;\n fma.rn.TYPE t, a, u, zero", "mul.rn.TYPE d, t, b", product},
      {"neg.TYPE t, a;\n mul.rn.TYPE t, t, b;\n add.rn.TYPE t, t, zero", "mul.rn.TYPE d, t, b",
       [](float a, float b) { return (0 - a * b) * b; }},
  };
  const auto replaced = [](std::string text, const std::string &type) {
    for (size_t at; (at = text.find("TYPE")) != std::string::npos;)
      text.replace(at, 4, type);
    return text;
  };
  for (const auto &[type, bits, kind, one, minusZero] : kTypes)
    for (const Way &way : ways) {
      const std::string body = ".reg ." + std::string(bits) + " t, u, zero, one;\n mov." + bits +
                               " zero, 0;\n mov." + bits + " one, " + std::to_string(one) + ";\n " +
                               replaced(way.difference, type) + ";\n " + replaced(way.what, type);
      const auto reference = [&, kind = kind](uint64_t a, uint64_t b, uint64_t, uint64_t) {
        return kind == Kind::F16   ? ofBits<_Float16, uint16_t>(a, b, way.reference)
               : kind == Kind::F32 ? ofBits<float, uint32_t>(a, b, way.reference)
                                   : ofBits<double, uint64_t>(a, b, way.reference);
      };
      const std::vector<Operands> tuples = {
          {{0, one}},       {{minusZero, one}},       {{0, minusZero}},   {{0, 0}},
          {{minusZero, 0}}, {{minusZero, minusZero}}, {{one, minusZero}}, {{one, one}}};
      for (const char *arch : rubia::test::testTargets())
        for (unsigned level : {0u, 3u})
          check({body, kind, {kind, kind}, reference}, tuples, {.arch = arch, .optLevel = level});
    }
}

// The same of two at once, and on the way to another type.
TEST(Zeros, ZerosMinusZerosHaveNoSign) {
  const auto pair = [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
    const auto product = [](float a, float b) { return (0 - a) * b; };
    return ofBits<float, uint32_t>(a, b, product) | ofBits<float, uint32_t>(b, a, product) << 32;
  };
  const auto narrow = [](uint64_t a, uint64_t, uint64_t, uint64_t) -> uint64_t {
    return (a & 0x7fffffff ? uint32_t(a) ^ 0x80000000 : 0) >> 16;
  };
  const std::vector<Operands> tuples = {
      {{0, 0x3f800000}}, {{0x3f800000, 0}}, {{0x80000000, 0x3f800000}}, {{0, 0}}};
  for (const char *arch : rubia::test::testTargets()) {
    check({".reg .b32 t, u, v, w;\n mov.b32 w, 0;\n sub.rn.f32 t, w, a;\n sub.rn.f32 u, w, b;\n"
           " mul.rn.f32 t, t, b;\n mul.rn.f32 u, u, a;\n mov.b64 d, {t, u}",
           Kind::I64,
           {Kind::F32, Kind::F32},
           pair},
          tuples, {.arch = arch});
    check({".reg .b32 t, w;\n mov.b32 w, 0;\n sub.rn.f32 t, w, a;\n cvt.rn.bf16.f32 d, t",
           Kind::BF16,
           {Kind::F32},
           narrow},
          tuples, {.arch = arch});
  }
}

// x < 0 ? x : 0 was a minimum: -0 of x = -0, where the comparison is false. Products by 1 keep it
// from being a choice of integers, and a second choice the comparison from being inverted.
TEST(Zeros, ChoicesOfZeros) {
  for (const auto &[type, bits, kind, one, minusZero] : kTypes)
    for (const std::string comparison : {"lt", "gt", "ltu", "gtu", "le", "geu"})
      for (const bool isMinus : {false, true})
        for (const bool isLeft : {true, false})
          for (const bool choosesNumber : {true, false}) {
            const std::string body =
                ".reg ." + std::string(bits) + " zero, t, u;\n .reg .pred p;\n mov." + bits +
                " zero, " + std::to_string(isMinus ? minusZero : 0) + ";\n setp." + comparison +
                "." + type + (isLeft ? " p, a, zero;\n" : " p, zero, a;\n") + " selp." + bits +
                (choosesNumber ? " t, a, zero, p;\n" : " t, zero, a, p;\n") + " selp." + bits +
                " u, b, c, p;\n mul.rn." + type + " d, t, u";
            const auto reference = [=, minusZero = minusZero](uint64_t a, uint64_t, uint64_t,
                                                              uint64_t) {
              const int sign = a == 0 || a == minusZero ? 0 : a & minusZero ? -1 : 1;
              const int side = isLeft ? sign : -sign; // less than 0, or more
              const bool isTrue = (comparison[0] == 'l' && side < 0) ||
                                  (comparison[0] == 'g' && side > 0) ||
                                  (comparison[1] == 'e' && side == 0);
              return isTrue == choosesNumber ? a : isMinus ? minusZero : 0;
            };
            const std::vector<Operands> tuples = {{{0, one, one}},
                                                  {{minusZero, one, one}},
                                                  {{one, one, one}},
                                                  {{one | minusZero, one, one}}};
            for (const char *arch : rubia::test::testTargets())
              check({body, kind, {kind, kind, kind}, reference}, tuples, {.arch = arch});
          }
}

// The minimum of -0 and the maximum of x and 0 was the middle of the three. The product makes -0 a
// constant that is used twice, as such instructions take one.
TEST(Zeros, BoundsThatAreZeros) {
  for (const auto &[type, bits, kind, one, minusZero] : kTypes)
    for (const bool isMinimumFirst : {false, true}) {
      const std::string first = isMinimumFirst ? "min." : "max.",
                        second = isMinimumFirst ? "max." : "min.";
      const std::string body = ".reg ." + std::string(bits) + " t, z, m;\n mov." + bits +
                               " z, 0;\n mov." + bits + " m, " + std::to_string(minusZero) +
                               ";\n mul.rn." + type + " t, a, m;\n " + first + type + " t, t, " +
                               (isMinimumFirst ? "m" : "z") + ";\n " + second + type + " d, t, " +
                               (isMinimumFirst ? "z" : "m");
      const uint64_t expected = isMinimumFirst ? 0 : minusZero;
      const std::vector<Operands> tuples = {{{0}}, {{minusZero}}, {{one}}, {{one | minusZero}}};
      for (const char *arch : rubia::test::testTargets())
        check(
            {body, kind, {kind}, [=](uint64_t, uint64_t, uint64_t, uint64_t) { return expected; }},
            tuples, {.arch = arch});
    }
}

// The middle of x, -1 and 0 is 0 for -0 too, where a minimum gives -0. Selection makes one of the
// second of these, with all signs changed.
TEST(Zeros, OneBoundThatIsZero) {
  for (const auto &[type, bits, kind, one, minusZero] : kTypes) {
    const std::string type_ = type; // for the lambda
    const std::string begin = ".reg ." + std::string(bits) + " t, z, m, one, minus;\n mov." + bits +
                              " z, 0;\n mov." + bits + " m, " + std::to_string(minusZero) +
                              ";\n mov." + bits + " one, " + std::to_string(one) + ";\n mov." +
                              bits + " minus, " + std::to_string(one | minusZero);
    const auto call = [&](const char *name, const char *operands) {
      return ";\n " + std::string(name) + "." + type_ + " " + operands;
    };
    const auto clampedBelow = [=, one = one, minusZero = minusZero](uint64_t a, uint64_t, uint64_t,
                                                                    uint64_t) -> uint64_t {
      return a == (one | minusZero) || a == minusZero ? a : 0;
    };
    const auto minusClamped = [=, one = one, minusZero = minusZero](uint64_t a, uint64_t, uint64_t,
                                                                    uint64_t) {
      return minusZero | (a == one ? one : 0);
    };
    const std::vector<Operands> tuples = {{{0}}, {{minusZero}}, {{one}}, {{one | minusZero}}};
    for (const char *arch : rubia::test::testTargets()) {
      check(
          {begin + call("max", "t, a, minus") + call("min", "d, t, z"), kind, {kind}, clampedBelow},
          tuples, {.arch = arch});
      check(
          {begin + call("min", "t, a, z") + call("max", "d, t, minus"), kind, {kind}, clampedBelow},
          tuples, {.arch = arch});
      check({begin + call("max", "t, a, z") + call("min", "t, t, one") + call("max", "t, t, m") +
                 call("neg", "d, t"),
             kind,
             {kind},
             minusClamped},
            tuples, {.arch = arch});
    }
  }
}

// Selection takes vectors apart, and then sees constants in pairs.
TEST(Zeros, ElementsOfPairs) {
  const auto minusUpper = [](uint64_t a, uint64_t, uint64_t, uint64_t) {
    return 0x80000000 | (a & 0x80000000) >> 16;
  };
  const auto minusLower = [](uint64_t a, uint64_t, uint64_t, uint64_t) {
    return 0x8000 | (a & 0x80000000);
  };
  const std::vector<Operands> floats = {{{0}}, {{0x80000000}}};
  const std::string minusZero = ".reg .b32 t, m, z;\n mov.b32 z, 0;\n mov.b32 m, 0x80000000;\n ";
  for (const char *arch : rubia::test::testTargets())
    for (const std::string type : {"f16x2", "bf16x2"}) {
      for (const std::string what : {"add.rn.", "mul.rn."}) {
        const std::string other = what == "add.rn." ? "t" : "one";
        const std::string one = std::string(" .reg .b32 one;\n mov.b32 one, ") +
                                (type == "f16x2" ? "0x3c003c00" : "0x3f803f80") + ";\n ";
        check({minusZero + one + "cvt.rn." + type + ".f32 t, m, a;\n " + what + type + " d, t, " +
                   other,
               Kind::I32,
               {Kind::F32},
               minusUpper},
              floats, {.arch = arch});
        check({minusZero + one + "cvt.rn." + type + ".f32 t, a, m;\n " + what + type + " d, t, " +
                   other,
               Kind::I32,
               {Kind::F32},
               minusLower},
              floats, {.arch = arch});
      }
    }
  // Of a choice that gives the same for either.
  const auto ofChoice = [](uint64_t a, uint64_t, uint64_t, uint64_t) {
    return 0x80000000 | (a & 0x8000 ? 0 : 0x3c00);
  };
  for (const char *arch : rubia::test::testTargets())
    check({".reg .b32 s, t, z;\n mov.b32 z, 0;\n set.ge.f16x2.f16x2 s, a, z;\n mov.b32 t, "
           "0x80003c00;\n min.NaN.f16x2 t, t, s;\n fma.rn.f16x2 d, t, z, t",
           Kind::I32,
           {Kind::I32},
           ofChoice},
          {{{0x3c003c00}}, {{0xbc00bc00}}, {{0x3c00bc00}}}, {.arch = arch});
}

// A clamped -0 stayed -0 where known bits made the number a constant.
TEST(Zeros, ClampedConstants) {
  for (const char *arch : rubia::test::testTargets())
    for (unsigned level : {0u, 3u})
      check({".reg .b32 r;\n .reg .b16 h, x, minus, zero;\n .reg .pred p;\n shr.u32 r, a, 1;\n"
             " and.b32 r, r, 1;\n cvt.u16.u32 h, r;\n shl.b16 x, h, 15;\n abs.f16 x, x;\n"
             " cvt.rzi.f16.f16 x, x;\n mov.b16 zero, 0;\n setp.neu.f16 p, zero, b;\n"
             " mov.b16 minus, 0xbc00;\n mul.rn.ftz.sat.f16 x, x, minus;\n"
             " selp.b16 d, x, zero, p",
             Kind::F16,
             {Kind::I32, Kind::F16},
             [](uint64_t, uint64_t, uint64_t, uint64_t) { return 0; }},
            {{{0, 0x3c00}}, {{2, 0x3c00}}, {{2, 0}}}, {.arch = arch, .optLevel = level});
}
