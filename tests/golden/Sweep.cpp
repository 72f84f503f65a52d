// SPDX-License-Identifier: Apache-2.0
#include "Sweep.h"
#include "reference/Reference.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include <cmath>
#include <thread>

using namespace llvm;

namespace rubia::golden {

namespace {
// Operands with one documented bound; `sample` is one of them.
struct Region {
  const char *name;
  double sample;
};
} // namespace

static unsigned regionOfAngle(double a) {
  double magnitude = std::fabs(a);
  return magnitude <= M_PI ? 0 : magnitude <= 100 * M_PI ? 1 : 2;
}
static constexpr Region kAngles[] = {
    {"|a| <= pi", 1}, {"pi < |a| <= 100 pi", 10}, {"|a| > 100 pi", 1000}};
static unsigned regionOfLogarithm(double a) { return a > 0.5 && a < 2 ? 0 : 1; }
static constexpr Region kLogarithms[] = {{"0.5 < a < 2", 1}, {"all other a", 4}};
static constexpr Region kOneRegion[] = {{"", 1}};

namespace {
struct Operation {
  StringRef opcode;
  double (*function)(double);
  bool hasFtz = true;
  unsigned (*regionOf)(double) = [](double) { return 0u; };
  ArrayRef<Region> regions = kOneRegion;
};
} // namespace

static const Operation kOperations[] = {
    {"rcp", [](double a) { return 1 / a; }},
    {"sqrt", [](double a) { return std::sqrt(a); }},
    {"rsqrt", [](double a) { return 1 / std::sqrt(a); }},
    {"sin", [](double a) { return std::sin(a); }, true, regionOfAngle, kAngles},
    {"cos", [](double a) { return std::cos(a); }, true, regionOfAngle, kAngles},
    {"lg2", [](double a) { return std::log2(a); }, true, regionOfLogarithm, kLogarithms},
    {"ex2", [](double a) { return std::exp2(a); }},
    {"tanh", [](double a) { return std::tanh(a); }, false},
};

std::vector<std::string> sweptInstructions() {
  std::vector<std::string> all;
  for (const Operation &operation : kOperations) {
    all.push_back(operation.opcode.str() + ".approx.f32");
    if (operation.hasFtz)
      all.push_back(operation.opcode.str() + ".approx.ftz.f32");
  }
  return all;
}

std::string sweepModule(const std::string &mnemonic) {
  return ".version 7.0\n.target sm_75\n.address_size 64\n"
         ".visible .entry sweep(.param .u64 results, .param .u32 first, .param .u32 stride) {\n"
         "  .reg .b32 %i, %n, %c, %a, %d;\n  .reg .b64 %out, %offset;\n"
         "  mov.u32 %i, %ctaid.x;\n  mov.u32 %n, %ntid.x;\n  mov.u32 %c, %tid.x;\n"
         "  mad.lo.u32 %i, %i, %n, %c;\n"
         "  ld.param.u64 %out, [results];\n  ld.param.u32 %a, [first];\n"
         "  ld.param.u32 %c, [stride];\n"
         "  mad.lo.u32 %a, %i, %c, %a;\n  mul.wide.u32 %offset, %i, 4;\n"
         "  add.u64 %out, %out, %offset;\n  " +
         mnemonic + " %d, %a;\n  st.global.b32 [%out], %d;\n  ret;\n}\n";
}

// The step of f32 at a normal number.
static double ulpAt(double value) {
  uint64_t bits = bit_cast<uint64_t>(value) & 0x7ff0000000000000;
  return bit_cast<double>(bits - (uint64_t(23) << 52));
}

namespace {
class Sweeper {
public:
  Sweeper(const Operation &operation, reference::Reference reference)
      : operation(operation), reference(std::move(reference)) {
    for (const Region &region : operation.regions) {
      reference::ErrorBound bound = reference::documentedF32Bound(operation.opcode, region.sample);
      bounds.push_back(bound);
      total.regions.push_back({region.name});
    }
  }

  void take(uint32_t operand, uint32_t result) {
    ++total.inputs;
    double a = bit_cast<float>(operand), r = bit_cast<float>(result);
    bool isNormal = std::isnormal(float(a));
    double truth = operation.function(a);
    // What most operands of some functions give.
    if (isNormal && std::isnan(truth) && result == 0x7fffffff)
      return;
    if (isNormal && truth > 0x1p129 && result == 0x7f800000)
      return;
    if (isNormal && truth >= 0 && truth < 0x1p-151 && result == 0)
      return;
    double magnitude = std::fabs(truth);
    if (!isNormal || !(magnitude > 0x1p-125 && magnitude < 0x1p127) || !std::isfinite(r))
      return judge(operand, result);
    unsigned region = operation.regionOf(a);
    const reference::ErrorBound &bound = bounds[region];
    double ulp = ulpAt(truth), error = std::fabs(r - truth);
    double fraction =
        error / std::max({bound.ulps * ulp, bound.relative * magnitude, bound.absolute});
    if (fraction > 0.999)
      return judge(operand, result);
    SweptRegion &swept = total.regions[region];
    note(swept, operand, fraction);
    swept.worstUlps = std::max(swept.worstUlps, error / ulp);
    swept.worstAbsolute = std::max(swept.worstAbsolute, error);
  }

  SweepResult total;

private:
  static void note(SweptRegion &region, uint32_t operand, double fraction) {
    if (fraction <= region.worstFraction)
      return;
    region.worstFraction = fraction;
    region.worstInput = operand;
  }
  void judge(uint32_t operand, uint32_t result) {
    reference::ReferenceInputs inputs;
    inputs.source[0] = operand;
    reference::ReferenceOutput output = reference(inputs);
    bool right;
    if (output.bounds[0]) {
      double fraction = reference::errorFraction(*output.bounds[0], result);
      right = fraction <= 1;
      note(total.regions[operation.regionOf(bit_cast<float>(operand))], operand, fraction);
    } else
      right = uint32_t(output.bits) == result;
    if (!right && total.wrong++ == 0)
      total.firstWrong = operand;
  }
  const Operation &operation;
  reference::Reference reference;
  std::vector<reference::ErrorBound> bounds; // by region
};
} // namespace

static void merge(SweepResult &all, const SweepResult &part) {
  all.inputs += part.inputs;
  if (!all.wrong)
    all.firstWrong = part.firstWrong;
  all.wrong += part.wrong;
  all.regions.resize(part.regions.size());
  for (auto [mine, other] : zip(all.regions, part.regions)) {
    mine.name = other.name;
    if (other.worstFraction > mine.worstFraction) {
      mine.worstFraction = other.worstFraction;
      mine.worstInput = other.worstInput;
    }
    mine.worstUlps = std::max(mine.worstUlps, other.worstUlps);
    mine.worstAbsolute = std::max(mine.worstAbsolute, other.worstAbsolute);
  }
}

Expected<SweepResult> sweep(Runner &runner, const std::string &mnemonic, uint32_t stride) {
  const Operation *operation = find_if(kOperations, [&](const Operation &o) {
    return StringRef(mnemonic).split('.').first == o.opcode;
  });
  auto reference = reference::referenceFor(mnemonic);
  if (!reference)
    return reference.takeError();
  unsigned count = std::max(1u, std::thread::hardware_concurrency());
  SweepResult all;
  Error error = runner.sweep(mnemonic, stride, [&](uint64_t first, ArrayRef<uint32_t> results) {
    std::vector<Sweeper> parts(count, Sweeper(*operation, *reference));
    std::vector<std::thread> threads;
    for (unsigned part = 0; part < count; ++part)
      threads.emplace_back([&, part] {
        for (size_t i = part * results.size() / count; i < (part + 1) * results.size() / count; ++i)
          parts[part].take(uint32_t((first + i) * stride), results[i]);
      });
    for (std::thread &thread : threads)
      thread.join();
    for (const Sweeper &part : parts)
      merge(all, part.total);
  });
  if (error)
    return std::move(error);
  return all;
}

} // namespace rubia::golden
