// SPDX-License-Identifier: Apache-2.0
// rubia diff --explain and --reduce: who is wrong, and the first instruction whose result differs.
#include "SmallCapsule.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <filesystem>
#include <fstream>

namespace diff_tests {
namespace {

/// diff() with a compiler that makes a mistake. What it compiles is in a cache of this call alone:
/// the same code runs several times.
std::string diffMistaken(const std::string &path, StringRef options, StringRef mistake,
                         StringRef program = RUBIA_COMMAND) {
  SmallString<128> cache;
  if (std::error_code problem = sys::fs::createUniqueDirectory("rubia-mistaken", cache))
    return problem.message();
  const std::string text =
      diff(path, options,
           formatv("{0} RUBIA_CACHE_DIR='{1}' RUBIA_SANDBOX=off RUBIA_WORKER='{2}' '{3}'", mistake,
                   cache, RUBIA_MUTATING_WORKER, program));
  (void)sys::fs::remove_directories(cache); // a leftover harms nobody
  return text;
}

/// A statement in a line of the PTX is another.
std::string mutant(unsigned line, StringRef statement, StringRef other) {
  return formatv("RUBIA_TEST_MUTANT='ptx {0}|{1}|{2}' RUBIA_TEST_MUTANT_LOG=/dev/null", line,
                 statement, other);
}

// The recording has another element than PTX gives.
TEST(Explain, NamesTheRecordedSide) {
  const std::string text = diff(makeCapsule(kWrong), "--arch gfx1100 --explain");
  expectIn(text, "the recorded side is wrong, or ran another program: the reference is as gfx1100");
  expectIn(text, "none differs while it is watched");
  expectIn(text, "status 1");
}

// A product that rounds up to 2^-126: an H100 gives 0, processors keep it (docs/numerics.md,
// "Flushing"). What follows from it differs too, and comes later.
TEST(Explain, NamesTheTargetAndTheFirstInstruction) {
  std::string kernel = kKernel;
  kernel.replace(kernel.find("  @%p1 st.global"), 0,
                 ".reg .f32 %f<4>; .reg .b32 %x<3>; .reg .pred %q;\n"
                 "  setp.eq.u32 %q, %r3, 105;\n"
                 "  mov.f32 %f1, 0f3fffffff;\n"
                 "  mov.f32 %f2, 0f00800000;\n"
                 "  mov.f32 %f3, 0f3f000000;\n"
                 "  mul.f32 %f1, %f1, %f3;\n"
                 "  mul.rn.ftz.f32 %f2, %f1, %f2;\n"
                 "  mov.b32 %x1, %f2;\n"
                 "  shr.u32 %x2, %x1, 3;\n"
                 "  @%q mov.u32 %r4, %x2;\n");
  const std::string text = diff(makeCapsule(kWrong, kernel, true, 0), "--arch gfx942 --explain");
  expectIn(text, "gfx942 is wrong: the reference is as recorded");
  expectIn(text, "the first result that differs, in the thread that wrote it: line 23 of the PTX: "
                 "mul.rn.ftz.f32 %f2, %f1, %f2;");
  expectIn(text, "  %f2: gfx942 1.17549435E-38 (0x00800000), reference 0 (0x00000000)");
  expectIn(text, "  with %f1 = 0.99999994 (0x3f7fffff)");
  expectIn(text,
           "  from %f1 = 1.99999988 (0x3fffffff): line 19 of the PTX: mov.f32 %f1, 0f3fffffff;");
  expectIn(text, "status 1");
}

// The same product in thread 0, from which it goes through shared memory to thread 33, and in there
// through a generic address to thread 41, which stores it.
TEST(Explain, FollowsWhatIsLoadedToTheThreadThatComputedIt) {
  std::string kernel = kKernel;
  kernel.replace(kernel.find("  @%p1 st.global"), 0,
                 ".shared .align 4 .b8 values[8];\n"
                 ".reg .f32 %f<4>; .reg .b32 %x<3>; .reg .b64 %a<3>; .reg .pred %q, %s, %t;\n"
                 "  setp.eq.u32 %s, %r1, 0;\n"
                 "  setp.eq.u32 %t, %r1, 33;\n"
                 "  setp.eq.u32 %q, %r3, 105;\n"
                 "  mov.f32 %f1, 0f3f7fffff;\n"
                 "  mov.f32 %f2, 0f00800000;\n"
                 "  @%s mul.rn.ftz.f32 %f2, %f1, %f2;\n" // line 24
                 "  mov.b32 %x1, %f2;\n"
                 "  @%s st.shared.u32 [values], %x1;\n" // line 26
                 "  bar.sync 0;\n"
                 "  @%t ld.shared.u32 %x1, [values];\n" // line 28
                 "  add.u32 %x1, %x1, 1;\n"
                 "  mov.u64 %a1, values;\n"
                 "  cvta.shared.u64 %a1, %a1;\n"
                 "  @%t st.u32 [%a1+4], %x1;\n" // line 32
                 "  bar.sync 0;\n"
                 "  mov.u32 %x2, values;\n"
                 "  @%q ld.shared.u32 %r4, [%x2+4];\n"); // line 35
  const std::string page = testing::TempDir() + "rubia-explained." + std::to_string(getpid());
  const std::string text =
      diff(makeCapsule(kWrong, kernel, true, 1), "--arch gfx942 --explain --html '" + page + "'");
  expectIn(text, "gfx942 is wrong: the reference is as recorded");
  expectIn(text,
           "in the thread that wrote it: line 35 of the PTX: @%q ld.shared.u32 %r4, [%x2+4];");
  expectIn(text, "thread (33,0,0) of CTA (1,0,0) wrote there: line 32 of the PTX");
  expectIn(text, "thread (0,0,0) of CTA (1,0,0) wrote there: line 26 of the PTX");
  expectIn(text, "the first result that differs, in thread (0,0,0) of CTA (1,0,0): line 24 of the "
                 "PTX: @%s mul.rn.ftz.f32 %f2, %f1, %f2;");
  expectIn(text, "  %f2: gfx942 1.17549435E-38 (0x00800000), reference 0 (0x00000000)");
  std::ifstream file(page);
  const std::string html{std::istreambuf_iterator(file), {}};
  expectIn(html, "the first result that differs, in thread (0,0,0) of CTA (1,0,0): line 24");
  expectIn(html, "<span class=\"marked\">24</span>"); // in the PTX
  unlink(page.c_str());
}

// PTX lets a compiler fuse a product and a sum without a rounding: 1 + 2^-12 squared, less 1.
TEST(Explain, TakesFusedAndOtherSumsForRight) {
  std::string kernel = kKernel;
  kernel.replace(kernel.find("  @%p1 st.global"), 0,
                 ".reg .f32 %f<4>; .reg .pred %q;\n"
                 "  setp.eq.u32 %q, %r3, 105;\n"
                 "  cvt.rn.f32.u32 %f1, %r3;\n"
                 "  fma.rn.f32 %f1, %f1, 0f39800000, 0f3f798000;\n" // 105 of it make 1 + 2^-12
                 "  mul.f32 %f2, %f1, %f1;\n"
                 "  add.f32 %f2, %f2, 0fbf800000;\n"
                 "  @%q mov.b32 %r4, %f2;\n");
  constexpr uint32_t kFused = 0x3a000400, kRounded = 0x3a000000;
  for (const uint32_t recorded : {kFused, kRounded}) {
    const auto capsule = [&] { return makeCapsule(kWrong, kernel, true, recorded); };
    std::string text = diff(capsule(), "--arch reference --all");
    expectIn(text, "reference: launch 0 k: equal");
    expectIn(text, "status 0");
    EXPECT_EQ(StringRef(text).contains("the reference fuses 1 of 1 sums with products"),
              recorded == kFused)
        << text;
    text = diff(capsule(), "--arch 'gfx1100;contract=nvidia,gfx1100;contract=never' --all");
    expectIn(text, "launch 0 k: equal");
    expectIn(text, recorded == kFused ? "products and sums are not fused, as PTX permits: with "
                                        "--contract nvidia it is equal"
                                      : "products and sums are fused, as PTX permits: with "
                                        "--contract never it is equal");
    expectIn(text, "status 3");
  }
  // Neither of the two.
  const std::string text =
      diff(makeCapsule(kWrong, kernel, true, kFused + 1), "--arch reference --all");
  expectIn(text, "reference: launch 0 k: different");
  expectIn(text, "status 1");
}

// What has nothing to do with the difference goes, and the script needs `rubia launch` alone.
TEST(Explain, ReducesALaunchToWhatMatters) {
  std::string kernel = kKernel;
  std::string noise = ".reg .f32 %f<9>; .reg .b32 %x<99>; .reg .pred %q;\n";
  for (unsigned i = 1; i < 10; ++i)
    noise += formatv("  mad.lo.u32 %x{0}, %r1, {0}, %r2;\n  xor.b32 %r4, %r4, %x{0};\n"
                     "  xor.b32 %r4, %r4, %x{0};\n",
                     i)
                 .str();
  kernel.replace(kernel.find("  @%p1 st.global"), 0,
                 noise + "  setp.eq.u32 %q, %r1, 41;\n"
                         "  mov.f32 %f1, 0f3f7fffff;\n"
                         "  mov.f32 %f2, 0f00800000;\n"
                         "  mul.rn.ftz.f32 %f2, %f1, %f2;\n"
                         "  ex2.approx.ftz.f32 %f3, %f1;\n"
                         "  @%q mov.b32 %r4, %f2;\n");
  const std::string folder = testing::TempDir() + "rubia-reduced." + std::to_string(getpid());
  const std::string text = diff(makeCapsule(kWrong, kernel, true, 0),
                                "--arch gfx942 --no-locate --reduce '" + folder + "'");
  expectIn(text, "reduced to ");
  expectIn(text, " PTX, 1 CTAs and 4 bytes");
  std::ifstream file(folder + "/kernel.ptx");
  const std::string ptx{std::istreambuf_iterator(file), {}};
  expectIn(ptx, "mul.rn.ftz.f32 %f2, %f1, %f2;");
  EXPECT_LT(StringRef(ptx).count('\n'), 30u) << ptx;
  const std::string tools = StringRef(RUBIA_COMMAND).rsplit('/').first.str();
  const auto run = [&] {
    return std::system(
        ("PATH='" + tools + "':$PATH '" + folder + "/run.sh' > '" + folder + "/said' 2>&1")
            .c_str());
  };
  EXPECT_NE(run(), 0);
  std::ifstream said(folder + "/said");
  expectIn(std::string{std::istreambuf_iterator(said), {}}, "differ");
  // With the bits of an H100 the same script passes.
  EXPECT_EQ(
      std::system(("sed -i 's/--flush native/--flush nvidia/' '" + folder + "/run.sh'").c_str()),
      0);
  EXPECT_EQ(run(), 0);
  std::filesystem::remove_all(folder);
}

// What leads to a value goes with it, and a loop whose end is cut is given up soon.
TEST(Explain, ReducesALoopOfMuchCodeInFewAttempts) {
  std::string kernel = kKernel;
  kernel.insert(kernel.find(".reg"), ".reg .f32 %f<99>; .reg .b32 %x<99>; .reg .pred %q;\n  ");
  std::string code = "  mov.u32 %x1, 0;\n  cvt.rn.f32.u32 %f1, %r1;\nagain:\n";
  for (unsigned i = 2; i < 80; ++i) {
    code += formatv("  setp.eq.u32 %q, %r1, {0};\n  @%q bra on{0};\n", i).str();
    code += formatv("  fma.rn.f32 %f2, %f1, 0f3f000000, 0f3f800000;\n"
                    "  add.f32 %f1, %f1, %f2;\non{0}:\n",
                    i)
                .str();
  }
  kernel.replace(kernel.find("  @%p1 st.global"), 0,
                 code + "  add.u32 %x1, %x1, 1;\n"
                        "  setp.lt.u32 %q, %x1, 3;\n  @%q bra again;\n"
                        "  mov.f32 %f90, 0f3f7fffff;\n"
                        "  mov.f32 %f91, 0f00800000;\n"
                        "  mul.rn.ftz.f32 %f92, %f90, %f91;\n"
                        "  mov.b32 %x2, %f92;\n  mov.b32 %x3, %f1;\n"
                        "  add.u32 %r4, %x2, %x3;\n");
  const std::string folder = testing::TempDir() + "rubia-loop." + std::to_string(getpid());
  const std::string text = diff(makeCapsule(kWrong, kernel, true, 0),
                                "--arch gfx942 --no-locate --reduce '" + folder + "'");
  expectIn(text, "reduced to ");
  unsigned attempts = 0;
  EXPECT_FALSE(StringRef(text).split("bytes, by ").second.consumeInteger(10, attempts)) << text;
  EXPECT_LT(attempts, 80u);
  std::ifstream file(folder + "/kernel.ptx");
  const std::string ptx{std::istreambuf_iterator(file), {}};
  expectIn(ptx, "mul.rn.ftz.f32");
  EXPECT_LT(StringRef(ptx).count('\n'), 30u) << ptx;
  std::filesystem::remove_all(folder);
}

/// What the kernel makes of element 105; %q is false everywhere.
std::string kernelWith(StringRef instructions) {
  std::string text = kKernel;
  text.replace(text.find("  @%p1 st.global"), 0,
               (".reg .b32 %x<9>; .reg .b16 %h<3>; .reg .f32 %f<4>; .reg .pred %q, %s, %t;\n"
                "  setp.ne.u32 %q, %r1, %r1;\n  setp.eq.u32 %s, %r3, 105;\n" +
                instructions + "  selp.b32 %r4, %x1, %r4, %s;\n")
                   .str());
  return text;
}

// What an H100 gives there, docs/ptxas-differences.md, "Where NVIDIA's assembler does not follow
// the manual".
TEST(Explain, NamesTheRecordedSideWhereNvidiasCompilerIsWrong) {
  struct Case {
    const char *instructions;
    uint32_t h100;
  };
  unsigned number = 0;
  for (const Case &one : {
           // Guards that do not hold.
           Case{"  mov.f32 %f1, 0f3f800000;\n  setp.ne.u32 %t, %r1, %r1;\n"
                "  @%q testp.number.f32 %t, %f1;\n  selp.u32 %x1, 7, 5, %t;\n",
                7},
           {"  mov.u32 %x1, 0x12348765;\n  mov.u16 %h1, 3;\n"
            "  @%q set.lt.s32.s16 %x1, %h1, 4;\n",
            0xffff8765},
           {"  mov.f32 %f1, 0fc2280000;\n  mov.u16 %h1, 3;\n"
            "  @%q set.lt.f32.s16 %f1, %h1, 4;\n  mov.b32 %x1, %f1;\n",
            0x00000000},
           {"  mov.u32 %x1, 100;\n  mov.u32 %x2, 0x01010101;\n"
            "  @%q vadd4.u32.u32.u32.add %x1, %x2, %x2, %x1;\n",
            108},
           // Constants that are folded wrongly.
           {"  mov.u32 %x2, 0x12345678;\n  bfe.s32 %x1, %x2, 40, 4;\n", 0xffffffff},
           {"  mov.u32 %x2, 0x12345678;\n  mov.u32 %x3, 0x9abcdef0;\n"
            "  bfi.b32 %x1, %x2, %x3, 0, 32;\n",
            0x9abcdef0},
       }) {
    const std::string target = number++ % 2 ? "gfx942" : "gfx1100";
    const std::string text = diff(makeCapsule(kWrong, kernelWith(one.instructions), true, one.h100),
                                  "--arch " + target + " --explain");
    expectIn(text,
             "the recorded side is wrong, or ran another program: the reference is as " + target);
    expectIn(text, "1 of 128 b32 elements differ; element 105");
    expectIn(text, "status 1");
  }
}

// A mistake of the optimiser that is not there where anything is watched.
TEST(Explain, NamesThePassWhereNothingDiffersWhileItIsWatched) {
  const std::string text = diffMistaken(makeCapsule(~0u), "--arch gfx1100 --explain",
                                        "RUBIA_TEST_WRONG_PASS=4", RUBIA_WRONG_COMMAND);
  expectIn(text, "gfx1100 is wrong: the reference is as recorded");
  expectIn(text, "none differs while it is watched");
  expectIn(text, "what is watched is compiled otherwise");
  expectIn(text, "  with optimise=0 it does not differ");
  expectIn(text, "  LLVM's pass 4 of ");
  expectIn(text, "status 1");
}

// The emulator tells which thread stays where, after a quarter of the seconds, in whole ones.
TEST(Explain, NamesWhereALaunchDoesNotEnd) {
  const std::string text =
      diffMistaken(makeCapsule(~0u), "--arch gfx1100 --explain --timeout 2",
                   mutant(16, "add.u32 %r4, %r3, 1;", "add.u32 %r4, %r3, 1; on: @%p1 bra on;"));
  expectIn(text, "gfx1100 is wrong: it fails, and the reference is as recorded");
  expectIn(text, "thread (7,0,0) of CTA (0,0,0)");
  expectIn(text, "line 16 of the PTX: add.u32 %r4, %r3, 1;");
}

// Threads that are not watched are through the loop long before the one that is, and fail.
TEST(Explain, NamesWhatComesBeforeAFailureOfManyThreads) {
  std::string kernel = kKernel;
  kernel.replace(kernel.find("  mul.wide"), 0,
                 ".reg .b32 %n; .reg .pred %l;\n  mov.u32 %n, 0;\nagain:\n"
                 "  add.u32 %n, %n, 1;\n  setp.lt.u32 %l, %n, 500;\n  @%l bra again;\n");
  const std::string text =
      diffMistaken(makeCapsule(~0u, kernel), "--arch gfx1100 --explain",
                   mutant(21, "add.s64 %d3, %d1, %d2;", "sub.s64 %d3, %d1, %d2;"));
  expectIn(text, "gfx1100 is wrong: it fails, and the reference is as recorded");
  expectIn(text, "line 21 of the PTX: add.s64 %d3, %d1, %d2;");
}

// 2^0.3, far from its value, in a thread that goes on with it: what follows is equal.
TEST(Explain, NamesAnInexactResultThatIsBeyondItsBound) {
  const std::string kernel = kernelWith("  mov.f32 %f1, 0f3e99999a;\n"
                                        "  ex2.approx.ftz.f32 %f2, %f1;\n" // line 21
                                        "  mov.b32 %x1, %f2;\n");
  const auto explained = [&](StringRef wrong) {
    return diffMistaken(makeCapsule(kWrong, kernel, true, 0x3f9d9624),
                        "--arch gfx1100 --type 0=f32 --explain",
                        mutant(21, "ex2.approx.ftz.f32 %f2, %f1;", wrong));
  };
  const std::string text =
      explained("ex2.approx.ftz.f32 %f2, %f1; mul.rn.f32 %f2, %f2, 0f3f804189;"); // 1.002
  expectIn(text, "gfx1100 is wrong: the reference is as recorded");
  expectIn(text,
           "the first result that is beyond its own bound, in the thread that wrote it: line 21 "
           "of the PTX: ex2.approx.ftz.f32 %f2, %f1;");
  expectIn(text, "with %f1 = 0.300000012 (0x3e99999a)");
  // By a bit of the last place it may differ.
  expectIn(explained("ex2.approx.ftz.f32 %f2, %f1; mul.rn.f32 %f2, %f2, 0f3f800001;"), "status 0");
}

/// Warp 1 of each CTA multiplies matrices of ones, by way of shared memory, from where thread 41
/// takes two elements of row 0.
std::string kernelOfTiles() {
  return kernelWith(
      ".shared .align 32 .b8 tile[512];\n"
      ".reg .b32 %fa<8>, %fb<8>, %fc<4>, %fd<4>, %m<2>;\n"
      "  mov.u32 %m0, tile; shl.b32 %m1, %r1, 3; add.u32 %m1, %m1, %m0;\n"
      "  mov.u32 %x2, 0x3c003c00; st.shared.v2.u32 [%m1], {%x2, %x2};\n" // line 23
      "  bar.sync 0;\n"
      "  setp.lt.u32 %t, %r1, 32; setp.eq.u32 %q, %r1, 33;\n"
      "  @%t bra $done;\n"
      "  mov.u32 %fc0, 0; mov.u32 %fc1, 0; mov.u32 %fc2, 0; mov.u32 %fc3, 0;\n"
      "  wmma.load.a.sync.aligned.row.m16n16k16.shared.f16 "
      "{%fa0, %fa1, %fa2, %fa3, %fa4, %fa5, %fa6, %fa7}, [%m0];\n" // line 28
      "  wmma.load.b.sync.aligned.col.m16n16k16.shared.f16 "
      "{%fb0, %fb1, %fb2, %fb3, %fb4, %fb5, %fb6, %fb7}, [%m0];\n"
      "  wmma.mma.sync.aligned.row.col.m16n16k16.f16.f16 {%fd0, %fd1, %fd2, %fd3}, "
      "{%fa0, %fa1, %fa2, %fa3, %fa4, %fa5, %fa6, %fa7}, {%fb0, %fb1, %fb2, %fb3, %fb4, %fb5, "
      "%fb6, %fb7}, "
      "{%fc0, %fc1, %fc2, %fc3};\n"
      "  bar.warp.sync 0xffffffff;\n"
      "  wmma.store.d.sync.aligned.row.m16n16k16.shared.f16 [%m0], {%fd0, %fd1, %fd2, %fd3};\n"
      "  bar.warp.sync 0xffffffff;\n"
      "$done:\n"
      "  ld.shared.u32 %x1, [%m0+20];\n"); // line 35
}

// The fragments of wmma are the same on all sides, so that a wrong one is seen in its lane.
TEST(Explain, NamesALoadOrAProductOfFragments) {
  const std::string kernel = kernelOfTiles();
  const auto explained = [&](const std::string &targets, const std::string &mistake) {
    return diffMistaken(makeCapsule(kWrong, kernel, true, 0x4c004c00),
                        "--arch " + targets + " --explain", mistake);
  };
  std::string text =
      explained("gfx1100,gfx942", mutant(28, "[%m0];", "[%m0]; @%q xor.b32 %fa0, %fa0, 0x40;"));
  for (const std::string target : {"gfx1100", "gfx942"}) {
    expectIn(text,
             "%fa0: " + target + " 1006648384 (0x3c003c40), reference 1006648320 (0x3c003c00)");
  }
  expectIn(text, "in the thread that wrote it: line 35 of the PTX: ld.shared.u32 %x1, [%m0+20];");
  expectIn(text, "thread (33,0,0) of CTA (1,0,0) wrote there: line 32 of the PTX: wmma.store.d");
  expectIn(text, "the first result that differs, in thread (33,0,0) of CTA (1,0,0): line 28 of the "
                 "PTX: wmma.load.a");
  text = explained("gfx1100", mutant(30, "{%fc0, %fc1, %fc2, %fc3};",
                                     "{%fc0, %fc1, %fc2, %fc3}; @%q xor.b32 %fd2, %fd2, 0x20;"));
  expectIn(text, "the first result that is beyond its own bound, in thread (33,0,0) of CTA "
                 "(1,0,0): line 30 of the PTX: wmma.mma");
  expectIn(text, "status 1"); // though what such products lead to is undecided
}

// A bit of the last place: undecided, and nothing but the approximation is another.
TEST(Explain, FollowsWhatIsUndecided) {
  const std::string kernel = kernelWith("  mov.f32 %f1, 0f3e99999a;\n"
                                        "  ex2.approx.ftz.f32 %f2, %f1;\n" // line 21
                                        "  mov.b32 %x1, %f2;\n");
  const std::string text =
      diff(makeCapsule(kWrong, kernel, true, 0x3f9d9625), "--arch gfx1100 --explain");
  expectIn(text, "gfx1100: launch 0 k: undecided: line 21: ex2.approx.ftz.f32");
  expectIn(text, "no third vote: what differs from the reference is undecided");
  expectIn(text, "results are equal, 1 are open: none differs while it is watched");
  expectIn(text, "  it differs however it is compiled");
  expectIn(text, "status 3");
}

} // namespace
} // namespace diff_tests
