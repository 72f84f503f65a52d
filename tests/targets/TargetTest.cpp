// SPDX-License-Identifier: Apache-2.0
// The rows of targets/Targets.def against what LLVM knows of the same processors, and against the
// lists that CMake and Python read from the same file.
#include "targets/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/TargetParser/TargetParser.h"
#include "llvm/TargetParser/Triple.h"
#include <cstdio>
#include <gtest/gtest.h>

namespace rubia::targets::Fact {
extern const GenerationFact addsF32InMemory, architectedFlatScratch, convertsBfloat,
    hasDx10ClampAndIeee, hasImages, hasModeInstructions, hasNumberMinMax, maxLdsBytes,
    packedWorkItemIds, waitsForTranscendentals, workgroupIdsInTtmp, trapMayDoNothing;
} // namespace rubia::targets::Fact

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
}

using namespace llvm;

namespace rubia::targets {
namespace {

/// What LLVM's features say of a processor.
class Features {
public:
  explicit Features(const Target &row) {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    const Triple triple("amdgcn-amd-amdhsa");
    std::string error;
    const llvm::Target *target = TargetRegistry::lookupTarget(triple, error);
    info.reset(target->createMCSubtargetInfo(triple, row.name, ""));
  }
  bool has(const std::string &feature) const { return info->checkFeatures("+" + feature); }

private:
  std::unique_ptr<MCSubtargetInfo> info;
};

TEST(Targets, AreProcessorsOfLlvm) {
  SmallVector<StringRef> known;
  AMDGPU::fillValidArchListAMDGCN(known);
  for (const Target &row : all()) {
    EXPECT_TRUE(is_contained(known, row.name)) << row.name.str();
    const AMDGPU::IsaVersion version = AMDGPU::getIsaVersion(row.name);
    EXPECT_EQ(version.Major, row.version.major) << row.name.str();
    EXPECT_EQ(version.Minor, row.version.minor) << row.name.str();
    EXPECT_EQ(version.Stepping, row.version.stepping) << row.name.str();
  }
}

TEST(Targets, FactsAreThoseOfLlvm) {
  for (const Target &row : all()) {
    SCOPED_TRACE(row.name.str());
    const Features llvm(row);
    EXPECT_EQ(row.isa, row.version.major);
    EXPECT_EQ(row.hasWave32, llvm.has("gfx10-insts"));
    EXPECT_EQ(row.accumulators != Accumulators::None, llvm.has("mai-insts"));
    EXPECT_EQ(row.accumulators == Accumulators::Shared, llvm.has("gfx90a-insts"));
    EXPECT_EQ(row.vgprsPerSimd == 1536, llvm.has("allocate1_5xvgprs"));
    EXPECT_EQ(Fact::maxLdsBytes(row) == 163840, llvm.has("addressablelocalmemorysize163840"));
    EXPECT_EQ(row.cachePolicy == CachePolicy::ScBits, llvm.has("gfx940-insts"));
    EXPECT_EQ(Fact::packedWorkItemIds(row), llvm.has("packed-tid"));
    EXPECT_EQ(Fact::workgroupIdsInTtmp(row), llvm.has("architected-sgprs"));
    EXPECT_EQ(Fact::architectedFlatScratch(row), llvm.has("architected-flat-scratch"));
    EXPECT_EQ(Fact::hasModeInstructions(row), llvm.has("gfx10-insts"));
    EXPECT_EQ(Fact::hasDx10ClampAndIeee(row), !llvm.has("gfx12-insts"));
    EXPECT_TRUE(Fact::waitsForTranscendentals(row) || !llvm.has("valu-trans-use-hazard"));
    EXPECT_EQ(Fact::hasNumberMinMax(row), llvm.has("gfx12-insts"));
    EXPECT_EQ(row.hasMfma(), llvm.has("mai-insts"));
    EXPECT_EQ(row.matrix == Matrix::MfmaScaled, llvm.has("gfx950-insts"));
    EXPECT_EQ(Fact::hasImages(row), llvm.has("image-insts"));
    EXPECT_EQ(row.float8 != Float8::None8, llvm.has("fp8-conversion-insts"));
    EXPECT_EQ(Fact::convertsBfloat(row), llvm.has("bf16-cvt-insts"));
    EXPECT_EQ(row.hasDot2, llvm.has("dot10-insts"));
    EXPECT_EQ(Fact::addsF32InMemory(row), llvm.has("atomic-fadd-rtn-insts"));
    EXPECT_EQ(Fact::trapMayDoNothing(row), llvm.has("priv-enabled-trap2-nop-bug"));
    // LLVM relies on what 16-bit loads leave where registers have no ECC.
    const unsigned attributes = AMDGPU::getArchAttrAMDGCN(AMDGPU::parseArchAMDGCN(row.name));
    EXPECT_EQ(row.loadsOf16BitsClear, (attributes & AMDGPU::FEATURE_SRAMECC) != 0);
  }
}

TEST(Targets, GenericOnesAreRowsOfTheirFamily) {
  for (const Target &row : all()) {
    if (row.generic.empty())
      continue;
    const Target *generic = find(row.generic);
    ASSERT_NE(generic, nullptr) << row.name.str();
    EXPECT_TRUE(generic->isGeneric());
    EXPECT_EQ(generic->version.major, row.version.major);
    EXPECT_TRUE(runsOn(row.generic, row.name));
    // Code for all of a family may count on nothing that one of it lacks.
    EXPECT_LE(generic->vgprsPerSimd, row.vgprsPerSimd);
    EXPECT_LE(Fact::maxLdsBytes(*generic), Fact::maxLdsBytes(row));
  }
}

TEST(Targets, RunOnTheirProcessors) {
  EXPECT_TRUE(runsOn("gfx1100", "gfx1100"));
  EXPECT_TRUE(runsOn("gfx90a:sramecc+:xnack-", "gfx90a"));
  EXPECT_TRUE(runsOn("gfx11-generic", "gfx1100"));
  EXPECT_TRUE(runsOn("gfx9-4-generic", "gfx950"));
  EXPECT_FALSE(runsOn("gfx9-4-generic", "gfx90a"));
  EXPECT_FALSE(runsOn("gfx12-generic", "gfx1100"));
  EXPECT_FALSE(runsOn("gfx1030", "gfx1031"));
}

TEST(Targets, AreFoundByTargetIdsToo) {
  for (const Target &row : all()) {
    EXPECT_EQ(find(row.name), &row);
    EXPECT_EQ(find(row.name.str() + ":xnack-"), &row);
  }
  EXPECT_EQ(find("gfx"), nullptr);
  EXPECT_EQ(find(""), nullptr);
}

TEST(Targets, OneIsTheDefault) {
  EXPECT_EQ(count_if(all(), [](const Target &row) { return row.tests == Tests::Default; }), 1);
  EXPECT_EQ(byDefault().tests, Tests::Default);
}

template <class Predicate> std::string namesOf(Predicate wanted) {
  std::string names;
  for (const Target &row : all())
    if (wanted(row))
      names += (names.empty() ? "" : " ") + row.name.str();
  return names;
}

TEST(EmulatedDevices, AreTheNamedTargets) {
  auto devices = emulatedDevices("gfx942, gfx1201");
  ASSERT_TRUE(bool(devices)) << toString(devices.takeError());
  ASSERT_EQ(devices->size(), 2u);
  EXPECT_EQ((*devices)[0], find("gfx942"));
  EXPECT_EQ((*devices)[1], find("gfx1201"));
  devices = emulatedDevices("");
  ASSERT_TRUE(bool(devices)) << toString(devices.takeError());
  ASSERT_EQ(devices->size(), 1u);
  EXPECT_EQ(devices->front(), &byDefault());
}

TEST(EmulatedDevices, RefuseUnknownNames) {
  for (const char *list : {"gfx942,gfx9999", "gfx90a:xnack-", "gfx942,"}) {
    auto devices = emulatedDevices(list);
    ASSERT_FALSE(bool(devices)) << list;
    EXPECT_NE(toString(devices.takeError()).find("RUBIA_ARCH names '"), std::string::npos);
  }
}

TEST(Targets, CMakeReadsTheSameLists) {
  EXPECT_EQ(namesOf([](const Target &) { return true; }), RUBIA_TARGETS);
  EXPECT_EQ(namesOf([](const Target &row) { return row.tests != Tests::Sampled; }),
            RUBIA_WHOLE_TARGETS);
  EXPECT_EQ(namesOf([](const Target &row) { return row.hasWave32; }), RUBIA_WAVE32_TARGETS);
  EXPECT_EQ(byDefault().name, RUBIA_DEFAULT_TARGET);
}

TEST(Targets, PythonReadsTheSameLists) {
  auto printed = [](const char *list) {
    FILE *pipe = popen((std::string(RUBIA_TARGETS_PY) + " " + list).c_str(), "r");
    char text[4096] = "";
    const size_t size = fread(text, 1, sizeof(text), pipe);
    EXPECT_EQ(pclose(pipe), 0);
    return StringRef(text, size).trim().str();
  };
  EXPECT_EQ(printed("all"), RUBIA_TARGETS);
  EXPECT_EQ(printed("whole"), RUBIA_WHOLE_TARGETS);
  EXPECT_EQ(printed("wave32"), RUBIA_WAVE32_TARGETS);
  EXPECT_EQ(printed("default"), RUBIA_DEFAULT_TARGET);
}

} // namespace
} // namespace rubia::targets
