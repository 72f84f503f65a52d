// SPDX-License-Identifier: Apache-2.0
// mma of f64 on every target, by a matrix unit or in software: the bits of a chain of fused
// multiply-adds. One of two warps may have ended, whose lanes a unit reads nevertheless.
#include "lowering/lib/analysis/MmaForm.h"
#include "ptx-frontend/Parser.h"
#include "tests/lowering/execution/Execution.h"
#include <bit>
#include <cmath>
#include <random>

using namespace rubia::lowering;
using namespace rubia::lowering::test;

namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode

namespace ptx = rubia::ptx;

namespace {

constexpr unsigned kThreads = 64, kPerThread = 16; // doubles: A, B, C and then D in C's place
constexpr unsigned kA = 0, kB = 8, kC = 12;

std::string listOf(unsigned first, unsigned count) {
  std::string list = "{";
  for (unsigned i = 0; i < count; ++i)
    list += (i ? ", %fd" : "%fd") + std::to_string(first + i);
  return list + "}";
}

struct Shape {
  const char *name;
  unsigned m, k;
};

// `before`: in front of the product.
std::string kernelOf(const Shape &shape, const std::string &before) {
  const unsigned a = shape.m * shape.k / 32, b = shape.k / 4, c = shape.m / 4;
  std::string body = "mad.wide.u32 %rd1, %tid, 128, %buf;";
  for (unsigned i = 0; i < kPerThread; ++i)
    body += "ld.global.f64 %fd" + std::to_string(i) + ", [%rd1+" + std::to_string(8 * i) + "];";
  body += before + shape.name + " " + listOf(kC, c) + ", " + listOf(kA, a) + ", " + listOf(kB, b) +
          ", " + listOf(kC, c) + ";";
  for (unsigned i = kC; i < kC + c; ++i)
    body += "st.global.f64 [%rd1+" + std::to_string(8 * i) + "], %fd" + std::to_string(i) + ";";
  std::string text = executable(body + "END: ret;");
  for (auto [from, to] : {std::pair{"sm_80", "sm_90"}, std::pair{".version 8.0", ".version 8.7"}})
    text.replace(text.find(from), strlen(from), to);
  return text;
}

MmaForm formOf(const std::string &text) {
  ptx::ParseResult parsed = ptx::parse("test.ptx", text);
  for (const ptx::Instruction &inst : parsed.module.functions.front()->body)
    if (auto form = MmaForm::of(inst))
      return *form;
  ADD_FAILURE() << "no product";
  return {};
}

// Sums that lose bits, so that their order shows.
std::vector<double> operands() {
  std::mt19937 random(3);
  std::vector<double> numbers(kThreads * kPerThread);
  for (double &number : numbers)
    number = std::ldexp(1 + double(random()) / (1 << 30), int(random() % 60) - 30) *
             (random() % 2 ? 1 : -1);
  return numbers;
}

// Denormal factors and sums; with `infinities` also these and NaNs with payloads, of which most
// sums have none.
std::vector<double> specialOperands(bool infinities) {
  std::mt19937_64 random(5);
  std::vector<double> numbers = operands();
  for (double &number : numbers) {
    const uint64_t sign = random() << 63, payload = random() >> 12;
    if (random() % 3 == 0)
      number = std::bit_cast<double>(sign | payload); // denormal
    else if (random() % 3 == 0)
      number = std::ldexp(number, random() % 2 ? -1000 : 900);
    if (!infinities || random() % 50)
      continue;
    constexpr uint64_t kInfinity = 0x7ff0000000000000;
    number = std::bit_cast<double>(sign | kInfinity | (random() % 2 ? payload : 0));
  }
  return numbers;
}

// The NaN of NVIDIA's fused multiply-adds: that of b, c, a, made quiet.
double fusedStep(double a, double b, double c) {
  const double sum = std::fma(a, b, c);
  if (!std::isnan(sum))
    return sum;
  for (double source : {b, c, a})
    if (std::isnan(source))
      return std::bit_cast<double>(std::bit_cast<uint64_t>(source) | 0x0008000000000000);
  return std::bit_cast<double>(0xfff8000000000000);
}

std::vector<double> expectedOf(const MmaForm &form, const std::vector<double> &before,
                               unsigned warps) {
  std::vector<double> after = before;
  for (unsigned warp = 0; warp < warps; ++warp) {
    auto at = [&](MmaMatrix matrix, unsigned first, unsigned row, unsigned column) {
      const FragmentPlace place = form.fragmentOf(matrix, {row, column, 0});
      return (32 * warp + place.lane) * kPerThread + first + place.reg;
    };
    for (unsigned row = 0; row < form.m; ++row)
      for (unsigned column = 0; column < form.n; ++column) {
        double &sum = after[at(MmaMatrix::D, kC, row, column)];
        for (unsigned k = 0; k < form.k; ++k)
          sum = fusedStep(before[at(MmaMatrix::A, kA, row, k)],
                          before[at(MmaMatrix::B, kB, k, column)], sum);
      }
  }
  return after;
}

std::vector<uint32_t> wordsOf(const std::vector<double> &numbers) {
  std::vector<uint32_t> words(2 * numbers.size());
  memcpy(words.data(), numbers.data(), 4 * words.size());
  return words;
}

const Shape kShapes[] = {{"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64", 8, 4},
                         {"mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", 16, 4},
                         {"mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", 16, 8},
                         {"mma.sync.aligned.m16n8k16.row.col.rn.f64.f64.f64.f64", 16, 16}};

void check(const std::string &before, unsigned warps,
           const std::vector<double> &numbers = operands()) {
  Form form;
  form.block = {kThreads, 1, 1};
  form.nan = rubia::settings::NanMode::Canonical;
  for (const Shape &shape : kShapes) {
    const std::string text = kernelOf(shape, before);
    EXPECT_EQ(runOnAllTargets(text, wordsOf(numbers), form),
              wordsOf(expectedOf(formOf(text), numbers, warps)))
        << shape.name;
  }
}

} // namespace

TEST(DoubleMma, ChainsOfFusedSteps) { check("", 2); }
TEST(DoubleMma, Denormals) { check("", 2, specialOperands(false)); }
TEST(DoubleMma, InfinitiesAndNans) { check("", 2, specialOperands(true)); }
TEST(DoubleMma, BesideAWarpThatHasEnded) {
  check("setp.ge.u32 %p1, %tid, 32; @%p1 bra ENDED; bra PRODUCT; ENDED: exit; PRODUCT: ", 1);
}

// In a branch that the second warp does not take. What the first one's lanes have loaded goes
// through 64 bits with zero upper halves; sums with NaNs are computed again, in a branch of their
// own.
TEST(DoubleMma, InABranchOfOneWarp) {
  std::string before = "setp.ge.u32 %p1, %tid, 32; ld.volatile.global.u32 %r2, [%rd1]; "
                       "ld.volatile.global.u32 %r3, [%rd1]; xor.b32 %r2, %r2, %r3; "
                       "add.u32 %r3, %r2, 32; @%p1 bra END;";
  for (unsigned i = 0; i < kC; ++i) {
    const std::string number = "%fd" + std::to_string(i);
    before += "mov.b64 {%r4, %r5}, " + number + "; cvt.u64.u32 %rd2, %r4; " +
              "shl.b64 %rd2, %rd2, %r2; cvt.u64.u32 %rd3, %r5; shl.b64 %rd3, %rd3, %r3; " +
              "or.b64 %rd2, %rd2, %rd3; mov.b64 " + number + ", %rd2;";
  }
  for (bool infinities : {false, true})
    check(before, 1, specialOperands(infinities));
}
