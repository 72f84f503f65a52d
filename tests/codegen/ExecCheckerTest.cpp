// SPDX-License-Identifier: Apache-2.0
// Good and bad cases for the rules of codegen/ExecChecker.h, on every generation.
#include "codegen/ExecChecker.h"
#include "tests/codegen/AssemblyTest.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

class ExecChecker : public CheckerTest {
protected:
  ExecChecker() : CheckerTest(checkExec) {}
};

constexpr const char *kData = "EXEC gets other data";

TEST_P(ExecChecker, AcceptsMasks) {
  EXPECT_CLEAN("s_mov_B S2, EXEC\ns_mov_B EXEC, S2\n");
  EXPECT_CLEAN("v_cmp_eq_u32 VCC, 0, v0\ns_and_saveexec_B S2, VCC\ns_or_B EXEC, EXEC, S2\n");
  EXPECT_CLEAN("v_cmp_eq_u32 VCC, 0, v0\ns_and_saveexec_B S2, VCC\ns_xor_B S2, EXEC, S2\n"
               "s_or_saveexec_B S2, S2\ns_xor_B EXEC, EXEC, S2\n");
  EXPECT_CLEAN("s_load_dword s4, s[0:1], 0x0\ns_load_dword s5, s[0:1], 0x0\n"
               "s_and_B S2, EXEC, S4\ns_mov_B EXEC, S2\n"); // a part of the lanes
  EXPECT_CLEAN("s_mov_B EXEC, 0\n");
  // The upper half of a constant is the 0 that a loop's mask begins with.
  for (const char *number : {"0x123", "0xfedcba98"})
    EXPECT_CLEAN(std::string("s_mov_b64 s[4:5], ") + number +
                 "\ns_mov_b32 s2, s5\ns_mov_b32 s3, s5\ns_or_B EXEC, EXEC, S2\n");
}

// Where assembly enters a region within another one it knows its lanes.
TEST_P(ExecChecker, AcceptsAccessesOfRegionsOfAssembly) {
  const std::string access = "ds_write_b32 v0, v1\n";
  const auto text = [&](const std::string &inside, const std::string &behind) {
    return "s_or_saveexec_B S2, -1\ns_or_saveexec_B S4, -1\n" + inside + "s_mov_B EXEC, S4\n" +
           behind + "s_mov_B EXEC, S2\n";
  };
  EXPECT_CLEAN(text(access, ""));
  EXPECT_CLEAN(text("s_and_B EXEC, EXEC, S6\n" + access, ""));
  EXPECT_CLEAN(text(access, "v_mov_b32 v0, v1\n") + access);
  EXPECT_CONTAINS(errorOf(text("", access)), "memory is written in a whole-wave region");
  EXPECT_CONTAINS(errorOf("s_or_saveexec_B S2, -1\n" + access + "s_mov_B EXEC, S2\n"),
                  "memory is written in a whole-wave region");
}

TEST_P(ExecChecker, RejectsOtherData) {
  EXPECT_CONTAINS(errorOf("s_mov_B EXEC, S2\n"), kData);
  EXPECT_CONTAINS(errorOf("v_readfirstlane_b32 s2, v0\nv_readfirstlane_b32 s3, v1\n"
                          "s_mov_B EXEC, S2\n"),
                  kData);
  EXPECT_CONTAINS(errorOf("s_load_dword s2, s[0:1], 0x0\ns_mov_b32 s3, 0\ns_or_B EXEC, EXEC, S2\n"),
                  kData);
  EXPECT_CONTAINS(errorOf("s_mov_B S2, EXEC\ns_lshl_B S2, S2, 1\ns_mov_B EXEC, S2\n"), kData);
  EXPECT_CONTAINS(errorOf("s_mov_B EXEC, 1\n"), kData);
  EXPECT_CONTAINS(errorOf("s_mov_b64 s[4:5], 0x123\ns_mov_b32 s2, s4\ns_mov_b32 s3, s4\n"
                          "s_or_B EXEC, EXEC, S2\n"),
                  kData);
  if (isWave64()) // one half
    EXPECT_CONTAINS(errorOf("s_mov_b64 s[2:3], EXEC\ns_mov_b32 s3, s0\ns_mov_b64 EXEC, s[2:3]\n"),
                    kData);
}

// LLVM's tables say VCC for what a comparison writes, also in waves of 32 lanes.
TEST_P(ExecChecker, KnowsThatVccHiIsAnotherRegister) {
  if (isWave64())
    return;
  EXPECT_CONTAINS(errorOf("v_readfirstlane_b32 vcc_hi, v0\nv_cmp_eq_u32_e32 vcc_lo, v0, v1\n"
                          "s_mov_b32 exec_lo, vcc_hi\n"),
                  kData);
  EXPECT_EQ(errorOfModule("define internal void @compares() noinline {\n" +
                          assembly("v_cmp_eq_u32_e32 vcc_lo, v0, v1\n") +
                          "  ret void\n}\ndefine amdgpu_kernel void @k() {\n" +
                          assembly("s_mov_b32 vcc_hi, exec_lo\n") + "  call void @compares()\n" +
                          assembly("s_mov_b32 exec_lo, vcc_hi\n") + "  ret void\n}\n"),
            "");
}

TEST_P(ExecChecker, FollowsEveryWay) {
  // What was wrong in LLVM: the mask on one way, data on the other.
  EXPECT_CONTAINS(errorOf("s_mov_B S2, EXEC\ns_cbranch_scc0 .Lx\nv_readfirstlane_b32 s2, v0\n"
                          ".Lx:\ns_mov_B EXEC, S2\n"),
                  kData);
  EXPECT_CLEAN("s_mov_B S2, EXEC\ns_cbranch_scc0 .Lx\ns_mov_B S2, 0\n"
               ".Lx:\ns_mov_B EXEC, S2\n");
  // Round a loop.
  EXPECT_CONTAINS(errorOf("s_mov_B S2, EXEC\n.Lx:\ns_mov_B EXEC, S2\ns_mov_b32 s2, s4\n"
                          "s_cbranch_scc0 .Lx\n"),
                  kData);
  EXPECT_CLEAN("s_mov_B S2, EXEC\ns_mov_B S4, 0\n.Lx:\nv_cmp_eq_u32 VCC, 0, v0\n"
               "s_or_B S4, VCC, S4\ns_andn2_B EXEC, EXEC, S4\ns_cbranch_execnz .Lx\n"
               "s_or_B EXEC, EXEC, S4\n");
  // Code that nothing leads to does not count.
  EXPECT_CLEAN("s_branch .Lx\ns_mov_B EXEC, S2\n.Lx:\ns_nop 0\n");
}

TEST_P(ExecChecker, FollowsLanesOfVectorRegisters) {
  std::string save = isWave64()
                         ? "v_writelane_b32 v40, exec_lo, 3\nv_writelane_b32 v40, exec_hi, 4\n"
                         : "v_writelane_b32 v40, exec_lo, 3\n";
  std::string load = isWave64() ? "v_readlane_b32 s2, v40, 3\nv_readlane_b32 s3, v40, 4\n"
                                : "v_readlane_b32 s2, v40, 3\n";
  auto error = [&](const std::string &between) {
    return errorOf(save + between + load + "s_mov_B EXEC, S2\n");
  };
  EXPECT_EQ(error(""), "");
  EXPECT_EQ(error("v_writelane_b32 v40, s4, 5\n"), "");
  EXPECT_CONTAINS(error("v_writelane_b32 v40, s4, 3\n"), kData);
  EXPECT_CONTAINS(error("v_mov_b32 v40, v0\n"), kData);
  // The whole register is copied and comes back, with all lanes on.
  std::string on = "s_or_saveexec_B S4, -1\n", off = "s_mov_B EXEC, S4\n";
  EXPECT_EQ(error(on + "v_mov_b32 v41, v40\nv_mov_b32 v40, 0\nv_mov_b32 v40, v41\n" + off), "");
  EXPECT_CONTAINS(error(on + "v_mov_b32 v41, v40\n" + off + "v_mov_b32 v40, v41\n"), kData);
}

TEST_P(ExecChecker, WholeWaveRegionsEnd) {
  EXPECT_CLEAN("s_or_saveexec_B S2, -1\nv_mov_b32 v0, 0\ns_mov_B EXEC, S2\n");
  EXPECT_CLEAN("s_mov_B S2, EXEC\ns_mov_B EXEC, -1\nv_mov_b32 v0, 0\ns_mov_B EXEC, S2\n");
  EXPECT_CLEAN("s_xor_saveexec_B S2, -1\nv_mov_b32 v0, 0\ns_mov_B EXEC, -1\ns_mov_B EXEC, S2\n");
  EXPECT_CONTAINS(errorOf("s_or_saveexec_B S2, -1\nds_write_b32 v0, v1\ns_mov_B EXEC, S2\n"),
                  "memory is written in a whole-wave region");
  for (const char *load :
       {"ds_read_b32 v0, v1", "global_load_dword v0, v[2:3], off", "flat_load_dword v0, v[2:3]"})
    EXPECT_CONTAINS(
        errorOf("s_or_saveexec_B S2, -1\n" + std::string(load) + "\ns_mov_B EXEC, S2\n"),
        "memory is read in a whole-wave region");
  EXPECT_CLEAN("s_or_saveexec_B S2, -1\nds_bpermute_b32 v0, v1, v2\ns_mov_B EXEC, S2\n");
  EXPECT_CONTAINS(
      errorOf("s_or_saveexec_B S2, -1\ns_swappc_b64 s[4:5], s[6:7]\ns_mov_B EXEC, S2\n"),
      "a function is called in a whole-wave region");
  // Comparisons in it have lanes beyond.
  EXPECT_CONTAINS(errorOf("s_or_saveexec_B S2, -1\nv_cmp_eq_u32 VCC, 0, v0\ns_mov_B EXEC, S2\n"
                          "s_or_B EXEC, EXEC, VCC\n"),
                  "EXEC gets lanes that did not execute");
  EXPECT_CONTAINS(errorOfModule("define void @f() noinline {\n" +
                                assembly("s_or_saveexec_B S2, -1\n") +
                                "  ret void\n}\ndefine amdgpu_kernel void @k() {\n"
                                "  call void @f()\n  ret void\n}\n"),
                  "the function is left in a whole-wave region");
}

// What a function writes counts also where its code has been found right before.
TEST_P(ExecChecker, KnowsFunctionsThatItHasSeen) {
  const auto text = [&](const std::string &function) {
    return "define internal void @f() noinline {\n" + assembly(function) +
           "  ret void\n}\ndefine amdgpu_kernel void @k() {\n" + assembly("s_mov_B S20, EXEC\n") +
           "  call void @f()\n" + assembly("s_mov_B EXEC, S20\n") + "  ret void\n}\n";
  };
  for (unsigned round = 0; round < 3; ++round) {
    EXPECT_EQ(errorOfModule(text("s_mov_b32 s22, s4\n")), "");
    EXPECT_CONTAINS(errorOfModule(text("s_mov_b32 s20, s4\n")), kData);
    EXPECT_CONTAINS(errorOfModule(text("s_or_saveexec_B S2, -1\n")),
                    "the function is left in a whole-wave region");
  }
}

TEST_P(ExecChecker, AcceptsWhatLlvmMakes) {
  EXPECT_EQ(errorOfModule(R"(
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.strict.wwm.i32(i32)
declare i32 @llvm.amdgcn.set.inactive.i32(i32, i32)
declare i32 @llvm.amdgcn.readlane.i32(i32, i32)
define i32 @f(ptr addrspace(1) %p, i32 %n) noinline {
  %v = load volatile i32, ptr addrspace(1) %p
  %c = icmp eq i32 %v, %n
  br i1 %c, label %a, label %b
a:
  %w = call i32 @f(ptr addrspace(1) %p, i32 %v)
  br label %b
b:
  %r = phi i32 [ 0, %0 ], [ %w, %a ]
  ret i32 %r
}
define internal i32 @double(i32 %n) noinline {
  %r = shl i32 %n, 1
  ret i32 %r
}
define internal i32 @next(i32 %n) noinline {
  %r = add i32 %n, 1
  ret i32 %r
}
; Registers are allocated across these calls: the mask stays in one that the callee leaves alone.
define amdgpu_kernel void @calls(ptr addrspace(1) %p) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %o = and i32 %i, 1
  %d = icmp eq i32 %o, 0
  br i1 %d, label %even, label %odd
even:
  %x = call i32 @double(i32 %i)
  br label %out
odd:
  %y = call i32 @next(i32 %i)
  br label %out
out:
  %r = phi i32 [ %x, %even ], [ %y, %odd ]
  %q = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %r, ptr addrspace(1) %q
  ret void
}
define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr %g) {
entry:
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  br label %loop
loop:
  %n = phi i32 [ %i, %entry ], [ %m, %tail ]
  %o = and i32 %n, 1
  %d = icmp eq i32 %o, 0
  br i1 %d, label %even, label %tail
even:
  %r = call i32 @f(ptr addrspace(1) %p, i32 %n)
  %h = load ptr, ptr %g
  call void %h(i32 %r)
  %s = call i32 @llvm.amdgcn.set.inactive.i32(i32 %r, i32 0)
  %t = call i32 @llvm.amdgcn.readlane.i32(i32 %s, i32 31)
  %u = call i32 @llvm.amdgcn.strict.wwm.i32(i32 %t)
  store volatile i32 %u, ptr addrspace(1) %p
  br label %tail
tail:
  %m = add i32 %n, 3
  %e = icmp ult i32 %m, 100
  br i1 %e, label %loop, label %out
out:
  ret void
}
)"),
            "");
}

TEST_P(ExecChecker, RunsInEveryCompilation) {
  ModuleSource source;
  std::string text =
      "define amdgpu_kernel void @k() {\n" + assembly("s_mov_B EXEC, S2\n") + "  ret void\n}\n";
  Expected<CodeObject> object = source.compile(text, optionsFor(GetParam()));
  ASSERT_FALSE(bool(object));
  handleAllErrors(object.takeError(), [](const CodegenError &error) {
    EXPECT_EQ(error.function, "k");
    EXPECT_EQ(error.fault, Fault::Malformed);
    EXPECT_CONTAINS(error.message, "EXEC of 'k' at 0x");
    EXPECT_CONTAINS(error.message, "'s_mov_b");
  });
}

INSTANTIATE_TEST_SUITE_P(Targets, ExecChecker, testing::ValuesIn(rubia::test::testTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

} // namespace
