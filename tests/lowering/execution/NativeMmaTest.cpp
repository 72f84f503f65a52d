// SPDX-License-Identifier: Apache-2.0
// mma.sync on matrix units: each form against its meaning (MmaForm), by two warps with operands of
// their own. Sums of whole numbers are exact in any order, so that bits are compared; others may be
// off by (K + 2) 2^-23 of the sum of magnitudes, f16 results by one unit in the last place more.
#include "lowering/lib/matrices/NativeMma.h"
#include "ptx-frontend/Parser.h"
#include "tests/lowering/execution/Execution.h"
#include "llvm/ADT/APFloat.h"
#include <bit>
#include <cmath>
#include <random>

using namespace rubia::lowering;
using namespace rubia::lowering::test;
namespace ptx = rubia::ptx;

namespace {

constexpr unsigned kThreads = 64, kPerThread = 32; // words: A, B, C, then D
constexpr unsigned kA = 0, kB = 8, kC = 16, kD = 24;

enum class Inputs { Whole, Any, Denormal };

struct Case {
  std::string name, ptx;
  MmaForm form;
};

std::string listOf(const char *reg, unsigned first, unsigned count) {
  std::string list = "{";
  for (unsigned i = 0; i < count; ++i)
    list += (i ? ", " : "") + std::string(reg) + std::to_string(first + i);
  return list + "}";
}

// For Hopper, in a version that has all forms.
std::string newest(std::string text) {
  for (auto [from, to] : {std::pair{"sm_80", "sm_90"}, std::pair{".version 8.0", ".version 8.7"}})
    text.replace(text.find(from), strlen(from), to);
  const std::string at = ".reg .b64 %buf";
  return text.insert(text.find(at), ".reg .b32 %w<32>;\n");
}

// `name` is what follows mma.sync.aligned, or all of a wmma.
std::string mma(const std::string &name, unsigned a, unsigned b, unsigned c, unsigned d) {
  return (name.starts_with("wmma") ? "" : "mma.sync.aligned.") + name + " " + listOf("%w", kD, d) +
         ", " + listOf("%w", kA, a) + ", " + listOf("%w", kB, b) + ", " + listOf("%w", kC, c) + ";";
}

// How many registers there are follows from the form, which is read from an instruction with as
// many: the parser takes no other.
std::optional<MmaForm> formOf(const std::string &name) {
  for (unsigned c : {2, 4, 8})
    for (unsigned d : {2, 4, 8})
      for (unsigned a : {1, 2, 4, 8})
        for (unsigned b : {1, 2, 4, 8}) {
          ptx::ParseResult parsed =
              ptx::parse("test.ptx", newest(executable(mma(name, a, b, c, d))));
          if (!parsed.diagnostics.empty())
            continue;
          for (const ptx::Instruction &inst : parsed.module.functions.front()->body)
            if (auto form = MmaForm::of(inst))
              return form;
        }
  ADD_FAILURE() << name << " is no form of mma";
  return std::nullopt;
}

// `before`: in front of the product.
Case caseOf(const std::string &name, const MmaForm &form, const std::string &before = "") {
  std::string body = "mad.wide.u32 %rd1, %tid, 128, %buf;";
  for (unsigned i = 0; i < kD; i += 4)
    body += "ld.global.v4.u32 " + listOf("%w", i, 4) + ", [%rd1+" + std::to_string(4 * i) + "];";
  const unsigned results = form.registers(MmaMatrix::D);
  body += before + mma(name, form.registers(MmaMatrix::A), form.registers(MmaMatrix::B),
                       form.registers(MmaMatrix::C), results);
  for (unsigned i = kD; i < kD + results; ++i)
    body += "st.global.u32 [%rd1+" + std::to_string(4 * i) + "], %w" + std::to_string(i) + ";";
  return {name, newest(executable(body)), form};
}

double decode(ptx::Type type, uint32_t bits) {
  const llvm::fltSemantics *semantics = nullptr;
  unsigned width = ptx::sizeInBits(type);
  switch (type) {
  case ptx::Type::F16:
    semantics = &llvm::APFloat::IEEEhalf();
    break;
  case ptx::Type::BF16:
    semantics = &llvm::APFloat::BFloat();
    break;
  case ptx::Type::E4M3:
    semantics = &llvm::APFloat::Float8E4M3FN();
    break;
  case ptx::Type::E5M2:
    semantics = &llvm::APFloat::Float8E5M2();
    break;
  case ptx::Type::TF32:
    return std::bit_cast<float>(bits & 0xffffe000);
  case ptx::Type::F32:
    return std::bit_cast<float>(bits);
  case ptx::Type::S32:
  case ptx::Type::S8:
  case ptx::Type::S4:
    return double(int32_t(bits << (32 - width)) >> (32 - width));
  default:
    return double(bits);
  }
  llvm::APFloat value(*semantics, llvm::APInt(width, bits));
  bool losesInfo;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return value.convertToDouble();
}

uint32_t encode(ptx::Type type, double wanted) {
  if (type == ptx::Type::TF32 || type == ptx::Type::F32)
    return std::bit_cast<uint32_t>(float(wanted));
  const llvm::fltSemantics &semantics = type == ptx::Type::F16    ? llvm::APFloat::IEEEhalf()
                                        : type == ptx::Type::BF16 ? llvm::APFloat::BFloat()
                                        : type == ptx::Type::E4M3 ? llvm::APFloat::Float8E4M3FN()
                                                                  : llvm::APFloat::Float8E5M2();
  llvm::APFloat value(wanted);
  bool losesInfo;
  value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return uint32_t(value.bitcastToAPInt().getZExtValue());
}

bool isInteger(ptx::Type type) {
  return type == ptx::Type::S8 || type == ptx::Type::U8 || type == ptx::Type::S4 ||
         type == ptx::Type::U4 || type == ptx::Type::S32;
}

uint32_t randomElement(std::mt19937 &random, ptx::Type type, Inputs inputs, bool isB) {
  const unsigned width = type == ptx::Type::TF32 ? 32 : ptx::sizeInBits(type);
  const uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
  if (isInteger(type))
    return random() & mask;
  if (inputs == Inputs::Whole)
    return encode(type, int(random() % 9) - 4);
  if (inputs == Inputs::Denormal && (type == ptx::Type::F16 || type == ptx::Type::BF16)) {
    // A's are denormal, and products with B are not.
    if (!isB)
      return random() & (type == ptx::Type::F16 ? 0x83ff : 0x807f);
    return encode(type, std::ldexp(1 + random() % 64 / 64.0, type == ptx::Type::F16 ? 14 : 120));
  }
  double value = (1 + random() % 1024 / 1024.0) * (random() % 2 ? 1 : -1);
  return encode(type, std::ldexp(value, int(random() % 8) - 4));
}

// Random operands of all threads.
std::vector<uint32_t> operandsOf(const MmaForm &form, Inputs inputs, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<uint32_t> words(kThreads * kPerThread, 0xdeadbeef);
  for (unsigned thread = 0; thread < kThreads; ++thread)
    for (auto [matrix, first] :
         {std::pair{MmaMatrix::A, kA}, {MmaMatrix::B, kB}, {MmaMatrix::C, kC}})
      for (unsigned reg = 0; reg < form.registers(matrix); ++reg) {
        uint32_t &word = words[thread * kPerThread + first + reg] = 0;
        const unsigned bits = form.elementBits(matrix);
        for (unsigned i = 0; i < form.elementsPerRegister(matrix); ++i)
          word |= randomElement(random, form.typeOf(matrix), inputs, matrix == MmaMatrix::B)
                  << (bits * i % 32);
        // wmma holds some twice: element placement knows the first only, both are the same.
        const unsigned distinct = form.registers(matrix) / form.copies(matrix);
        if (reg >= distinct)
          word = words[thread * kPerThread + first + reg - distinct];
        // Sums beyond the range of integers.
        if (form.typeOf(matrix) == ptx::Type::S32 && random() % 4 == 0)
          word = random() % 2 ? 0x7ffffff0 : 0x80000010;
      }
  return words;
}

struct Sum {
  double exact = 0, magnitude = 0;
};

double elementAt(const MmaForm &form, const std::vector<uint32_t> &words, unsigned warp,
                 MmaMatrix matrix, unsigned first, unsigned row, unsigned column) {
  FragmentPlace at = form.fragmentOf(matrix, {row, column, 0});
  const unsigned bits = form.elementBits(matrix);
  uint32_t word = words[(32 * warp + at.lane) * kPerThread + first + at.reg] >> (bits * at.element);
  return decode(form.typeOf(matrix), bits == 32 ? word : word & ((1u << bits) - 1));
}

Sum sumOf(const MmaForm &form, const std::vector<uint32_t> &words, unsigned warp, unsigned row,
          unsigned column) {
  Sum sum;
  auto add = [&](double value) {
    sum.exact += value;
    sum.magnitude += std::abs(value);
  };
  for (unsigned k = 0; k < form.k; ++k)
    add(elementAt(form, words, warp, MmaMatrix::A, kA, row, k) *
        elementAt(form, words, warp, MmaMatrix::B, kB, k, column));
  add(elementAt(form, words, warp, MmaMatrix::C, kC, row, column));
  return sum;
}

// What D may differ by.
double boundOf(const MmaForm &form, const Sum &sum, Inputs inputs) {
  if (inputs == Inputs::Whole || isInteger(form.a))
    return 0;
  double bound = (form.k + 2) * std::ldexp(sum.magnitude, -23);
  if (form.d == ptx::Type::F16)
    bound += std::ldexp(std::max(std::abs(sum.exact), std::ldexp(1, -14)), -10);
  return bound;
}

void expectResults(const Case &test, const std::vector<uint32_t> &before,
                   const std::vector<uint32_t> &after, Inputs inputs) {
  const MmaForm &form = test.form;
  unsigned wrong = 0;
  for (unsigned warp = 0; warp < kThreads / 32; ++warp)
    for (unsigned row = 0; row < form.m; ++row)
      for (unsigned column = 0; column < form.n; ++column) {
        Sum sum = sumOf(form, before, warp, row, column);
        double expected = sum.exact;
        if (form.d == ptx::Type::S32 && form.satfinite)
          expected = std::clamp(expected, -2147483648.0, 2147483647.0);
        else if (form.d == ptx::Type::S32)
          expected = double(int32_t(uint32_t(int64_t(expected))));
        double actual = elementAt(form, after, warp, MmaMatrix::D, kD, row, column);
        if (std::abs(actual - expected) <= boundOf(form, sum, inputs))
          continue;
        if (++wrong <= 4)
          ADD_FAILURE() << test.name << " warp " << warp << " row " << row << " column " << column
                        << ": " << actual << ", expected " << expected;
      }
  EXPECT_EQ(wrong, 0u) << test.name;
}

const std::vector<std::string> kFloats = {
    "m16n8k16.row.col.f32.f16.f16.f32",
    "m16n8k8.row.col.f32.f16.f16.f32",
    "m16n8k16.row.col.f16.f16.f16.f16",
    "m16n8k8.row.col.f16.f16.f16.f16",
    "m16n8k16.row.col.f32.bf16.bf16.f32",
    "m16n8k8.row.col.f32.bf16.bf16.f32",
    "m16n8k8.row.col.f32.tf32.tf32.f32",
    "m16n8k4.row.col.f32.tf32.tf32.f32",
    "m16n8k32.row.col.f32.e4m3.e5m2.f32",
    "m16n8k32.row.col.f32.e5m2.e4m3.f32",
    "m16n8k32.row.col.f32.e4m3.e4m3.f32",
    "m16n8k16.row.col.f32.e5m2.e5m2.f32",
    "m16n8k32.row.col.f16.e4m3.e5m2.f16",
    "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32",
    "wmma.mma.sync.aligned.row.col.m32n8k16.f16.f32",
    "wmma.mma.sync.aligned.col.row.m8n32k16.f32.f16",
    "wmma.mma.sync.aligned.row.col.m8n32k16.f32.bf16.bf16.f32"};
const std::vector<std::string> kIntegers = {
    "m16n8k32.row.col.s32.s8.s8.s32",
    "m16n8k32.row.col.s32.u8.s8.s32",
    "m16n8k32.row.col.s32.s8.u8.s32",
    "m16n8k32.row.col.s32.u8.u8.s32",
    "m16n8k16.row.col.s32.u8.u8.s32",
    "m8n8k16.row.col.s32.s8.u8.s32",
    "m16n8k32.row.col.satfinite.s32.u8.s8.s32",
    "m16n8k64.row.col.s32.s4.s4.s32",
    "m16n8k64.row.col.s32.u4.s4.s32",
    "m16n8k32.row.col.s32.s4.u4.s32",
    "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32.satfinite",
    "wmma.mma.sync.aligned.row.col.m32n8k16.s32.u8.u8.s32",
    "m8n8k32.row.col.satfinite.s32.u4.u4.s32",
    "m16n8k64.row.col.satfinite.s32.s4.s4.s32"};

void check(const std::string &name, Inputs inputs, unsigned optLevel = 3) {
  std::optional<MmaForm> mmaForm = formOf(name);
  if (!mmaForm)
    return;
  Case test = caseOf(name, *mmaForm);
  std::vector<uint32_t> words = operandsOf(test.form, inputs, 7);
  unsigned routes = 0;
  for (const char *arch : kTargets) {
    Form form;
    form.arch = arch;
    form.optLevel = optLevel;
    form.block = {kThreads, 1, 1};
    // All targets are those of the software route too, which has tests of its own.
    Target target = cantFail(targetOf(arch));
    if (!hasNativeMma(target, test.form, /*mayFlush=*/false))
      continue;
    ++routes;
    for (bool packed : {false, true}) {
      if (packed && !isWave64(arch))
        continue;
      form.packed = packed;
      form.halfFilled = !packed && isWave64(arch);
      SCOPED_TRACE(std::string(arch) + (packed ? " packed" : ""));
      std::vector<uint32_t> after = run(test.ptx, words, form).words;
      ASSERT_EQ(after.size(), words.size());
      expectResults(test, words, after, inputs);
    }
  }
  EXPECT_GE(routes, 3u) << name;
}

// A third warp, whose wave has lanes of no thread in either form; loads of these would read behind
// the buffer. Loaded factors go through 64 bits, whose upper halves are zero, as are some of the
// sums of a unit.
void checkBesideIdleLanes(const std::string &name) {
  std::optional<MmaForm> mmaForm = formOf(name);
  if (!mmaForm)
    return;
  std::string before = "ld.volatile.global.u32 %r2, [%rd1]; ld.volatile.global.u32 %r3, [%rd1]; "
                       "xor.b32 %r2, %r2, %r3; add.u32 %r3, %r2, 16;";
  for (unsigned i = 0; i < 4; ++i) {
    const std::string a = "%w" + std::to_string(kA + i), b = "%w" + std::to_string(kB + i);
    before += "ld.global.u32 " + a + ", [%rd1+" + std::to_string(4 * (kA + i)) + "];" +
              "and.b32 %r4, " + a + ", 65535; cvt.u64.u32 %rd2, %r4; shl.b64 %rd2, %rd2, %r2; " +
              "shr.u32 %r4, " + a + ", 16; cvt.u64.u32 %rd3, %r4; shl.b64 %rd3, %rd3, %r3; " +
              "or.b64 %rd2, %rd2, %rd3; mov.b64 {" + a + ", %r5}, %rd2; xor.b32 " + b + ", " + b +
              ", %r5;";
  }
  const Case test = caseOf(name, *mmaForm, before);
  std::vector<uint32_t> words = operandsOf(test.form, Inputs::Whole, 7);
  const std::vector<uint32_t> warp(words.begin(), words.begin() + 32 * kPerThread);
  words.insert(words.end(), warp.begin(), warp.end());
  Form form;
  form.block = {96, 1, 1};
  std::vector<uint32_t> after = runOnAllTargets(test.ptx, words, form);
  words.resize(kThreads * kPerThread), after.resize(kThreads * kPerThread);
  expectResults(test, words, after, Inputs::Whole);
}

// A sparse product of two warps: the second one's B has an infinity, or has none.
std::string sparseKernel() {
  std::string body = "mad.wide.u32 %rd1, %tid, 128, %buf;";
  for (unsigned i = 0; i < kD; i += 4)
    body += "ld.global.v4.u32 " + listOf("%w", i, 4) + ", [%rd1+" + std::to_string(4 * i) + "];";
  body += "mov.u32 %w31, 0x4e4e4e4e; mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32"
          ".f16.f16.f32 " +
          listOf("%w", kD, 4) + ", " + listOf("%w", kA, 4) + ", " + listOf("%w", kB, 4) + ", " +
          listOf("%w", kC, 4) + ", %w31, 0;";
  for (unsigned i = kD; i < kD + 4; ++i)
    body += "st.global.u32 [%rd1+" + std::to_string(4 * i) + "], %w" + std::to_string(i) + ";";
  return newest(executable(body));
}

} // namespace

TEST(NativeMma, FloatsOfWholeNumbers) {
  for (const std::string &name : kFloats)
    check(name, Inputs::Whole);
}

TEST(NativeMma, Floats) {
  for (const std::string &name : kFloats)
    check(name, Inputs::Any);
}

TEST(NativeMma, Denormals) {
  for (const char *name : {"m16n8k16.row.col.f32.f16.f16.f32", "m16n8k8.row.col.f32.bf16.bf16.f32"})
    check(name, Inputs::Denormal);
}

TEST(NativeMma, Integers) {
  for (const std::string &name : kIntegers)
    check(name, Inputs::Whole);
}

TEST(NativeMma, Unoptimised) {
  check("m16n8k16.row.col.f32.f16.f16.f32", Inputs::Whole, 0);
  check("m16n8k32.row.col.s32.u8.u8.s32", Inputs::Whole, 0);
}

TEST(NativeMma, LoadsAreThoseOfActiveLanes) {
  for (const char *name : {"m16n8k16.row.col.f32.f16.f16.f32", "m16n8k8.row.col.f32.f16.f16.f32",
                           "m16n8k8.row.col.f32.bf16.bf16.f32", "m16n8k16.row.col.s32.s8.s8.s32"})
    checkBesideIdleLanes(name);
}

// What one warp's factors are has no say in the sums of the other, whose order of additions is
// that of the unit.
TEST(NativeMma, ASparseWarpDoesNotDependOnItsNeighbour) {
  std::mt19937 random(11);
  std::vector<uint32_t> words(kThreads * kPerThread);
  for (unsigned i = 0; i < words.size(); ++i)
    words[i] = i % kPerThread >= kC ? std::bit_cast<uint32_t>(float(random() % 1024) / 37.0f)
                                    : (random() & 0x8fff8fff) | 0x30003000;
  std::vector<uint32_t> infinite = words;
  infinite[40 * kPerThread + kB] = 0x7c007c00;
  for (const char *arch : {"gfx90a", "gfx942", "gfx950"}) {
    Form form;
    form.arch = arch;
    form.packed = true;
    form.block = {kThreads, 1, 1};
    std::vector<uint32_t> without = run(sparseKernel(), words, form).words,
                          with = run(sparseKernel(), infinite, form).words;
    with.resize(words.size() / 2), without.resize(words.size() / 2);
    EXPECT_EQ(with, without) << arch;
  }
}
