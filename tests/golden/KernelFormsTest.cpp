// SPDX-License-Identifier: Apache-2.0
// How many of the golden kernels two warps of a wave64 can share, and that what cannot says why.
// Kernels that wait on an mbarrier, which other warps complete, are few in programs and many here:
// they do not count among the packed, but say why they are not.
#include "KernelText.h"
#include "lowering/Lowering.h"
#include "ptx-frontend/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <gtest/gtest.h>

using namespace llvm;
using namespace rubia;

TEST(GoldenKernelForms, FourOfFiveArePacked) {
  auto kernels = golden::readKernels(GOLDEN_KERNELS);
  ASSERT_TRUE(bool(kernels)) << toString(kernels.takeError());
  unsigned packed = 0, lowered = 0, noted = 0;
  for (const golden::KernelCase &kernel : *kernels) {
    ptx::ParseResult parsed = ptx::parse(kernel.name, kernel.text);
    LLVMContext context;
    lowering::Options options;
    options.arch = "gfx942";
    auto module =
        lowering::lower(parsed.module, lowering::partition(parsed.module)[0], options, context);
    if (!module) { // not supported yet
      consumeError(module.takeError());
      continue;
    }
    const bool waits = StringRef(kernel.text).contains("mbarrier.try_wait") ||
                       StringRef(kernel.text).contains("mbarrier.test_wait");
    lowered += !waits;
    StringRef metadata =
        cast<MDString>((*module)->getNamedMetadata("rubia.metadata")->getOperand(0)->getOperand(0))
            ->getString();
    noted += !metadata.contains("\"partialWarps\":[]");
    if (metadata.contains("\"warpForm\":\"packed\"")) {
      packed += !waits;
    } else {
      EXPECT_TRUE(metadata.contains("\"warpForm\":\"half-filled\"")) << kernel.name;
      EXPECT_TRUE(metadata.contains("\"warpFormReason\":\"'")) << kernel.name << metadata.str();
    }
  }
  RecordProperty("packed", int(packed));
  RecordProperty("lowered", int(lowered));
  RecordProperty("noted", int(noted));
  EXPECT_GE(lowered, 150u);
  EXPECT_GE(packed * 5, lowered * 4) << packed << " of " << lowered;
  // All are right; what is noted of them uses one register for several things, which is followed as
  // one value.
  EXPECT_LE(noted * 20, lowered) << noted << " of " << lowered;
}
