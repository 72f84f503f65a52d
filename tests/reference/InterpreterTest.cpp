// SPDX-License-Identifier: Apache-2.0
// What the interpreter says of kernels that are wrong, and what other tests do not reach: threads
// that wait for each other, device functions of the driver, module variables.
#include "reference/Interpreter.h"
#include "ptx-frontend/Parser.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cstring>

using namespace llvm;
using namespace rubia;

namespace {

constexpr const char *kHead = ".version 8.5\n.target sm_90\n.address_size 64\n";

struct Outcome {
  std::vector<uint32_t> out; // what the kernel's one buffer holds afterwards
  std::string error, printed;
  reference::Statistics statistics;
};

struct Shape {
  uint32_t grid = 1, block = 32, words = 64;
  uint64_t instructionLimit = 1'000'000;
  bool cooperative = false;
  const char *head = kHead;
  reference::Movement movement = {};
  bool hasErrors = false; // outside of the kernel
};

// Runs the only kernel, `k`(.u64 out); `declarations` stand before it.
Outcome run(const std::string &body, Shape shape = {}, const std::string &declarations = "") {
  Outcome result;
  ptx::ParseResult parsed =
      ptx::parse("test.ptx",
                 shape.head + declarations + "\n.visible .entry k(.param .u64 out)\n{\n" +
                     "  .reg .pred p<4>; .reg .b32 r<16>; .reg .b64 d<16>; .reg .f32 f<8>;\n" +
                     "  ld.param.u64 d0, [out]; mov.u32 r0, %tid.x; mad.wide.u32 d1, r0, 4, d0;\n" +
                     body + "\n}\n");
  EXPECT_EQ(parsed.hasErrors(), shape.hasErrors);
  auto interpreter = reference::Interpreter::create(parsed.module);
  if (!interpreter) {
    result.error = toString(interpreter.takeError());
    return result;
  }
  std::vector<uint64_t> words(shape.words / 2 + 1);
  auto *bytes = reinterpret_cast<uint8_t *>(words.data());
  const uint64_t address = reinterpret_cast<uint64_t>(bytes);
  (*interpreter)->addMemory({address, {bytes, shape.words * 4}});
  reference::Launch launch;
  launch.kernel = "k";
  launch.grid[0] = shape.grid;
  launch.block[0] = shape.block;
  launch.parameters = ArrayRef(reinterpret_cast<const uint8_t *>(&address), sizeof(address));
  launch.instructionLimit = shape.instructionLimit;
  launch.cooperative = shape.cooperative;
  launch.movement = shape.movement;
  auto print = [&](StringRef text) { result.printed += text; };
  launch.print = print;
  auto statistics = (*interpreter)->launch(launch);
  if (statistics)
    result.statistics = *statistics;
  else
    result.error = toString(statistics.takeError());
  result.out.resize(shape.words);
  memcpy(result.out.data(), bytes, shape.words * 4);
  return result;
}

testing::AssertionResult fails(const Outcome &result, StringRef text) {
  if (StringRef(result.error).contains(text))
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "error: '" << result.error << "'";
}

TEST(Interpreter, NamesKernelLineThreadAndAddressOutOfBounds) {
  Outcome result = run("st.global.u32 [d1], r0;", {1, 64, 40});
  EXPECT_TRUE(fails(result, "test.ptx:9: kernel 'k', block (0,0,0), thread (40,0,0): "
                            "'st.global.u32': address "));
  EXPECT_TRUE(fails(result, "is out of bounds: 4 bytes of global memory"));
  EXPECT_EQ(result.out[39], 39u);
}

TEST(Interpreter, ChecksSharedAndLocalBoundsAndAlignment) {
  EXPECT_TRUE(fails(run("st.shared.u32 [s+16], r0;", {}, ".shared .align 4 .b8 s[16];"),
                    "4 bytes of shared memory of 16 bytes"));
  EXPECT_TRUE(fails(run(".local .align 4 .b8 l[8]; ld.local.u32 r1, [l+8];"),
                    "4 bytes of local memory of 8 bytes"));
  EXPECT_TRUE(fails(run("ld.global.u32 r1, [d0+2];"), "is not aligned to 4 bytes"));
}

TEST(Interpreter, NamesWhatIsNotSupported) {
  EXPECT_TRUE(fails(run("multimem.ld_reduce.global.add.u32 r1, [d0];"),
                    "'multimem.ld_reduce.global.add.u32': unsupported: "));
  // Only where it is executed.
  Outcome result = run("setp.eq.u32 p0, r0, 99; @p0 multimem.ld_reduce.global.add.u32 r1, [d0];"
                       "st.global.u32 [d1], 7;");
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.out[31], 7u);
}

TEST(Interpreter, CallsNoFunctionWithErrors) {
  EXPECT_TRUE(fails(run("call.uni f; ret;", {.hasErrors = true},
                        ".func f() { .reg .b32 r; add.u32 r, nothing, 1; ret; }"),
                    "a call of 'f', which has errors"));
}

TEST(Interpreter, ReportsADivergentBarrier) {
  EXPECT_TRUE(fails(run("setp.lt.u32 p0, r0, 9; @p0 bra A; bar.sync 0; bra E; A: bar.sync 0; E:"),
                    "divergent barrier: threads of a warp are at 'bar.sync' at line 9"));
  EXPECT_TRUE(fails(run("setp.lt.u32 p0, r0, 9; @p0 bra A; barrier.sync 1; bra E;"
                        "A: barrier.sync 2; E:"),
                    "threads wait for others that never come: 'barrier.sync'"));
}

// What an H200 gives (driver 580.159.04, 2026-11-29). The first 9 lanes take the second way.
std::vector<uint32_t> onTwoWays(const std::string &first, const std::string &second) {
  Outcome result = run("setp.lt.u32 p0, r0, 9; mad.lo.u32 r2, r0, 3, 100; @p0 bra A;" + first +
                       "bra E; A:" + second + "E: st.global.u32 [d1], r1;");
  EXPECT_EQ(result.error, "");
  result.out.resize(32);
  return result.out;
}

TEST(Interpreter, MembersMeetOnSeveralWays) {
  std::vector<uint32_t> out = onTwoWays("shfl.sync.bfly.b32 r1, r0, 16, 31, -1;",
                                        "shfl.sync.bfly.b32 r1|p1, r2, 16, 31, -1;");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], (lane ^ 16) < 9 ? 3 * (lane ^ 16) + 100 : lane ^ 16) << lane;
  out = onTwoWays("shfl.sync.idx.b32 r1, r0, 3, 31, -1;", "shfl.sync.idx.b32 r1, r2, 20, 31, -1;");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], lane < 9 ? 20u : 109u) << lane;
  out = onTwoWays("redux.sync.add.u32 r1, r0, -1;", "redux.sync.add.u32 r1, r2, -1;");
  EXPECT_THAT(out, testing::Each(496u - 36 + 900 + 3 * 36));
  out = onTwoWays("setp.ne.u32 p1, r0, 30; vote.sync.ballot.b32 r1, p1, -1;",
                  "setp.ne.u32 p2, r0, 3; vote.sync.ballot.b32 r1, p2, -1;");
  EXPECT_THAT(out, testing::Each(~(1u << 30 | 1u << 3)));
  out = onTwoWays("elect.sync r1|p1, -1;", "elect.sync r1|p2, -1;");
  EXPECT_THAT(out, testing::Each(0u));
}

TEST(Interpreter, MembersMeetInTwoLoops) {
  const std::string round = "add.u32 r3, r0, r5; shfl.sync.bfly.b32 r4, r3, 16, 31, -1;"
                            "add.u32 r1, r1, r4; add.u32 r5, r5, 1; setp.lt.u32 p1, r5, 5;";
  std::vector<uint32_t> out = onTwoWays("mov.u32 r1, 0; mov.u32 r5, 0; B: " + round + "@p1 bra B;",
                                        "mov.u32 r1, 0; mov.u32 r5, 0; C: " + round + "@p1 bra C;");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], 5 * (lane ^ 16) + 10) << lane;
}

// A lane has the mask of its own half; the halves are on both ways.
TEST(Interpreter, MembersOfSeveralMasksMeet) {
  std::vector<uint32_t> out =
      onTwoWays("setp.lt.u32 p1, r0, 16; selp.u32 r6, 0xffff, 0xffff0000, p1;"
                "shfl.sync.bfly.b32 r1, r0, 8, 31, r6;",
                "mov.u32 r6, 0xffff; shfl.sync.bfly.b32 r1, r2, 8, 31, r6;");
  for (uint32_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(out[lane], (lane ^ 8) < 9 ? 3 * (lane ^ 8) + 100 : lane ^ 8) << lane;
}

TEST(Interpreter, ReportsMembersThatNeverCome) {
  EXPECT_TRUE(fails(run("setp.lt.u32 p0, r0, 9; @p0 bra A;"
                        "shfl.sync.idx.b32 r1, r0, 0, 31, -1; bra E; A:"
                        "shfl.sync.up.b32 r1, r0, 0, 0, -1; E:"),
                    "threads wait for others that never come: 'shfl.sync.idx.b32'"));
  EXPECT_TRUE(fails(run("shfl.sync.idx.b32 r1, r0, 0, 31, 0xff;"),
                    "thread (8,0,0): 'shfl.sync.idx.b32': the thread is not in its own mask"));
}

TEST(Interpreter, ReportsAKernelThatDoesNotEnd) {
  EXPECT_TRUE(fails(run("L: bra L;"), "kernel 'k' has not ended after "));
}

TEST(Interpreter, ReportsTrapAndAssertion) {
  EXPECT_TRUE(
      fails(run("setp.eq.u32 p0, r0, 5; @p0 trap;"), "thread (5,0,0): 'trap': the kernel traps"));
}

// A thread holds what another thread of its warp waits for, on both sides of a branch.
TEST(Interpreter, LanesOfAWarpMayWaitForEachOther) {
  Outcome result =
      run("L: atom.global.cas.b32 r1, [d0], 0, 1; setp.ne.u32 p0, r1, 0; @p0 bra L;"
          "ld.volatile.global.u32 r2, [d0+4]; add.u32 r2, r2, 1;"
          "st.volatile.global.u32 [d0+4], r2; membar.gl; atom.global.exch.b32 r1, [d0], 0;",
          {.instructionLimit = 100'000'000});
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.out[1], 32u);
  result = run("setp.eq.u32 p0, r0, 0; @!p0 bra W; L: ld.volatile.global.u32 r1, [d0];"
               "setp.eq.u32 p1, r1, 0; @p1 bra L; st.global.u32 [d0+4], 1; bra E;"
               "W: st.volatile.global.u32 [d0], 1; E:");
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.out[1], 1u);
}

// Ones everywhere in B, A of ones in registers: each element of D is 16.
Outcome runWarpgroup(reference::Movement movement) {
  Shape shape{1, 128, 128};
  shape.head = ".version 8.5\n.target sm_90a\n.address_size 64\n";
  shape.movement = movement;
  return run(R"(
    .shared .align 128 .b8 tile[512];
    mov.u64 d2, tile; mad.wide.u32 d3, r0, 4, d2; mov.b32 r1, 0x3c003c00; st.shared.b32 [d3], r1;
    shr.u64 d4, d2, 4; add.s64 d4, d4, 0x800080000;
    fence.proxy.async; bar.sync 0;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {f0, f1, f2, f3}, {r1, r1, r1, r1}, d4, 0, 1, 1, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    setp.ge.u32 p0, r0, 32; @p0 bra done;
    mov.b32 r2, 0; st.shared.b32 [d3], r2; st.shared.b32 [d3+128], r2; st.shared.b32 [d3+256], r2;
    st.shared.b32 [d3+384], r2;
  done:
    st.global.f32 [d1], f0;)",
             shape);
}

// Behind the wait of a warpgroup the first warp overwrites B, which all four have read.
TEST(Interpreter, WarpsOfAWarpgroupMeetAtItsWait) {
  const Outcome outcome = runWarpgroup({});
  ASSERT_EQ(outcome.error, "");
  for (uint32_t bits : ArrayRef(outcome.out).take_front(128))
    EXPECT_EQ(bits, 0x41800000u); // 16
}

// By 2^-18 of 16.
TEST(Interpreter, MovesProductsOfWarpgroups) {
  EXPECT_EQ(runWarpgroup({0, 0, 1}).out[5], 0x41800020u);
  EXPECT_EQ(runWarpgroup({0, 0, -1}).out[5], 0x417fffc0u);
  const uint32_t each = runWarpgroup({7, 1, 0}).out[5];
  EXPECT_GE(each, 0x417fffc0u);
  EXPECT_LE(each, 0x41800020u);
}

// By the last place of the weighted texels, in memory with a pitch: (1 - 3) / 2.
TEST(Interpreter, MovesWhatFiltersGive) {
  ptx::ParseResult parsed = ptx::parse(
      "test.ptx", std::string(kHead) +
                      ".visible .entry k(.param .u64 h, .param .u64 out) { .reg .f32 f<4>;"
                      ".reg .b64 d<2>; ld.param.u64 d0, [h]; ld.param.u64 d1, [out];"
                      "mov.f32 f1, 0f3f800000; mov.f32 f2, 0f3f000000;"
                      "tex.2d.v4.f32.f32 {f0, _, _, _}, [d0, {f1, f2}]; st.global.f32 [d1], f0;"
                      "ret; }");
  ASSERT_FALSE(parsed.hasErrors()) << parsed.diagnostics.front().message;
  auto interpreter = cantFail(reference::Interpreter::create(parsed.module));
  float texels[16] = {1, -3};
  reference::TextureObject texture;
  texture.handle = 7;
  texture.texels.bytes = {reinterpret_cast<uint8_t *>(texels), sizeof(texels)};
  texture.texels.width = 2;
  texture.texels.height = 1;
  texture.texels.pitch = sizeof(texels);
  texture.texels.format = 0x20;
  texture.sampler.isLinear = true;
  cantFail(interpreter->addTexture(texture));
  uint32_t out = 0;
  uint64_t parameters[2] = {7, reinterpret_cast<uint64_t>(&out)};
  interpreter->addMemory({parameters[1], {reinterpret_cast<uint8_t *>(&out), sizeof(out)}});
  reference::Launch launch;
  launch.kernel = "k";
  launch.parameters = {reinterpret_cast<const uint8_t *>(parameters), sizeof(parameters)};
  for (const auto &[bias, bits] : {std::pair(0.f, 0xbf800000u), std::pair(1.f, 0xbf7ffffcu)}) {
    launch.movement.bias = bias;
    cantFail(interpreter->launch(launch));
    EXPECT_EQ(out, bits);
  }
}

// The first CTA waits for the last.
TEST(Interpreter, CtasMayWaitForLaterOnes) {
  Outcome result =
      run("mov.u32 r1, %ctaid.x; setp.eq.u32 p0, r1, 3; @p0 st.volatile.global.u32 [d0], 1;"
          "L: ld.volatile.global.u32 r2, [d0]; setp.eq.u32 p1, r2, 0; @p1 bra L;"
          "atom.global.add.u32 r3, [d0+4], 1;",
          {4, 1, 64, 100'000'000});
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.out[1], 4u);
}

// Lanes that leave a loop wait behind it for the others, and then vote together.
TEST(Interpreter, LanesMeetBehindALoop) {
  Outcome result = run("and.b32 r1, r0, 7; L: sub.s32 r1, r1, 1; setp.ge.s32 p0, r1, 0; @p0 bra L;"
                       "activemask.b32 r2; st.global.u32 [d1], r2;");
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.out[0], 0xffffffffu);
  EXPECT_EQ(result.statistics.warpInstructions, 3 + 1 + 8 * 3 + 2 + 1u);
}

TEST(Interpreter, PrintsAsVprintf) {
  Outcome result = run(
      "setp.ne.u32 p0, r0, 0; @p0 exit; .local .align 8 .b8 values[32]; mov.u64 d2, values;"
      "st.local.u32 [values], -5; mov.b64 d3, 0d3ff8000000000000; st.local.b64 [values+8], d3;"
      "mov.u64 d4, text; cvta.global.u64 d4, d4; st.local.u64 [values+16], d4;"
      "cvta.local.u64 d2, d2; mov.u64 d5, format; cvta.global.u64 d5, d5;"
      "{ .param .b64 a; .param .b64 b; .param .b32 n; st.param.b64 [a], d5; st.param.b64 [b], d2;"
      "call (n), vprintf, (a, b); ld.param.b32 r1, [n]; } st.global.u32 [d0], r1;",
      {},
      ".extern .func (.param .b32 n) vprintf(.param .b64 a, .param .b64 b);\n"
      ".global .align 1 .b8 format[16] = {37, 100, 32, 37, 46, 50, 102, 32, 37, 37, 37, 115, 10};\n"
      ".global .align 1 .b8 text[4] = {104, 105};");
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.printed, "-5 1.50 %hi\n");
  EXPECT_EQ(result.out[0], 3u);
}

TEST(Interpreter, AllocatesAndFrees) {
  const std::string declarations = ".extern .func (.param .b64 p) malloc(.param .b64 n);\n"
                                   ".extern .func free(.param .b64 p);";
  const std::string allocate = "{ .param .b64 n; .param .b64 p; st.param.b64 [n], 8;"
                               "call (p), malloc, (n); ld.param.b64 d2, [p]; }";
  const std::string release = "{ .param .b64 p; st.param.b64 [p], d2; call free, (p); }";
  Outcome result =
      run(allocate + "st.u32 [d2+4], r0; ld.u32 r1, [d2+4]; st.global.u32 [d1], r1;" + release, {},
          declarations);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.out[17], 17u);
  EXPECT_TRUE(fails(run(allocate + release + "ld.u32 r1, [d2];", {}, declarations),
                    "is out of bounds: 4 bytes of global memory"));
  EXPECT_TRUE(
      fails(run(allocate + release + release, {}, declarations), "free of what was not allocated"));
  EXPECT_TRUE(fails(run(allocate + "st.u32 [d2+8], r0;", {}, declarations), "is out of bounds"));
}

// Initialised variables keep what kernels write from one launch to the next.
TEST(Interpreter, KeepsModuleVariables) {
  ptx::ParseResult parsed = ptx::parse(
      "test.ptx", std::string(kHead) +
                      ".visible .global .align 4 .u32 value[2] = {5, 6};\n"
                      ".visible .global .align 8 .u64 to = generic(value)+4;\n"
                      ".visible .entry k() { .reg .b64 d; .reg .b32 r; ld.global.u64 d, [to];"
                      "ld.u32 r, [d]; add.u32 r, r, 1; st.u32 [d], r; }");
  ASSERT_FALSE(parsed.hasErrors()) << parsed.diagnostics.front().message;
  auto interpreter = cantFail(reference::Interpreter::create(parsed.module));
  reference::Launch launch;
  launch.kernel = "k";
  for (int i = 0; i < 3; ++i)
    cantFail(interpreter->launch(launch));
  uint32_t value;
  memcpy(&value, interpreter->variable("value").bytes.data() + 4, 4);
  EXPECT_EQ(value, 9u);
  EXPECT_TRUE(interpreter->variable("none").bytes.empty());
}

// A variable lies where the caller has it, and a function has the address that is in it.
TEST(Interpreter, TakesVariablesFromTheCaller) {
  ptx::ParseResult parsed =
      ptx::parse("test.ptx", std::string(kHead) +
                                 ".func (.reg .u32 y) f(.reg .u32 x) { add.u32 y, x, 5; ret; }\n"
                                 ".visible .global .align 8 .u64 table[2] = {f, 0};\n"
                                 ".visible .entry k() { .reg .b64 d; .reg .b32 r; mov.u32 r, 37;"
                                 "P: .callprototype (.reg .u32 _) _ (.reg .u32 _);"
                                 "ld.global.u64 d, [table]; call (r), d, (r), P;"
                                 "cvt.u64.u32 d, r; st.global.u64 [table+8], d; }");
  ASSERT_FALSE(parsed.hasErrors()) << parsed.diagnostics.front().message;
  uint64_t words[2] = {0x7fff12345600, 0};
  reference::MemoryRange memory{0x7000000000, {reinterpret_cast<uint8_t *>(words), sizeof(words)}};
  auto interpreter = cantFail(reference::Interpreter::create(parsed.module, {{"table", memory}}));
  reference::Launch launch;
  launch.kernel = "k";
  auto statistics = interpreter->launch(launch);
  ASSERT_TRUE(bool(statistics)) << toString(statistics.takeError());
  EXPECT_EQ(words[0], 0x7fff12345600u);
  EXPECT_EQ(words[1], 42u);
  memory.bytes = memory.bytes.take_front(8);
  EXPECT_EQ(
      toString(reference::Interpreter::create(parsed.module, {{"table", memory}}).takeError()),
      "variable 'table' has 16 bytes, 8 were given");
}

// Recorded pointers into constant memory are offsets in a bank of NVIDIA's.
TEST(Interpreter, LearnsAddressesOfConstants) {
  ptx::ParseResult parsed = ptx::parse(
      "test.ptx", std::string(kHead) + ".const .align 4 .u32 c[2] = {5, 9};\n"
                                       ".const .align 4 .u32 e[2] = {17, 25};\n"
                                       ".visible .global .align 8 .u64 table[4] = {c+4, e, 0, 0};\n"
                                       ".visible .entry k() { .reg .b64 d; .reg .b32 r;"
                                       "ld.global.u64 d, [table]; ld.const.u32 r, [d];"
                                       "st.global.u32 [table+16], r;"
                                       "ld.global.u64 d, [table+8]; cvta.const.u64 d, d;"
                                       "ld.u32 r, [d+4]; st.global.u32 [table+24], r; }");
  ASSERT_FALSE(parsed.hasErrors()) << parsed.diagnostics.front().message;
  uint64_t words[4] = {0x14, 0x20, 0, 0};
  reference::MemoryRange memory{0x7000000000, {reinterpret_cast<uint8_t *>(words), sizeof(words)}};
  auto interpreter = cantFail(reference::Interpreter::create(parsed.module, {{"table", memory}}));
  reference::Launch launch;
  launch.kernel = "k";
  auto statistics = interpreter->launch(launch);
  ASSERT_TRUE(bool(statistics)) << toString(statistics.takeError());
  EXPECT_EQ(words[0], 0x14u);
  EXPECT_EQ(words[2], 9u);
  EXPECT_EQ(words[3], 25u);
}

// Texels of u32: an object by its handle, a reference by its name, and what is no texture.
TEST(Interpreter, ReadsTexturesAndStoresToSurfaces) {
  ptx::ParseResult parsed = ptx::parse(
      "test.ptx",
      std::string(kHead) +
          ".visible .global .texref t;\n"
          ".visible .entry k(.param .u64 h, .param .u64 s) { .reg .b32 r<8>; .reg .b64 d<4>;"
          "mov.u32 r0, %tid.x; mov.u32 r1, 0; ld.param.u64 d0, [h]; ld.param.u64 d1, [s];"
          "tex.2d.v4.u32.s32 {r2, _, _, _}, [d0, {r0, r1}];"
          "tex.2d.v4.u32.s32 {r3, _, _, _}, [t, {r0, r1}];"
          "add.u32 r2, r2, r3; shl.b32 r0, r0, 2;"
          "sust.b.2d.b32.trap [d1, {r0, r1}], {r2}; ret; }");
  ASSERT_FALSE(parsed.hasErrors()) << parsed.diagnostics.front().message;
  auto interpreter = cantFail(reference::Interpreter::create(parsed.module));
  uint32_t one[4] = {1, 2, 3, 4}, other[4] = {10, 20, 30, 40}, out[4] = {};
  auto object = [](uint64_t handle, const char *name, uint32_t (&words)[4], bool isSurface) {
    reference::TextureObject result;
    result.handle = handle;
    result.name = name;
    result.isSurface = isSurface;
    result.texels.bytes = {reinterpret_cast<uint8_t *>(words), sizeof(words)};
    result.texels.width = 4;
    result.texels.height = 1;
    result.texels.format = 3;
    return result;
  };
  cantFail(interpreter->addTexture(object(7, "", one, false)));
  cantFail(interpreter->addTexture(object(0, "t", other, false)));
  cantFail(interpreter->addTexture(object(7, "", out, true)));
  EXPECT_EQ(toString(interpreter->addTexture(object(0, "u", one, false))),
            "there is no texture or surface reference 'u'");
  uint64_t parameters[2] = {7, 7};
  reference::Launch launch;
  launch.kernel = "k";
  launch.block = {4, 1, 1};
  launch.parameters = {reinterpret_cast<const uint8_t *>(parameters), sizeof(parameters)};
  auto statistics = interpreter->launch(launch);
  ASSERT_TRUE(bool(statistics)) << toString(statistics.takeError());
  EXPECT_EQ(out[0], 11u);
  EXPECT_EQ(out[3], 44u);
  launch.block = {5, 1, 1};
  EXPECT_TRUE(StringRef(toString(interpreter->launch(launch).takeError()))
                  .contains("the access lies outside of the surface"));
  parameters[0] = 9;
  EXPECT_TRUE(StringRef(toString(interpreter->launch(launch).takeError()))
                  .contains("there is no texture with the handle 0x9"));
}

// Warps and lanes that arrive at barrier.cluster and end: the others wait for all that go on.
// Of what a kernel leaves out of a map that it makes of zeros, the H200 takes 1. A size of 0 it
// refuses.
TEST(Interpreter, TensorMapsAreMadeOfZeros) {
  const auto runWith = [](const std::string &fields) {
    return run(
        "  mov.u32 r1, bar; mov.u32 r2, tile; setp.ne.u32 p0, r0, 0;\n"
        "  add.u32 r3, r0, 1; st.global.u32 [d1+128], r3; bar.sync 0; @p0 bra WAIT;\n"
        "  add.u64 d2, d0, 128; mbarrier.init.shared.b64 [r1], 1;\n"
        "  tensormap.replace.tile.global_address.global.b1024.b64 [d0], d2;\n"
        "  tensormap.replace.tile.elemtype.global.b1024.b32 [d0], 2;\n"
        "  tensormap.replace.tile.box_dim.global.b1024.b32 [d0], 0, 4;\n" +
            fields +
            "  fence.proxy.tensormap::generic.acquire.gpu [d0], 128;\n"
            "  mbarrier.arrive.expect_tx.shared.b64 d3, [r1], 16;\n"
            "  cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
            " [r2], [d0, {4}], [r1];\n"
            "WAIT: mbarrier.try_wait.parity.shared.b64 p1, [r1], 0; @!p1 bra WAIT;\n"
            "  mad.lo.u32 r2, r0, 4, r2; ld.shared.u32 r3, [r2]; setp.gt.u32 p0, r0, 3;\n"
            "  @!p0 st.global.u32 [d1+128], r3; ret;",
        {.head = ".version 8.6\n.target sm_90a\n.address_size 64\n"},
        ".shared .align 128 .b8 tile[128];\n.shared .align 8 .b64 bar;");
  };
  const std::string size = "  tensormap.replace.tile.global_dim.global.b1024.b32 [d0], 0, ";
  const Outcome result = runWith(size + "7;\n");
  EXPECT_EQ(result.error, "");
  EXPECT_THAT(ArrayRef(result.out).slice(32, 5), testing::ElementsAre(5, 6, 7, 0, 5));
  EXPECT_TRUE(fails(runWith(size + "0;\n"), "tensor"));
}

TEST(Interpreter, DoesNoReductionThatATypeHasNot) {
  const auto reduce = [](const char *type, const char *operation, const char *at) {
    return run("  mov.u32 r2, tile; add.u64 d2, d0, 128; setp.ne.u32 p0, r0, 0; @p0 ret;\n"
               "  tensormap.replace.tile.global_address.global.b1024.b64 [d0], d2;\n"
               "  tensormap.replace.tile.elemtype.global.b1024.b32 [d0], " +
                   std::string(type) +
                   ";\n  tensormap.replace.tile.box_dim.global.b1024.b32 [d0], 0, 4;\n"
                   "  tensormap.replace.tile.global_dim.global.b1024.b32 [d0], 0, 4;\n"
                   "  fence.proxy.tensormap::generic.acquire.gpu [d0], 128;\n"
                   "  cp.reduce.async.bulk.tensor.1d.global.shared::cta." +
                   operation + ".tile.bulk_group [d0, {" + at +
                   "}], [r2]; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret;",
               {.head = ".version 8.6\n.target sm_90a\n.address_size 64\n"},
               ".shared .align 128 .b8 tile[128];");
  };
  for (auto [type, operation] : {std::pair{"5", "add"}, {"5", "xor"}, {"4", "inc"}, {"9", "min"}})
    for (const char *at : {"0", "8"}) // inside, and where no element lies
      EXPECT_TRUE(fails(reduce(type, operation, at), "the tensor's type has no such reduction"))
          << type << operation;
  for (auto [type, operation] : {std::pair{"2", "inc"}, {"4", "add"}, {"5", "min"}, {"9", "add"}})
    EXPECT_EQ(reduce(type, operation, "0").error, "") << type << operation;
}

TEST(Interpreter, WarpsArriveAtTheClusterAndEnd) {
  Shape shape;
  shape.block = shape.words = 96;
  const Outcome result =
      run("shr.u32 r1, r0, 5; setp.eq.u32 p1, r1, 0; setp.eq.u32 p2, r1, 2; mov.u32 r2, 0;"
          "@p1 bra ARRIVE;"
          "@!p2 bra READY;"
          "LOOP: add.u32 r2, r2, 1; setp.lt.u32 p3, r2, 5000; @p3 bra LOOP;"
          "READY: mov.u32 r4, cells; mad.lo.u32 r3, r0, 4, r4; st.shared.u32 [r3], r0;"
          "barrier.cluster.arrive; barrier.cluster.wait;"
          "xor.b32 r5, r0, 96; mad.lo.u32 r6, r5, 4, r4;"
          "ld.shared.u32 r7, [r6]; st.global.u32 [d1], r7; ret;"
          "ARRIVE: barrier.cluster.arrive; st.global.u32 [d1], 7;",
          shape, ".shared .align 4 .b8 cells[512];");
  EXPECT_EQ(result.error, "");
  ASSERT_EQ(result.out.size(), 96u);
  for (uint32_t i = 0; i < 96; ++i) // warps 1 and 2 read what the other has written
    EXPECT_EQ(result.out[i], i < 32 ? 7 : i ^ 96) << i;

  shape.block = shape.words = 64;
  const Outcome parts =
      run("setp.ge.u32 p1, r0, 16; setp.lt.and.u32 p2, r0, 32, p1; mov.u32 r2, 0; @!p2 bra ARRIVE;"
          "LOOP: add.u32 r2, r2, 1; setp.lt.u32 p3, r2, 50; @p3 bra LOOP;"
          "st.global.u32 [d1], 7; exit;"
          "ARRIVE: barrier.cluster.arrive; barrier.cluster.wait; st.global.u32 [d1], r0;",
          shape);
  EXPECT_EQ(parts.error, "");
  ASSERT_EQ(parts.out.size(), 64u);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(parts.out[i], i >= 16 && i < 32 ? 7 : i) << i;
}

TEST(Interpreter, RequestsForTheWorkOfAnotherClusterFail) {
  Outcome result =
      run(".reg .b128 q; mov.u32 r1, bar; mov.u32 r2, answer; mov.u64 d2, -1;"
          "mov.b64 d3, {r0, r0}; st.shared.v2.u64 [r2], {d2, d2};"
          "mbarrier.init.shared.b64 [r1], 1; mbarrier.arrive.expect_tx.shared.b64 d2, [r1], 16;"
          "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128"
          " [r2], [r1];"
          "mbarrier.test_wait.shared.b64 p0, [r1], d2; ld.shared.b128 q, [r2];"
          "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p1, q;"
          "selp.b32 r3, 1, 0, p0; @p1 add.u32 r3, r3, 2; st.global.u32 [d1], r3;"
          "mov.b64 d2, {8, 7}; mov.b64 d3, {9, 1}; mov.b128 q, {d2, d3};"
          "clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p1, q;"
          "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {r3, r4, r5, r6}, q;"
          "clusterlaunchcontrol.query_cancel.get_first_ctaid::y.b32.b128 r7, q;"
          "clusterlaunchcontrol.query_cancel.get_first_ctaid::z.b32.b128 r8, q;"
          "@p1 st.global.v4.u32 [d1+16], {r3, r4, r5, 1}; st.global.v2.u32 [d1+32], {r7, r8};",
          {1, 1, 16, 1'000'000, false, ".version 8.6\n.target sm_100\n.address_size 64\n"},
          ".shared .align 8 .b64 bar;\n.shared .align 16 .b8 answer[16];\n");
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.out[0], 1u); // the response is there, and there is no cluster
  EXPECT_EQ(std::vector(result.out.begin() + 4, result.out.begin() + 10),
            (std::vector<uint32_t>{8, 7, 9, 1, 7, 9}));
}

TEST(Interpreter, RefusesLaunchesThatCannotBe) {
  EXPECT_TRUE(fails(run("ret;", {0, 32}), "a grid of 0 CTAs of 32 threads"));
  EXPECT_TRUE(fails(run("ret;", {1, 1025}), "a grid of 1 CTAs of 1025 threads"));
}

} // namespace
