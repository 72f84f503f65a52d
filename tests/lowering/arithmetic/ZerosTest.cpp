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
