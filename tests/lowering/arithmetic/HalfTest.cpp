// SPDX-License-Identifier: Apache-2.0
// f16, bf16, packed and mixed-precision instructions against the reference evaluator, every bit of
// the results with --nan=canonical. For the forms that a golden recording has, see tests/golden;
// those of sm_100 are in no recording.
#include "reference/Reference.h"
#include "tests/Targets.h"
#include "tests/lowering/arithmetic/Harness.h"
#include <algorithm>
#include <random>

using namespace rubia;
using namespace rubia::lowering::test;

namespace rubia::settings::NanMode {
extern const Word Any, Canonical;
} // namespace rubia::settings::NanMode

namespace {

unsigned halfBits(Kind kind) {
  return kind == Kind::F32x2 ? 32 : kind == Kind::F16x2 || kind == Kind::BF16x2 ? 16 : 0;
}

// Exact arithmetic is slow.
std::vector<Operands> thinned(std::vector<Operands> tuples) {
  size_t stride = tuples.size() / 1500 | 1, count = 0;
  for (size_t i = 0; i < tuples.size(); i += stride)
    tuples[count++] = tuples[i];
  tuples.resize(count);
  return tuples;
}

// AMD's hardware may keep what rounds up to 2^-126 where NVIDIA's flushes it
// (docs/hardware-assumptions.md).
bool isRoundedUpToNormal(uint64_t got, uint64_t expected) {
  return (got & 0x7fffffff) == 0x00800000 && expected == (got & 0x80000000);
}

// `statement` computes d from a, b, c; by default it is the instruction with these operands. Packed
// operands are tested on an Instinct, all others on a Radeon.
void checkAgainstReference(const std::string &mnemonic, Kind result, std::vector<Kind> sources,
                           std::string statement = "", std::string arch = "",
                           std::vector<Operands> tuples = {}) {
  bool isMinMax = mnemonic.starts_with("min") || mnemonic.starts_with("max");
  auto found = reference::referenceFor(mnemonic + (sources.size() == 3 && isMinMax ? ".3" : ""));
  ASSERT_TRUE(bool(found)) << toString(found.takeError());
  reference::Reference reference = *found;
  if (statement.empty()) {
    statement = mnemonic + " d";
    for (unsigned n = 0; n < sources.size(); ++n)
      statement += std::string(", ") + "abc"[n];
  }
  auto evaluate = [reference](uint64_t a, uint64_t b, uint64_t c) {
    reference::ReferenceInputs inputs;
    inputs.source = {a, b, c, 0, 0};
    return reference(inputs);
  };
  unsigned elementBits = halfBits(result) ? halfBits(result) : bitsOf(result);
  uint64_t mask = bitsOf(result) == 64 ? ~0ull : (1ull << bitsOf(result)) - 1;
  uint64_t elementMask = elementBits == 64 ? ~0ull : (1ull << elementBits) - 1;
  bool pairOfPredicates = mnemonic.starts_with("setp") && halfBits(sources[0]) != 0;
  Case test = {statement, result, sources, [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
                 reference::ReferenceOutput output = evaluate(a, b, c);
                 if (output.bounds[0] || output.bounds[1])
                   return ~uint64_t(0); // `accept` decides
                 return (output.bits & mask) | (pairOfPredicates ? output.second << 1 : 0);
               }};
  Accept accept = [=](uint64_t got, uint64_t expected, uint64_t a, uint64_t b) {
    reference::ReferenceOutput output =
        evaluate(a, b, 0); // approximate instructions have no third one
    if (output.bounds[0] || output.bounds[1])
      expected = output.bits;
    for (unsigned at = 0; at < bitsOf(result); at += elementBits) {
      uint64_t x = got >> at & elementMask, y = expected >> at & elementMask;
      const auto &bound = output.bounds[at ? 1 : 0];
      bool isRight = bound ? reference::errorFraction(*bound, x) <= 1
                           : x == y || (elementBits == 32 && isRoundedUpToNormal(x, y));
      if (!isRight)
        return false;
    }
    return true;
  };
  bool isInexact = mnemonic.find("approx") != std::string::npos || result == Kind::F32x2;
  if (arch.empty())
    arch = halfBits(sources[0]) ? "gfx942" : "gfx1100";
  if (tuples.empty())
    tuples = thinned(operandsFor(sources));
  check(test, tuples, {.arch = arch, .nan = settings::NanMode::Canonical},
        isInexact ? &accept : nullptr);
}

struct Format {
  const char *name;
  Kind kind;
};
constexpr Format kFormats[] = {
    {"f16", Kind::F16}, {"f16x2", Kind::F16x2}, {"bf16", Kind::BF16}, {"bf16x2", Kind::BF16x2}};
bool isF16(const Format &format) { return format.name[0] == 'f'; }

// All of `modifiers` on each half format; those with .ftz and .sat are f16's alone.
void checkHalves(const std::string &op, std::vector<std::string> modifiers, unsigned sources) {
  for (const Format &format : kFormats)
    for (const std::string &modifier : modifiers) {
      bool onlyF16 =
          modifier.find(".ftz") != std::string::npos || modifier.find(".sat") != std::string::npos;
      if (!onlyF16 || isF16(format))
        checkAgainstReference(op + modifier + "." + format.name, format.kind,
                              std::vector<Kind>(sources, format.kind));
    }
}

} // namespace

TEST(HalfPrecision, AddSubMul) {
  for (const char *op : {"add", "sub", "mul"})
    checkHalves(op, {"", ".rn.ftz", ".sat", ".ftz.sat"}, 2);
}

TEST(HalfPrecision, Fma) {
  checkHalves("fma.rn", {"", ".ftz", ".sat", ".ftz.sat", ".relu", ".ftz.relu", ".oob", ".oob.relu"},
              3);
}

// Products and summands for which an f32 fma that is rounded to nearest, and then to bf16, is
// wrong: the f32 result is halfway between two bf16 numbers, the exact one is not.
TEST(HalfPrecision, Bf16FmaIsRoundedOnce) {
  auto reference = reference::referenceFor("fma.rn.bf16");
  ASSERT_TRUE(bool(reference)) << toString(reference.takeError());
  std::vector<Operands> tuples;
  for (uint64_t a = 0x3f80; a < 0x4000; ++a)
    for (uint64_t c : {0x2f80, 0xaf80, 0x0001, 0x8001, 0x0080, 0x8080, 0x3000, 0xb000})
      tuples.push_back({{a, 0x3f81, c}});
  for (const char *arch : rubia::test::testTargets()) {
    SCOPED_TRACE(arch);
    check({"fma.rn.bf16 d, a, b, c",
           Kind::BF16,
           {Kind::BF16, Kind::BF16, Kind::BF16},
           [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
             reference::ReferenceInputs inputs;
             inputs.source = {a, b, c, 0, 0};
             return (*reference)(inputs).bits;
           }},
          tuples, {.arch = arch});
  }
}

// A zero addend or a factor without a fraction: one f32 fma is enough, also near the least numbers.
TEST(HalfPrecision, Bf16FmaThatIsASumOrAProduct) {
  auto reference = reference::referenceFor("fma.rn.bf16");
  ASSERT_TRUE(bool(reference)) << toString(reference.takeError());
  std::vector<Operands> tuples;
  uint32_t state = 1;
  for (unsigned i = 0; i < 4000; ++i) {
    auto next = [&] { return (state = state * 1664525 + 1013904223) >> 16; };
    const uint64_t near = 0x1f80 + (next() & 0x1ff); // products of two are about 2^-126 to 2^-134
    tuples.push_back({{next(), next()}});
    tuples.push_back({{near, 0x2000 + (next() & 0x7f)}});
    tuples.push_back({{next() & 0x80ff, next() & 0x80ff}});
  }
  for (unsigned place = 0; place < 3; ++place)
    for (uint64_t constant : {0x0000, 0x8000, 0x3f80, 0xbf80, 0x4380, 0x0080, 0x7f00}) {
      if (place == 2 && constant & 0x7fff)
        continue;
      const std::string z = "%z", operands[] = {z + ", a, b", "a, " + z + ", b", "a, b, " + z};
      const std::string instruction = ".reg .b16 %z; mov.b16 %z, " + std::to_string(constant) +
                                      "; fma.rn.bf16 d, " + operands[place];
      auto expected = [&](uint64_t a, uint64_t b, uint64_t, uint64_t) {
        reference::ReferenceInputs inputs;
        inputs.source = {a, b, 0, 0, 0};
        std::copy_backward(inputs.source.begin() + place, inputs.source.begin() + 2,
                           inputs.source.begin() + 3);
        inputs.source[place] = constant;
        return (*reference)(inputs).bits;
      };
      check({instruction, Kind::BF16, {Kind::BF16, Kind::BF16}, expected}, tuples);
      const std::string code =
          emitAssembly(kernelText(instruction + ";", Kind::BF16, {Kind::BF16, Kind::BF16}));
      EXPECT_EQ(code.find("s_setreg"), std::string::npos) << instruction;
      EXPECT_EQ(code.find("s_round_mode"), std::string::npos) << instruction;
    }
}

TEST(HalfPrecision, AbsAndNeg) {
  for (const char *op : {"abs", "neg"})
    checkHalves(op, {"", ".ftz"}, 1);
}

TEST(HalfPrecision, MinMax) {
  for (const char *op : {"min", "max"})
    checkHalves(
        op, {"", ".ftz", ".NaN", ".xorsign.abs", ".NaN.xorsign.abs", ".ftz.NaN.xorsign.abs"}, 2);
}

TEST(HalfPrecision, ApproximateAtEveryOperand) {
  std::vector<Operands> all, pairs;
  for (uint64_t a = 0; a < 0x10000; ++a)
    all.push_back({{a}});
  for (uint64_t a = 0; a < 0x10000; a += 10)
    pairs.push_back({{a << 16 | (a + 1)}});
  for (const Format &format : kFormats) {
    bool isPacked = halfBits(format.kind) != 0;
    for (std::string op : {"tanh.approx.", isF16(format) ? "ex2.approx." : "ex2.approx.ftz."})
      checkAgainstReference(op + format.name, format.kind, {format.kind}, "", "",
                            isPacked ? pairs : all);
  }
}

TEST(HalfPrecision, Setp) {
  for (const char *modifiers : {"eq", "ne", "lt", "geu", "num", "nan", "le.ftz"})
    for (const Format &format : kFormats) {
      if (!isF16(format) && std::string(modifiers).find("ftz") != std::string::npos)
        continue;
      std::string mnemonic = std::string("setp.") + modifiers + "." + format.name;
      bool isPacked = halfBits(format.kind) != 0;
      std::string q = isPacked ? "|q" : "";
      std::string store =
          isPacked ? "selp.b32 d, 1, 0, p;\n @q or.b32 d, d, 2" : "selp.b32 d, 1, 0, p";
      checkAgainstReference(mnemonic, Kind::I32, {format.kind, format.kind},
                            ".reg .pred p, q;\n " + mnemonic + " p" + q + ", a, b;\n " + store);
    }
}

TEST(HalfPrecision, SetpCombined) {
  for (const char *combination : {"and", "or", "xor"})
    for (const char *name : {"f16x2", "bf16x2"}) {
      Kind kind = *name == 'f' ? Kind::F16x2 : Kind::BF16x2;
      std::string mnemonic = std::string("setp.lt.") + combination + "." + name;
      checkAgainstReference(mnemonic, Kind::I32, {kind, kind, Kind::Pred},
                            ".reg .pred p, q;\n " + mnemonic +
                                " p|q, a, b, c;\n selp.b32 d, 1, 0, p;\n @q or.b32 d, d, 2");
    }
}

TEST(HalfPrecision, Set) {
  struct Row {
    const char *mnemonic;
    Kind result, source;
  };
  for (const Row &row :
       std::initializer_list<Row>{{"set.lt.f16.f16", Kind::F16, Kind::F16},
                                  {"set.gtu.ftz.f16.f16", Kind::F16, Kind::F16},
                                  {"set.ge.ftz.f16.f32", Kind::F16, Kind::F32},
                                  {"set.ge.f16.f64", Kind::F16, Kind::F64},
                                  {"set.nan.bf16.bf16", Kind::BF16, Kind::BF16},
                                  {"set.le.bf16.f16", Kind::BF16, Kind::F16},
                                  {"set.le.bf16.f32", Kind::BF16, Kind::F32},
                                  {"set.lt.bf16.s32", Kind::BF16, Kind::I32},
                                  {"set.lt.f16.u16", Kind::F16, Kind::I16},
                                  {"set.eq.f16.b64", Kind::F16, Kind::I64},
                                  {"set.eq.u16.f16", Kind::I16, Kind::F16},
                                  {"set.eq.s32.f16", Kind::I32, Kind::F16},
                                  {"set.ltu.u32.bf16", Kind::I32, Kind::BF16},
                                  {"set.ltu.f16x2.f16x2", Kind::F16x2, Kind::F16x2},
                                  {"set.ne.ftz.f16x2.f16x2", Kind::F16x2, Kind::F16x2},
                                  {"set.eq.u32.f16x2", Kind::I32, Kind::F16x2},
                                  {"set.lt.s32.bf16x2", Kind::I32, Kind::BF16x2},
                                  {"set.num.bf16x2.bf16x2", Kind::BF16x2, Kind::BF16x2}})
    checkAgainstReference(row.mnemonic, row.result, {row.source, row.source});
  checkAgainstReference("set.lt.xor.f16x2.f16x2", Kind::F16x2,
                        {Kind::F16x2, Kind::F16x2, Kind::Pred});
  checkAgainstReference("set.lt.or.u32.bf16x2", Kind::I32,
                        {Kind::BF16x2, Kind::BF16x2, Kind::Pred});
}

// Makes a kernel one that flushes f32 denormals.
const std::string kFlushing = ".reg .f32 t;\n mov.b32 t, %tid.x;\n add.ftz.f32 t, t, t;\n ";

// bf16 is computed in f32, whose denormals the rest of the kernel flushes.
TEST(HalfPrecision, Bf16BesideFlushingF32) {
  for (const Format &format : {kFormats[2], kFormats[3]})
    for (const char *op : {"add", "sub", "mul", "fma.rn", "fma.rn.relu", "min", "max.NaN",
                           "min.NaN.xorsign.abs", "set.lt.bf16", "tanh.approx"}) {
      bool isPacked = halfBits(format.kind) != 0, isSet = *op == 's' && op[1] == 'e';
      std::string mnemonic = std::string(op) + (isSet && isPacked ? "x2." : ".") + format.name;
      unsigned sources = *op == 'f' ? 3 : *op == 't' ? 1 : 2;
      std::string operands = " d";
      for (unsigned n = 0; n < sources; ++n)
        operands += std::string(", ") + "abc"[n];
      checkAgainstReference(mnemonic, format.kind, std::vector<Kind>(sources, format.kind),
                            kFlushing + mnemonic + operands, isPacked ? "gfx950" : "gfx1201");
    }
}

// Random sequences of instructions on four registers: what LLVM makes of several instructions must
// be what they are one by one.
TEST(HalfPrecision, Sequences) {
  struct Step {
    std::string text;
    reference::Reference reference;
    unsigned destination, sources[3];
  };
  const std::vector<std::string> kBoth = {"add",    "sub",     "mul",     "fma.rn",
                                          "neg",    "abs",     "min",     "max",
                                          "fma.rn", "min.NaN", "max.NaN", "fma.rn.relu"};
  const std::vector<std::string> kF16 = {"add.sat", "mul.ftz", "fma.rn.sat", "add.ftz", "mul.sat"};
  const std::vector<const char *> kArchs = rubia::test::testTargets();
  std::mt19937 engine(9);
  auto below = [&](size_t n) { return unsigned(engine() % n); };
  for (unsigned program = 0; program < 24; ++program) {
    const Format &format = kFormats[program % 4];
    const char *names[] = {"a", "b", "c", "d"};
    std::vector<Step> steps;
    std::string body = below(3) == 0 ? kFlushing : "";
    body += "mov.b" + std::to_string(bitsOf(format.kind)) + " d, a";
    for (unsigned n = 0; n < 10; ++n) {
      bool takesF16 = isF16(format) && below(3) == 0;
      std::string op = takesF16 ? kF16[below(kF16.size())] : kBoth[below(kBoth.size())];
      std::string mnemonic = op + "." + format.name;
      auto reference = reference::referenceFor(mnemonic);
      ASSERT_TRUE(bool(reference)) << toString(reference.takeError());
      Step step{"", *reference, n == 9 ? 3 : below(4), {below(4), below(4), below(4)}};
      step.text = mnemonic + " " + names[step.destination];
      unsigned count = op[0] == 'f' ? 3 : op == "neg" || op == "abs" ? 1 : 2;
      for (unsigned i = 0; i < count; ++i)
        step.text += std::string(", ") + names[step.sources[i]];
      body += ";\n " + step.text;
      steps.push_back(std::move(step));
    }
    Case test = {body,
                 format.kind,
                 {format.kind, format.kind, format.kind},
                 [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
                   uint64_t registers[] = {a, b, c, a};
                   for (const Step &step : steps) {
                     reference::ReferenceInputs inputs;
                     for (unsigned i = 0; i < 3; ++i)
                       inputs.source[i] = registers[step.sources[i]];
                     registers[step.destination] = step.reference(inputs).bits;
                   }
                   return registers[3];
                 }};
    bool isPacked = halfBits(format.kind) != 0;
    bool isCanonical = isPacked || program % 8 < 4;
    std::vector<Operands> tuples = operandsFor(test.sources);
    std::vector<Operands> few;
    for (size_t i = program; i < tuples.size(); i += 29)
      few.push_back(tuples[i]);
    SCOPED_TRACE(kArchs[program % kArchs.size()]);
    check(test, few,
          {.arch = kArchs[program % kArchs.size()],
           .optLevel = below(4) == 0 ? 0u : 3u,
           .nan = isCanonical ? settings::NanMode::Canonical : settings::NanMode::Any});
  }
}

TEST(PackedF32, Arithmetic) {
  for (const char *modifiers : {".rn", ".rn.ftz", ".rm", ".rp.ftz"})
    for (const char *op : {"add", "sub", "mul", "fma"})
      checkAgainstReference(std::string(op) + modifiers + ".f32x2", Kind::F32x2,
                            std::vector<Kind>(*op == 'f' ? 3 : 2, Kind::F32x2));
}

TEST(MixedPrecision, Arithmetic) {
  for (const char *modifiers : {".rn", ".rz.sat", ".rp"})
    for (const Format &format : {kFormats[0], kFormats[2]}) {
      for (const char *op : {"add", "sub"})
        checkAgainstReference(std::string(op) + modifiers + ".f32." + format.name, Kind::F32,
                              {format.kind, Kind::F32});
      checkAgainstReference(std::string("fma") + modifiers + ".f32." + format.name, Kind::F32,
                            {format.kind, format.kind, Kind::F32});
    }
}

TEST(ThreeOperands, MinMax) {
  for (const char *op : {"min", "max"})
    for (const char *modifiers : {"", ".ftz", ".NaN", ".abs", ".ftz.NaN.abs"})
      checkAgainstReference(std::string(op) + modifiers + ".f32", Kind::F32,
                            {Kind::F32, Kind::F32, Kind::F32});
}

TEST(DoublePrecision, NanBits) {
  for (const char *op : {"add", "sub", "mul", "div.rn", "min", "max"})
    checkAgainstReference(std::string(op) + ".f64", Kind::F64, {Kind::F64, Kind::F64});
  for (const char *op : {"fma.rn", "fma.rp"})
    checkAgainstReference(std::string(op) + ".f64", Kind::F64, {Kind::F64, Kind::F64, Kind::F64});
  for (const char *op : {"abs", "neg", "sqrt.rn", "rcp.rn"})
    checkAgainstReference(std::string(op) + ".f64", Kind::F64, {Kind::F64});
}

TEST(IntegerPairs, AddMinMax) {
  for (const char *mnemonic :
       {"add.u16x2", "add.s16x2", "min.u16x2", "max.u16x2", "min.s16x2", "max.s16x2",
        "min.relu.s16x2", "max.relu.s16x2", "min.relu.s32", "max.relu.s32"})
    checkAgainstReference(mnemonic, Kind::I32, {Kind::I32, Kind::I32});
}
