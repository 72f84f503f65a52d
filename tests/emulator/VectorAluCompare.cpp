// SPDX-License-Identifier: Apache-2.0
// Compares. The low four bits of a float compare's opcode are the set of outcomes that make it true
// (RDNA3 ISA "VOPC instructions"): 1 less, 2 equal, 4 greater, 8 unordered; three of them for
// integers. That gives the expectations for all rows.
#include "tests/emulator/VectorAluCase.h"

#include <gtest/gtest.h>

namespace rubia::emulator::test {

namespace {
struct Operands {
  uint64_t a, b;
  unsigned outcome;
};
} // namespace

static void addFloats(std::vector<Case> &cases, const std::string &type, uint64_t one, uint64_t two,
                      uint64_t sign, uint64_t infinity, uint64_t nan) {
  const char *kConditions[] = {"F", "LT",  "EQ",  "LE",  "GT",  "LG",  "GE",  "O",
                               "U", "NGE", "NLG", "NGT", "NLE", "NEQ", "NLT", "TRU"};
  const Operands kOperands[] = {{one, two, 1}, {one | sign, one, 1}, {infinity | sign, infinity, 1},
                                {one, one, 2}, {0, sign, 2},         {infinity, infinity, 2},
                                {two, one, 4}, {1, sign | 1, 4},     {nan, one, 8},
                                {one, nan, 8}, {nan, nan, 8}};
  for (unsigned set = 0; set < 16; ++set)
    for (const Operands &o : kOperands)
      cases.push_back({"V_CMP_" + std::string(kConditions[set]) + "_" + type,
                       {o.a, o.b},
                       (set & o.outcome) != 0});
}

static void addIntegers(std::vector<Case> &cases, const std::string &type, unsigned width) {
  const char *kConditions[] = {"F", "LT", "EQ", "LE", "GT", "NE", "GE", "T"};
  uint64_t all = width == 64 ? ~uint64_t(0) : (uint64_t(1) << width) - 1;
  uint64_t top = uint64_t(1) << (width - 1);
  bool isSigned = type[0] == 'I';
  const Operands kOperands[] = {{1, 2, 1},
                                {2, 1, 4},
                                {5, 5, 2},
                                {all, 0, isSigned ? 1u : 4u},
                                {top, top - 1, isSigned ? 1u : 4u},
                                {0, top, isSigned ? 4u : 1u},
                                {top, top, 2}};
  for (unsigned set = 0; set < 8; ++set)
    for (const Operands &o : kOperands)
      cases.push_back({"V_CMP_" + std::string(kConditions[set]) + "_" + type,
                       {o.a, o.b},
                       (set & o.outcome) != 0});
}

/// One value of each of the ten classes, in the order of the mask's bits.
static void addClasses(std::vector<Case> &cases, const std::string &type,
                       const std::vector<uint64_t> &values) {
  for (unsigned n = 0; n < values.size(); ++n) {
    cases.push_back({"V_CMP_CLASS_" + type, {values[n], 1u << n}, 1});
    cases.push_back({"V_CMP_CLASS_" + type, {values[n], 0x3ff ^ 1u << n}, 0});
  }
}

std::vector<Case> compareCases() {
  std::vector<Case> cases;
  addFloats(cases, "F32", f(1), f(2), 0x80000000, f(kInf), kNanF);
  addFloats(cases, "F64", d(1), d(2), uint64_t(1) << 63, d(kInfD), kNanD);
  addFloats(cases, "F16", h(1), h(2), 0x8000, h(kInf), kNanH);
  for (unsigned width : {16, 32, 64})
    for (const char *prefix : {"I", "U"})
      addIntegers(cases, prefix + std::to_string(width), width);
  addClasses(cases, "F32",
             {kSnanF, kNanF | 0x80000000, f(-kInf), f(-0x1p-126f), f(-0x1p-127f), f(-0.0f), f(0),
              f(0x1p-149f), f(1), f(kInf)});
  addClasses(cases, "F64",
             {kSnanD, kNanD, d(-kInfD), d(-1), d(-0x1p-1074), d(-0.0), d(0), d(0x1p-1023),
              d(0x1p-1022), d(kInfD)});
  addClasses(cases, "F16",
             {kSnanH, kNanH, h(-kInf), h(-1), h(-0x1p-24f), h(-0.0f), h(0), h(0x1p-15f),
              h(0x1p-14f), h(kInf)});
  return cases;
}

TEST(VectorAluCompare, Cases) { check(compareCases()); }

} // namespace rubia::emulator::test
