// SPDX-License-Identifier: Apache-2.0
// How fast the interpreter of reference/ is, in instructions of lanes a second, on one core.
#include "ptx-frontend/Parser.h"
#include "reference/Interpreter.h"
#include <benchmark/benchmark.h>

using namespace llvm;
using namespace rubia;

namespace {

// A loop of 256 rounds: `statements`, and three for the loop itself.
std::string kernelOf(StringRef statements) {
  return (".version 8.5\n.target sm_90\n.address_size 64\n"
          ".visible .entry k(.param .u64 out)\n{\n"
          ".reg .pred p<4>; .reg .b32 r<16>; .reg .b64 d<8>; .reg .f32 f<16>;\n"
          ".shared .align 4 .b8 s[1024];\n"
          "ld.param.u64 d0, [out]; mov.u32 r0, %tid.x; mad.wide.u32 d1, r0, 4, d0;\n"
          "mov.u32 r1, 0; cvt.rn.f32.u32 f0, r0; mov.f32 f1, 0f3f800347; mov.f32 f2, 0f00000000;\n"
          "mov.u32 r2, r0; mov.u32 r3, r0; shl.b32 r8, r0, 2; mov.u32 r9, s; add.u32 r8, r8, r9;\n"
          "L:\n" +
          statements +
          "add.u32 r1, r1, 1; setp.lt.u32 p0, r1, 256; @p0 bra L;\n"
          "cvt.rzi.u32.f32 r4, f2; add.u32 r2, r2, r3; add.u32 r2, r2, r4;\n"
          "st.global.u32 [d1], r2;\n}\n")
      .str();
}

void execute(benchmark::State &state, StringRef statements) {
  ptx::ParseResult parsed = ptx::parse("benchmark.ptx", kernelOf(statements));
  if (parsed.hasErrors())
    return state.SkipWithError(parsed.diagnostics.front().message.c_str());
  auto interpreter = cantFail(reference::Interpreter::create(parsed.module));
  std::vector<uint32_t> out(256);
  const uint64_t address = reinterpret_cast<uint64_t>(out.data());
  interpreter->addMemory({address, {reinterpret_cast<uint8_t *>(out.data()), out.size() * 4}});
  reference::Launch launch;
  launch.kernel = "k";
  launch.grid[0] = 16;
  launch.block[0] = 256;
  launch.parameters = ArrayRef(reinterpret_cast<const uint8_t *>(&address), sizeof(address));
  uint64_t instructions = 0;
  for (auto _ : state) {
    auto statistics = interpreter->launch(launch);
    if (!statistics)
      return state.SkipWithError(toString(statistics.takeError()).c_str());
    instructions += statistics->laneInstructions;
  }
  state.SetItemsProcessed(int64_t(instructions));
}

// Two of f32, four of integers, a select and a comparison.
constexpr const char *kMix =
    "fma.rn.f32 f2, f0, f1, f2; add.f32 f0, f0, f1; mad.lo.u32 r2, r2, r3, r1; xor.b32 r3, r3, "
    "r2;\n"
    "shr.u32 r5, r2, 3; add.u32 r3, r3, r5; setp.gt.u32 p1, r3, r2; selp.b32 r2, r2, r3, p1;\n";

void mix(benchmark::State &state) { execute(state, kMix); }
BENCHMARK(mix)->Unit(benchmark::kMillisecond);

void shared(benchmark::State &state) {
  execute(state, "st.shared.u32 [r8], r2; ld.shared.u32 r3, [r8]; add.u32 r2, r3, 1;\n");
}
BENCHMARK(shared)->Unit(benchmark::kMillisecond);

void global(benchmark::State &state) {
  execute(state, "ld.global.u32 r3, [d1]; add.u32 r2, r3, r2;\n");
}
BENCHMARK(global)->Unit(benchmark::kMillisecond);

// A branch that divides each warp, with one instruction on either way.
void divergent(benchmark::State &state) {
  execute(state, "and.b32 r5, r0, 1; setp.eq.u32 p1, r5, 0; @p1 bra A; add.u32 r2, r2, 1; bra B;\n"
                 "A: add.u32 r2, r2, 2;\nB:\n");
}
BENCHMARK(divergent)->Unit(benchmark::kMillisecond);

// Transcendental functions are computed exactly.
void approximate(benchmark::State &state) { execute(state, "ex2.approx.f32 f2, f2;\n"); }
BENCHMARK(approximate)->Unit(benchmark::kMillisecond);

} // namespace

BENCHMARK_MAIN();
