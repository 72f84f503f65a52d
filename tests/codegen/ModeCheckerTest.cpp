// SPDX-License-Identifier: Apache-2.0
// One good case and one bad case for each rule of codegen/ModeChecker.h, on every generation.
#include "codegen/ModeChecker.h"
#include "tests/Targets.h"
#include "tests/codegen/ModuleFromText.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace rubia::targets::Fact {
extern const GenerationFact hasModeInstructions;
} // namespace rubia::targets::Fact

namespace {

/// The instructions that switch modes, in the notation of the target.
struct Switches {
  explicit Switches(StringRef arch)
      : hasModeInstructions(rubia::targets::Fact::hasModeInstructions(rubia::test::rowOf(arch))) {}

  std::string round(unsigned mode) const {
    return hasModeInstructions
               ? "s_round_mode " + std::to_string(mode) + "\\0A"
               : "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), " + std::to_string(mode) + "\\0A";
  }
  std::string denormals(unsigned mode) const {
    return hasModeInstructions
               ? "s_denorm_mode " + std::to_string(mode) + "\\0A"
               : "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), " + std::to_string(mode) + "\\0A";
  }

  bool hasModeInstructions;
};

std::string assembly(StringRef text) {
  return ("  call void asm sideeffect \"" + text +
          "\", \"~{v0},~{v1},~{v2},~{v3},~{v4},~{v5},~{s0},~{s1},~{s2},~{s3},~{scc}\"()\n")
      .str();
}

constexpr const char *kAdd = "v_add_f32 v0, v1, v2\\0A";

class ModeChecker : public testing::TestWithParam<const char *> {
protected:
  Switches at{GetParam()};

  /// The checker's error for a module, "" if there is none.
  std::string errorOfModule(const std::string &text) {
    ModuleSource source;
    Options options = optionsFor(GetParam());
    options.checkMode = false;
    CodeObject object = source.mustCompile(text, options);
    return toString(checkMode(object.bytes));
  }
  std::string errorOf(const std::string &text) {
    return errorOfModule("define amdgpu_kernel void @k(i32 %n) {\n" + assembly(text) +
                         "  ret void\n}\n");
  }
};

#define EXPECT_CONTAINS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_P(ModeChecker, AcceptsRegions) {
  EXPECT_EQ(errorOf(kAdd), "");
  EXPECT_EQ(errorOf(at.round(5) + kAdd + at.round(0)), "");
  EXPECT_EQ(errorOf(at.round(15) + "v_fma_f64 v[0:1], v[0:1], v[2:3], v[4:5]\\0A" + at.round(0)),
            "");
  EXPECT_EQ(errorOf(at.round(10) + "v_cvt_f32_f64 v0, v[2:3]\\0Av_mov_b32 v1, v0\\0As_nop 0\\0A" +
                    at.round(0)),
            "");
  EXPECT_EQ(errorOf(at.round(10) + "v_cvt_f16_f32 v0, v2\\0A" + at.round(0)), "");
  EXPECT_EQ(
      errorOf(at.round(1) + "v_mul_f32 v0, v2, v3\\0Av_fma_f32 v0, v2, v3, v0\\0A" + at.round(0)),
      "");
  EXPECT_EQ(errorOf(at.denormals(12) + kAdd + at.denormals(15)), "");
  EXPECT_EQ(errorOf(at.round(5) + at.denormals(12) + kAdd + at.denormals(15) + at.round(0)), "");
  // several regions, one straight after the other
  EXPECT_EQ(errorOf(at.round(5) + kAdd + at.round(10) + kAdd + at.round(0) + kAdd + at.round(5) +
                    kAdd + at.round(0)),
            "");
}

TEST_P(ModeChecker, AcceptsSetregOnOtherRegistersAndFields) {
  EXPECT_EQ(errorOf("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3\\0Av_add_f32 v0, v1, v2\\0A"
                    "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 0\\0A"),
            "");
  EXPECT_EQ(errorOf("s_getreg_b32 s0, hwreg(HW_REG_MODE)\\0A"), "");
}

TEST_P(ModeChecker, AcceptsDivisionOfLlvm) {
  EXPECT_EQ(errorOfModule(R"(
define amdgpu_kernel void @k(ptr addrspace(1) %p, float %a) #0 {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %q = getelementptr float, ptr addrspace(1) %p, i32 %i
  %v = load float, ptr addrspace(1) %q
  %w = fdiv float %a, %v
  %x = fdiv float %w, 3.0
  store float %x, ptr addrspace(1) %q
  ret void
}
declare i32 @llvm.amdgcn.workitem.id.x()
attributes #0 = { "denormal-fp-math-f32"="preserve-sign,preserve-sign" }
)"),
            "");
}

TEST_P(ModeChecker, RejectsModeThatLeavesItsBlock) {
  EXPECT_CONTAINS(errorOf(at.round(5) + kAdd), "a block ends here, expected 'round nearest");
  EXPECT_CONTAINS(errorOf(at.denormals(0) + kAdd), "a block ends here");
  // A branch inside: the mode at the target would depend on the way taken.
  std::string error =
      errorOf(at.round(5) + kAdd + "s_cbranch_scc0 .Lx\\0A" + at.round(0) + ".Lx:\\0As_nop 0\\0A");
  EXPECT_CONTAINS(error, "'s_cbranch_scc0");
  EXPECT_CONTAINS(error, "a block ends here");
}

TEST_P(ModeChecker, RejectsBlockThatBeginsInsideRegion) {
  std::string error =
      errorOf("s_cbranch_scc0 .Lx\\0A" + at.round(5) + kAdd + ".Lx:\\0A" + kAdd + at.round(0));
  EXPECT_CONTAINS(error, "a block begins here, expected 'round nearest; denormals keep', found "
                         "'round up; denormals keep'");
}

TEST_P(ModeChecker, KnowsAFarBranchByItsRegisters) {
  // s_getpc_b64 has 4 bytes and gives the address behind it. What is added to it here leads to the
  // addition within the region.
  auto afterGetPc = [&](const std::string &steps) {
    return errorOf("s_getpc_b64 s[0:1]\\0A.Lpc:\\0A" + steps + ".Lback:\\0A" + at.round(5) + kAdd +
                   ".Linside:\\0A" + kAdd + at.round(0));
  };
  const std::string sum = "s_add_u32 s0, s0, .Linside-.Lpc\\0As_addc_u32 s1, s1, 0\\0A";
  EXPECT_CONTAINS(afterGetPc(sum + "s_cbranch_scc0 .Lback\\0As_setpc_b64 s[0:1]\\0A"),
                  "a block begins here");
  // An address that is only loaded from, and a step of another pointer, are no branches.
  EXPECT_EQ(afterGetPc(sum + "s_load_dword s2, s[0:1], 0x0\\0A"), "");
  EXPECT_EQ(afterGetPc("s_add_u32 s2, s2, .Linside-.Lpc\\0As_addc_u32 s3, s3, 0\\0A"), "");
  // Nor is a return by registers that held the sum before.
  EXPECT_EQ(afterGetPc(sum + "s_cbranch_scc0 .Lback\\0As_mov_b64 s[0:1], s[2:3]\\0A"
                             "s_setpc_b64 s[0:1]\\0A"),
            "");
}

TEST_P(ModeChecker, RejectsRegionAcrossBlocksOfTheModule) {
  std::string error = errorOfModule(
      "define amdgpu_kernel void @k(i32 %n) {\nentry:\n" + assembly(at.round(5) + kAdd) +
      "  %c = icmp eq i32 %n, 0\n  br i1 %c, label %a, label %b\na:\n" + assembly("; a\\0A") +
      "  br label %b\nb:\n" + assembly(at.round(0)) + "  ret void\n}\n");
  EXPECT_CONTAINS(error, "found 'round up");
}

TEST_P(ModeChecker, RejectsCallInRegion) {
  std::string error = errorOf(at.round(5) + kAdd + "s_swappc_b64 s[0:1], s[2:3]\\0A" + at.round(0));
  EXPECT_CONTAINS(error, "'s_swappc_b64 s[0:1], s[2:3]': a block ends here");
}

TEST_P(ModeChecker, RejectsReturnInAnotherMode) {
  std::string error = errorOfModule(
      "define void @callee() noinline {\n" + assembly(at.round(5) + kAdd) + "  ret void\n}\n" +
      "define amdgpu_kernel void @k(i32 %n) {\n  call void @callee()\n  ret void\n}\n");
  EXPECT_CONTAINS(error, "floating-point mode of 'callee' at 0x");
  EXPECT_CONTAINS(error, "'s_setpc_b64 s[30:31]': a block ends here");
}

TEST_P(ModeChecker, RejectsForeignInstructions) {
  std::string nearest = "expected 'round nearest";
  for (const char *foreign :
       {"ds_read_b32 v3, v4\\0A", "s_load_dword s0, s[2:3], 0x0\\0A", "v_exp_f32 v3, v4\\0A",
        "v_max_f32 v3, v4, v5\\0A", "s_mov_b32 s0, 1\\0A", "v_xor_b32 v3, v4, v5\\0A"}) {
    std::string error = errorOf(at.round(5) + kAdd + foreign + at.round(0));
    EXPECT_CONTAINS(error, "at anything but arithmetic that rounds");
    EXPECT_CONTAINS(error, nearest);
    EXPECT_CONTAINS(error, "found 'round up; denormals keep'");
  }
}

TEST_P(ModeChecker, RejectsAtomicsAndScalarFloatsInDenormalRegions) {
  EXPECT_CONTAINS(
      errorOf(at.denormals(0) + kAdd + "ds_add_f32 v3, v4\\0A" + at.denormals(15)),
      "expected 'round nearest; denormals keep', found 'round nearest; denormals flush'");
  if (rubia::test::rowOf(GetParam()).isa >= 12) {
    EXPECT_CONTAINS(errorOf(at.denormals(0) + kAdd + "s_add_f32 s0, s1, s2\\0A" + at.denormals(15)),
                    "'s_add_f32 s0, s1, s2'");
    EXPECT_CONTAINS(errorOf(at.round(5) + kAdd + "s_mul_f32 s0, s1, s2\\0A" + at.round(0)),
                    "'s_mul_f32 s0, s1, s2'");
  }
  // An integer load depends on no mode: LLVM may schedule it into its division.
  EXPECT_EQ(errorOf(at.denormals(0) + kAdd + "ds_read_b32 v3, v4\\0A" + at.denormals(15)), "");
}

TEST_P(ModeChecker, RejectsEmptyRegions) {
  EXPECT_CONTAINS(errorOf(at.round(5) + at.round(0)), "the mode was changed for no instruction");
  EXPECT_CONTAINS(errorOf(at.round(5) + "v_mov_b32 v0, v1\\0A" + at.round(0)),
                  "the mode was changed for no instruction");
  EXPECT_CONTAINS(errorOf(at.denormals(0) + "v_mov_b32 v0, v1\\0A" + at.denormals(15)),
                  "the mode was changed for no instruction");
  EXPECT_CONTAINS(
      errorOf(at.denormals(12) + "v_add_f64 v[0:1], v[2:3], v[4:5]\\0A" + at.denormals(15)),
      "the mode was changed for no instruction");
  EXPECT_CONTAINS(errorOf(at.round(5) + "v_cvt_f64_f32 v[0:1], v2\\0A" + at.round(0)),
                  "the mode was changed for no instruction"); // exact
}

TEST_P(ModeChecker, RejectsOperationOfAnotherWidth) {
  EXPECT_CONTAINS(
      errorOf(at.round(1) + kAdd + "v_add_f64 v[0:1], v[2:3], v[4:5]\\0A" + at.round(0)),
      "expected a directed rounding of f16/f64 in this region, found 'round f32 up, f16/f64 "
      "nearest");
  EXPECT_CONTAINS(errorOf(at.round(4) + "v_add_f16 v0, v1, v2\\0A" + kAdd + at.round(0)),
                  "expected a directed rounding of f32");
  EXPECT_CONTAINS(errorOf(at.round(1) + "v_cvt_f16_f32 v0, v1\\0A" + at.round(0)),
                  "expected a directed rounding of f16/f64");
}

TEST_P(ModeChecker, RejectsModeFromRegister) {
  EXPECT_CONTAINS(errorOf("s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s0\\0A"),
                  "expected a constant mode");
}

TEST_P(ModeChecker, RejectsOtherBitsOfMode) {
  EXPECT_CONTAINS(errorOf("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 9, 1), 0\\0A"),
                  "writes bits of MODE");
  EXPECT_CONTAINS(errorOf("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 32), 0\\0A"),
                  "writes bits of MODE");
}

TEST_P(ModeChecker, FollowsTheKernelsOwnMode) {
  // A kernel that flushes f32 denormals: keeping them is the region, and leaving with "keep" is the
  // error.
  std::string head = "define amdgpu_kernel void @k() #0 {\n",
              tail = "  ret void\n}\nattributes #0 = { "
                     "\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\" }\n";
  EXPECT_EQ(errorOfModule(head + assembly(at.denormals(15) + kAdd + at.denormals(12)) + tail), "");
  EXPECT_CONTAINS(errorOfModule(head + assembly(at.denormals(15) + kAdd + at.denormals(15)) + tail),
                  "expected 'round nearest; denormals f32 flush, f16/f64 keep'");
}

TEST_P(ModeChecker, ChecksFunctionsAgainstTheKernelsThatMayCallThem) {
  std::string callee = "define void @callee() noinline #0 {\n" +
                       assembly(at.denormals(15) + kAdd + at.denormals(12)) + "  ret void\n}\n";
  std::string attributes =
      "attributes #0 = { \"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\" }\n";
  EXPECT_EQ(
      errorOfModule(callee +
                    "define amdgpu_kernel void @k() #0 {\n  call void @callee()\n  ret void\n}\n" +
                    attributes),
      "");
  std::string error = errorOfModule(
      callee + "define amdgpu_kernel void @k() {\n  call void @callee()\n  ret void\n}\n" +
      attributes);
  EXPECT_CONTAINS(error, "mode of 'callee'");
}

TEST_P(ModeChecker, NamesFunctionAddressAndInstruction) {
  std::string error = errorOf(at.round(5) + kAdd + "v_exp_f32 v3, v4\\0A" + at.round(0));
  EXPECT_CONTAINS(error, "floating-point mode of 'k' at 0x");
  EXPECT_CONTAINS(error, "'v_exp_f32_e32 v3, v4'");
}

TEST_P(ModeChecker, RunsInEveryCompilation) {
  ModuleSource source;
  std::string text =
      "define amdgpu_kernel void @k() {\n" + assembly(at.round(5) + kAdd) + "  ret void\n}\n";
  Expected<CodeObject> object = source.compile(text, optionsFor(GetParam()));
  ASSERT_FALSE(bool(object));
  handleAllErrors(object.takeError(), [](const CodegenError &error) {
    EXPECT_EQ(error.function, "k");
    EXPECT_EQ(error.fault, Fault::Malformed);
  });
}

TEST_P(ModeChecker, ReportsManyViolationsInBounds) {
  std::string text;
  for (int i = 0; i < 30; ++i)
    text += at.round(5) + at.round(0);
  EXPECT_CONTAINS(errorOf(text), "and 10 more");
}

INSTANTIATE_TEST_SUITE_P(Targets, ModeChecker, testing::ValuesIn(rubia::test::testTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

TEST(ModeChecker, RejectsBytesThatAreNoCodeObject) {
  EXPECT_CONTAINS(toString(checkMode({})), "invalid code object");
}

} // namespace
