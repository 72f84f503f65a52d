// SPDX-License-Identifier: Apache-2.0
// LLVM's back end has the passes that are told apart by their names, and as many of each.
#include "codegen/lib/PassNames.h"
#include "codegen/lib/AccessNotes.h"
#include "codegen/lib/ShortRegions.h"
#include "codegen/lib/WideIndexes.h"
#include "codegen/lib/errata/AllOnes.h"
#include "codegen/lib/errata/BranchMasks.h"
#include "codegen/lib/errata/CarryChains.h"
#include "codegen/lib/errata/CarryMasks.h"
#include "codegen/lib/errata/FreeValues.h"
#include "codegen/lib/errata/HalfResults.h"
#include "codegen/lib/errata/JoinedMasks.h"
#include "codegen/lib/errata/LoopEntries.h"
#include "codegen/lib/errata/WholeAccesses.h"
#include "codegen/lib/errata/WholeWaveRegisters.h"
#include "codegen/lib/errata/lanes/RegionReloads.h"
#include "codegen/lib/errata/lanes/SunkLoads.h"
#include "codegen/lib/errata/lanes/WideExchanges.h"
#include "codegen/lib/speed/KillFlags.h"
#include "codegen/lib/speed/LimitedSinking.h"
#include "codegen/lib/speed/PiecewiseVectorizer.h"
#include "tests/codegen/BackEndRun.h"
#include "llvm/Pass.h"
#include <map>

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

constexpr StringRef kText = R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k() {
  ret void
}
)";

class Names : public legacy::PassManager {
public:
  void add(Pass *pass) override {
    ++count[pass->getPassName().str()];
    legacy::PassManager::add(pass);
  }
  std::map<std::string, unsigned> count;
};

TEST(PassNames, LlvmHasThem) {
  for (StringRef processor : {"gfx1100", "gfx942"}) {
    Names passes;
    runBackEnd(processor, kText, passes);
    for (StringRef name : kLeftOut)
      EXPECT_EQ(passes.count[name.str()], 1u) << processor.str() << ": " << name.str();
    for (StringRef name : {kDebugValues,
                           kMemoryBounds,
                           kPrinter,
                           kRegisterUse,
                           kSinking,
                           kAccessVectorizer,
                           kAccessJoiner,
                           kExecMasking,
                           kScheduler,
                           kLateScheduler,
                           kSelection,
                           kFinalizeSelection,
                           kFixIrreducible,
                           kStructurizer,
                           kWholeWaveAllocation,
                           kMemoryLegalizer,
                           kLiveVariables,
                           kPhiElimination,
                           kAtomicExpansion,
                           kExchangeCombine,
                           kMachineSinking,
                           kFrame})
      EXPECT_EQ(passes.count[name.str()], 1u) << processor.str() << ": " << name.str();
    EXPECT_EQ(passes.count[kEarlyCse.str()], 3u) << processor.str(); // the first two are left out
    EXPECT_EQ(passes.count[kCopies.str()], 2u) << processor.str();   // the first is left out
  }
}

} // namespace
