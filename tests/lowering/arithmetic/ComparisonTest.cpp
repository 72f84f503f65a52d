// SPDX-License-Identifier: Apache-2.0
// PTX ISA: comparison-and-selection-instructions.
#include "tests/lowering/arithmetic/Harness.h"
#include <bit>
#include <cmath>

using namespace rubia::lowering::test;

namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode

static float f32(uint64_t bits) { return std::bit_cast<float>(uint32_t(bits)); }
static double f64(uint64_t bits) { return std::bit_cast<double>(bits); }
static uint64_t flushed(uint64_t bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }

static Kind kindOf(unsigned bits) {
  return bits == 16 ? Kind::I16 : bits == 32 ? Kind::I32 : Kind::I64;
}

static bool compareIntegers(const std::string &op, __int128 a, __int128 b) {
  if (op == "eq")
    return a == b;
  if (op == "ne")
    return a != b;
  if (op == "lt" || op == "lo")
    return a < b;
  if (op == "le" || op == "ls")
    return a <= b;
  if (op == "gt" || op == "hi")
    return a > b;
  return a >= b;
}

static bool compareFloats(const std::string &op, double a, double b) {
  bool unordered = std::isnan(a) || std::isnan(b);
  if (op == "num")
    return !unordered;
  if (op == "nan")
    return unordered;
  if (op.size() == 3)
    return unordered || compareIntegers(op.substr(0, 2), a > b ? 1 : a < b ? -1 : 0, 0);
  return !unordered && compareIntegers(op, a > b ? 1 : a < b ? -1 : 0, 0);
}

TEST(Comparison, SetpOfIntegers) {
  for (unsigned bits : {16u, 32u, 64u})
    for (const char *sign : {"b", "u", "s"}) {
      std::vector<std::string> ops = {"eq", "ne"};
      if (*sign != 'b')
        ops.insert(ops.end(), {"lt", "le", "gt", "ge"});
      if (*sign == 'u')
        ops.insert(ops.end(), {"lo", "ls", "hi", "hs"});
      for (const std::string &op : ops) {
        if (bits != 32 && (op == "ge" || op == "ls" || op == "gt"))
          continue; // the rest is the same code
        Kind k = kindOf(bits);
        check({"setp." + op + "." + sign + std::to_string(bits) + " d, a, b",
               Kind::Pred,
               {k, k},
               [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
                 if (*sign == 's')
                   return compareIntegers(op, int64_t(a << (64 - bits)) >> (64 - bits),
                                          int64_t(b << (64 - bits)) >> (64 - bits));
                 return compareIntegers(op, a, b);
               }});
      }
    }
}

TEST(Comparison, SetpOfFloats) {
  for (const char *op : {"eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu",
                         "geu", "num", "nan"}) {
    std::string name = std::string("setp.") + op;
    check({name + ".f32 d, a, b",
           Kind::Pred,
           {Kind::F32, Kind::F32},
           [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
             return compareFloats(op, f32(a), f32(b));
           }});
    check({name + ".ftz.f32 d, a, b",
           Kind::Pred,
           {Kind::F32, Kind::F32},
           [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
             return compareFloats(op, f32(flushed(a)), f32(flushed(b)));
           }});
    check({name + ".f64 d, a, b",
           Kind::Pred,
           {Kind::F64, Kind::F64},
           [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
             return compareFloats(op, f64(a), f64(b));
           }});
  }
}

// .ftz in a kernel that also has an instruction without it: the mode keeps denormals.
TEST(Comparison, FlushingInAKernelThatKeepsDenormals) {
  check({".reg .b32 t;\n add.f32 t, a, b;\n setp.lt.ftz.f32 d, a, b",
         Kind::Pred,
         {Kind::F32, Kind::F32},
         [](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
           return f32(flushed(a)) < f32(flushed(b));
         }});
}

TEST(Comparison, SetpCombinesAndComplements) {
  struct Boolean {
    const char *name;
    bool (*apply)(bool, bool);
  };
  for (const Boolean &boolean : {Boolean{"and", [](bool x, bool y) { return x && y; }},
                                 Boolean{"or", [](bool x, bool y) { return x || y; }},
                                 Boolean{"xor", [](bool x, bool y) { return x != y; }}})
    for (bool negated : {false, true}) {
      std::string predicate = negated ? "!c" : "c";
      check({std::string(".reg .pred p, q;\n .reg .b32 x, y;\n setp.lt.") + boolean.name +
                 ".s32 p|q, a, b, " + predicate +
                 ";\n selp.b32 x, 1, 0, p;\n selp.b32 y, 2, 0, q;\n or.b32 d, x, y",
             Kind::I32,
             {Kind::I32, Kind::I32, Kind::Pred},
             [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) -> uint64_t {
               bool less = int32_t(a) < int32_t(b), third = bool(c) != negated;
               return boolean.apply(less, third) | boolean.apply(!less, third) << 1;
             }});
    }
  check({".reg .pred p, q;\n .reg .b32 x, y;\n setp.gtu.f32 p|q, a, b;\n selp.b32 x, 1, 0, p;\n"
         " selp.b32 y, 2, 0, q;\n or.b32 d, x, y",
         Kind::I32,
         {Kind::F32, Kind::F32},
         [](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
           return !(f32(a) <= f32(b)) ? 1 : 2;
         }});
}

TEST(Comparison, Set) {
  check({"set.lt.u32.s32 d, a, b",
         Kind::I32,
         {Kind::I32, Kind::I32},
         [](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
           return int32_t(a) < int32_t(b) ? 0xffffffff : 0;
         }});
  check({"set.hi.f32.u64 d, a, b",
         Kind::F32,
         {Kind::I64, Kind::I64},
         [](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
           return a > b ? 0x3f800000 : 0;
         }});
  check({"set.neu.and.s32.f64 d, a, b, c",
         Kind::I32,
         {Kind::F64, Kind::F64, Kind::Pred},
         [](uint64_t a, uint64_t b, uint64_t c, uint64_t) -> uint64_t {
           return !(f64(a) == f64(b)) && c ? 0xffffffff : 0;
         }});
  check({"set.eq.ftz.f32.f32 d, a, b",
         Kind::F32,
         {Kind::F32, Kind::F32},
         [](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
           return f32(flushed(a)) == f32(flushed(b)) ? 0x3f800000 : 0;
         }});
}

TEST(Comparison, SelpKeepsBits) {
  for (Kind kind : {Kind::I16, Kind::I32, Kind::I64, Kind::F32, Kind::F64}) {
    std::string type = kind == Kind::F32   ? "f32"
                       : kind == Kind::F64 ? "f64"
                                           : "b" + std::to_string(bitsOf(kind));
    check({"selp." + type + " d, a, b, c",
           kind,
           {kind, kind, Kind::Pred},
           [](uint64_t a, uint64_t b, uint64_t c, uint64_t) { return c ? a : b; }},
          {.nan = rubia::settings::NanMode::Canonical}); // so that NaN bits are compared
  }
}

TEST(Comparison, SlctTakesMinusZeroAsPositive) {
  check({"slct.s32.s32 d, a, b, c",
         Kind::I32,
         {Kind::I32, Kind::I32, Kind::I32},
         [](uint64_t a, uint64_t b, uint64_t c, uint64_t) { return int32_t(c) >= 0 ? a : b; }});
  check({"slct.u64.f32 d, a, b, c",
         Kind::I64,
         {Kind::I64, Kind::I64, Kind::F32},
         [](uint64_t a, uint64_t b, uint64_t c, uint64_t) { return f32(c) >= 0 ? a : b; }});
  check(
      {"slct.ftz.f32.f32 d, a, b, c",
       Kind::I32,
       {Kind::I32, Kind::I32, Kind::F32},
       [](uint64_t a, uint64_t b, uint64_t c, uint64_t) { return f32(flushed(c)) >= 0 ? a : b; }});
}
