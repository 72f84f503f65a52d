// SPDX-License-Identifier: Apache-2.0
// The judge of products of matrices takes what an H100 gave, and notices a flipped bit and a
// product that is missing.
#include "MatrixJudge.h"
#include "KernelRecording.h"
#include "KernelText.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace rubia::golden;

namespace {

struct Matrices {
  std::vector<KernelCase> kernels;
  Recording recording;
  const Recorded &of(const KernelCase &kernel) const { return recording.kernels.at(kernel.name); }
};

const Matrices &matrices() {
  static const Matrices all = [] {
    auto kernels = readKernels(GOLDEN_MATRICES);
    auto recording = readRecording(GOLDEN_MATRIX_RESULTS);
    EXPECT_TRUE(bool(kernels)) << toString(kernels.takeError());
    EXPECT_TRUE(bool(recording)) << toString(recording.takeError());
    Matrices result;
    if (kernels && recording) {
      result = {std::move(*kernels), std::move(*recording)};
      erase_if(result.kernels, [&](const KernelCase &kernel) {
        const StringRef name = kernel.name;
        return !name.contains("mma.") || name.contains(".fold.") || name.contains(".chain") ||
               name.contains(".steps") || !result.recording.kernels.contains(kernel.name);
      });
    }
    return result;
  }();
  return all;
}

bool isExact(const KernelCase &kernel) { return StringRef(kernel.name).ends_with(".exact"); }

TEST(MatrixJudge, NoticesAFlippedBit) {
  auto judge = makeMatrixJudge();
  unsigned seen = 0;
  for (const KernelCase &kernel : matrices().kernels) {
    if (!isExact(kernel))
      continue;
    auto wrong = matrices().of(kernel).outputs;
    wrong[0][8 * (seen % 2)] ^= 1; // wmma: the beginning of a row or column
    EXPECT_NE(judge->judge(kernel, wrong, matrices().of(kernel).outputs), "") << kernel.name;
    ++seen;
  }
  EXPECT_GT(seen, 100u);
}

// Some factors of the kernel's inputs are made 0: the judge computes sums without their products,
// and the results have them.
TEST(MatrixJudge, NoticesAMissingProduct) {
  auto judge = makeMatrixJudge();
  unsigned seen = 0;
  for (const KernelCase &kernel : matrices().kernels) {
    if (!StringRef(kernel.name).ends_with(".normal") || kernel.nanType == "f64" ||
        StringRef(kernel.name).contains(".s32"))
      continue;
    KernelCase changed = kernel;
    auto factors =
        find_if(changed.parameters, [](const KernelParameter &p) { return p.name == "a"; });
    ASSERT_NE(factors, changed.parameters.end());
    std::fill_n(factors->bytes.begin(), 16, 0);
    const auto &recorded = matrices().of(kernel).outputs;
    auto other = recorded; // differs everywhere from what is recorded, so that each is judged
    for (uint8_t &byte : other[0])
      byte ^= 1;
    EXPECT_NE(judge->judge(changed, recorded, other), "") << kernel.name;
    ++seen;
  }
  EXPECT_GT(seen, 100u);
}

// But for factors of 8 bits with a D of f16, where an H100 rounds three times to f16.
TEST(MatrixJudge, TakesWhatTheH100Gave) {
  auto judge = makeMatrixJudge();
  for (const KernelCase &kernel : matrices().kernels) {
    if (StringRef(kernel.name).contains(".f16.e4m3.") ||
        StringRef(kernel.name).contains(".f16.e5m2."))
      continue;
    if (isExact(kernel) || kernel.nanType == "f64" || StringRef(kernel.name).contains(".s32"))
      continue;
    const auto &recorded = matrices().of(kernel).outputs;
    auto other = recorded;
    for (uint8_t &byte : other[0])
      byte ^= 1;
    EXPECT_EQ(judge->judge(kernel, recorded, other), "") << kernel.name;
  }
}

} // namespace
