// SPDX-License-Identifier: Apache-2.0
// A kernel of matrices as a module's text, and what a launch of it needs.
#include "MatrixGenerator.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::random_kernels {
namespace {

constexpr unsigned kResultBytes = 8; // of each thread: of the state, and of the tile

/// With the mask of the threads that execute it.
std::string masked(std::string text, StringRef mask) {
  for (size_t at = 0; (at = text.find("$M", at)) != std::string::npos; at += mask.size())
    text.replace(at, 2, mask);
  return text;
}

// Each part has labels and registers of its own number.
void write(raw_ostream &os, ArrayRef<Step> steps, unsigned &number, const std::string &mask) {
  for (const Step &step : steps) {
    const unsigned own = ++number;
    switch (step.what) {
    case Step::What::Text:
      os << masked(step.text, mask);
      break;
    case Step::What::Divided:
      os << step.text << formatv("  @%q4 bra ELSE{0};\n", own);
      write(os, step.body, number, mask);
      os << formatv("  bra MEET{0};\nELSE{0}:\n", own);
      write(os, step.orElse, number, mask);
      os << formatv("MEET{0}: bar.warp.sync {1};\n", own, mask);
      break;
    case Step::What::Loop:
      os << step.text << formatv("  mov.u32 %limit{0}, %limit; mov.u32 %round{0}, 0;\n", own)
         << formatv("AGAIN{0}:\n", own);
      write(os, step.body, number, mask);
      os << formatv("  add.u32 %round{0}, %round{0}, 1; setp.lt.u32 %q0, %round{0}, %limit{0};\n"
                    "  @%q0 bra AGAIN{0};\n  bar.warp.sync {1};\n",
                    own, mask);
      break;
    case Step::What::Lanes:
      os << step.text
         << formatv("  vote.sync.ballot.b32 %one{0}, %q4, {1}; xor.b32 %other{0}, %one{0}, {1};\n"
                    "  @%q4 bra ELSE{0};\n",
                    own, mask);
      write(os, step.body, number, "%other" + std::to_string(own));
      os << formatv("  bra MEET{0};\nELSE{0}:\n", own);
      write(os, step.orElse, number, "%one" + std::to_string(own));
      os << formatv("MEET{0}: bar.warp.sync {1};\n", own, mask);
      break;
    case Step::What::Leaving: {
      const std::string here = "%one" + std::to_string(own);
      os << step.text
         << formatv("  mov.u32 %limit{0}, %limit; mov.u32 %round{0}, 0; mov.b32 {1}, {2};\n"
                    "AGAIN{0}:\n",
                    own, here, mask);
      write(os, step.body, number, here);
      os << step.test
         << formatv("  vote.sync.ballot.b32 %other{0}, %q4, {1};\n  @!%q4 bra MEET{0};\n"
                    "  mov.b32 {1}, %other{0};\n",
                    own, here);
      write(os, step.orElse, number, here);
      os << formatv("  add.u32 %round{0}, %round{0}, 1; setp.lt.u32 %q0, %round{0}, %limit{0};\n"
                    "  @%q0 bra AGAIN{0};\nMEET{0}: bar.warp.sync {1};\n",
                    own, mask);
      break;
    }
    }
  }
}

constexpr const char *kRegisters = R"(
  .reg .b32 %t<8>, %i<4>, %a<4>, %b<2>, %h<2>, %thread, %lane, %warp, %tile, %barrier, %own, %limit;
  .reg .f32 %f<2>, %c<4>;
  .reg .f64 %e<4>;
  .reg .b64 %d<4>, %in, %out, %mine;
  .reg .pred %q<5>;
)";

// The tile of each warp has words that depend on the thread.
constexpr const char *kHead = R"(
  ld.param.u64 %in, [in];
  ld.param.u64 %out, [out];
  cvta.to.global.u64 %in, %in;
  cvta.to.global.u64 %out, %out;
  mov.u32 %thread, %tid.x;
  and.b32 %lane, %thread, 31;
  shr.u32 %warp, %thread, 5;
  mov.u32 %tile, tiles;
  mad.lo.u32 %tile, %warp, 2048, %tile;
  mov.u32 %barrier, barriers;
  mad.lo.u32 %barrier, %warp, 8, %barrier;
  mad.lo.u32 %own, %lane, 4, %tile;
  mov.u32 %t0, 0;
FILL:
  mad.lo.u32 %t1, %t0, 128, %own;
  mad.lo.u32 %t2, %t0, 0x9e3779b9, %thread;
  mul.lo.u32 %t2, %t2, 0x85ebca6b;
  st.shared.u32 [%t1], %t2;
  add.u32 %t0, %t0, 1;
  setp.lt.u32 %q0, %t0, 16;
  @%q0 bra FILL;
  bar.sync 0;
)";

constexpr const char *kTail = R"(
  mul.wide.u32 %d0, %thread, 8;
  add.u64 %d0, %d0, %out;
  st.global.u32 [%d0], %t0;
  mov.u32 %t0, 0;
  mov.u32 %t3, 0;
FOLD:
  mad.lo.u32 %t1, %t0, 128, %own;
  ld.shared.u32 %t2, [%t1];
  mad.lo.u32 %t3, %t3, 33, %t2;
  add.u32 %t0, %t0, 1;
  setp.lt.u32 %q0, %t0, 16;
  @%q0 bra FOLD;
  st.global.u32 [%d0+4], %t3;
  ret;
}
)";

std::string textOf(const MatrixKernel &kernel, StringRef name) {
  std::string steps, text;
  unsigned numbers = 0;
  raw_string_ostream inside(steps), os(text);
  write(inside, kernel.steps, numbers, "-1");
  const unsigned state = unsigned(kernel.start.size()), threads = kernel.warps * 32;
  os << kModuleHead;
  for (const std::string &function : kernel.functions)
    os << function;
  os << ".visible .entry " << name << "(.param .u64 in, .param .u64 out, .param .align 8 .b8 "
     << "values[" << kParamBytes << "]) " << kernel.bounds << "\n{"
     << formatv("\n  .reg .b32 %s<{0}>, %round<{1}>, %limit<{1}>, %one<{1}>, %other<{1}>;", state,
                numbers + 1)
     << kRegisters
     << formatv("  .shared .align 128 .b8 tiles[{0}];\n  .shared .align 8 .b64 barriers[{1}];",
                kernel.warps * kTileBytes, kernel.warps)
     << kHead
     << formatv("  mad.lo.u32 %t0, %warp, {0}, {1};\n  cvt.u64.u32 %mine, %t0;\n"
                "  add.u64 %mine, %mine, %out;\n",
                kOwnBytes, threads * kResultBytes);
  for (const auto &[i, start] : enumerate(kernel.start))
    os << formatv("  mov.u32 %s{0}, {1}; mad.lo.u32 %s{0}, %thread, {2}, %s{0}; xor.b32 %t0, "
                  "%thread, {3}; mad.lo.u32 %s{0}, %t0, {4}, %s{0};\n",
                  i, start[0], start[1] | 1, start[2] & 255, start[3] | 1);
  os << steps << "  bar.sync 0;\n  mov.u32 %t0, 0;\n";
  for (unsigned i = 0; i < state; ++i)
    os << formatv("  mad.lo.u32 %t0, %t0, 31, %s{0};\n", i);
  os << kTail;
  return text;
}

} // namespace

Program programOf(const MatrixKernel &kernel) {
  Program program;
  program.name = "m" + std::to_string(kernel.seed);
  program.text = textOf(kernel, program.name);
  program.block = kernel.warps * 32;
  program.input = kernel.input;
  program.param.resize(kParamBytes);
  program.results.resize(program.block * kResultBytes + kernel.warps * kOwnBytes);
  return program;
}

} // namespace rubia::random_kernels
