// SPDX-License-Identifier: Apache-2.0
#include "benchmarks/ptx-frontend/LibraryMix.h"
#include <random>

namespace {

// `>` stands for the number of a register that is written first here, `<` for one that has been
// written, `#` for a small constant, `!` for a label.
struct Row {
  unsigned weight; // per thousand instructions
  const char *text;
};
constexpr Row kRows[] = {
    {52, "mov.u32 \t%r>, %r<;"},
    {44, "mov.b32 \t%r>, %r<;"},
    {14, "mov.b64 \t%rd>, {%r<, %r<};"},
    {10, "mov.b64 \t{%r>, %r>}, %rd<;"},
    {10, "mov.b32 \t{%rs>, %rs>}, %r<;"},
    {14, "mov.f32 \t%f>, 0f3F800000;"},
    {4, "mov.u32 \t%r>, %tid.x;"},
    {4, "mov.u32 \t%r>, %ctaid.x;"},
    {85, "add.s64 \t%rd>, %rd<, #;"},
    {30, "add.s64 \t%rd>, %rd<, %rd<;"},
    {60, "add.s32 \t%r>, %r<, #;"},
    {30, "add.s32 \t%r>, %r<, %r<;"},
    {15, "sub.s32 \t%r>, %r<, %r<;"},
    {25, "shl.b32 \t%r>, %r<, #;"},
    {18, "shl.b64 \t%rd>, %rd<, #;"},
    {15, "shr.u32 \t%r>, %r<, #;"},
    {20, "and.b32  \t%r>, %r<, #;"},
    {12, "or.b32  \t%r>, %r<, %r<;"},
    {18, "mul.lo.s32 \t%r>, %r<, %r<;"},
    {22, "mad.lo.s32 \t%r>, %r<, %r<, %r<;"},
    {18, "mul.wide.s32 \t%rd>, %r<, 4;"},
    {9, "mul.wide.u32 \t%rd>, %r<, 8;"},
    {16, "cvt.s64.s32 \t%rd>, %r<;"},
    {8, "cvt.u64.u32 \t%rd>, %r<;"},
    {8, "cvt.u32.u64 \t%r>, %rd<;"},
    {7, "cvta.to.global.u64 \t%rd>, %rd<;"},
    {6, "ld.param.u64 \t%rd>, [mix_kernel_param_0];"},
    {8, "ld.param.u32 \t%r>, [mix_kernel_param_1];"},
    {60, "ld.global.f32 \t%f>, [%rd<+#];"},
    {20, "ld.global.nc.u32 \t%r>, [%rd<];"},
    {18, "ld.shared.f32 \t%f>, [%r<+#];"},
    {8, "ld.shared.v4.f32 \t{%f>, %f>, %f>, %f>}, [%r<+#];"},
    {14, "ld.shared.v2.f32 \t{%f>, %f>}, [%r<];"},
    {22, "st.global.f32 \t[%rd<+#], %f<;"},
    {12, "st.shared.f32 \t[%r<+#], %f<;"},
    {8, "st.shared.v2.f32 \t[%r<], {%f<, %f<};"},
    {80, "fma.rn.f32 \t%f>, %f<, %f<, %f<;"},
    {46, "mul.f32 \t%f>, %f<, %f<;"},
    {24, "add.f32 \t%f>, %f<, %f<;"},
    {32, "sub.f32 \t%f>, %f<, %f<;"},
    {17, "fma.rn.f64 \t%fd>, %fd<, %fd<, %fd<;"},
    {17, "mul.f64 \t%fd>, %fd<, %fd<;"},
    {10, "selp.b32 \t%r>, %r<, %r<, %p<;"},
    {13, "setp.eq.s32 \t%p>, %r<, #;"},
    {14, "setp.ge.s32 \t%p>, %r<, %r<;"},
    {10, "setp.lt.s32 \t%p>, %r<, %r<;"},
    {7, "or.pred  \t%p>, %p<, %p<;"},
    {5, "and.pred  \t%p>, %p<, %p<;"},
    {40, "@%p< bra \t^;"},
    {20, "@!%p< bra \t^;"},
    {8, "bra.uni \t^;"},
    {5, "bar.sync \t0;"},
};
constexpr unsigned kInstructionsPerKernel = 800;
constexpr unsigned kInstructionsPerLabel = 16;

} // namespace

std::string libraryMix(size_t bytes) {
  std::mt19937 random(7); // not a distribution: those differ between libraries
  unsigned total = 0;
  for (const Row &row : kRows)
    total += row.weight;
  std::string text = ".version 8.0\n.target sm_75\n.address_size 64\n";
  for (unsigned kernel = 0; text.size() < bytes; ++kernel) {
    std::string number = std::to_string(kernel);
    std::string body, parameter = "mix_kernel_" + number + "_param_";
    unsigned count = 10;
    for (unsigned i = 0; i < kInstructionsPerKernel; ++i) {
      if (i % kInstructionsPerLabel == 0)
        body += "\n$L__BB" + number + "_" + std::to_string(i / kInstructionsPerLabel) + ":\n";
      unsigned at = random() % total;
      const Row *row = kRows;
      for (; at >= row->weight; ++row)
        at -= row->weight;
      body += '\t';
      for (const char *c = row->text; *c; ++c)
        switch (*c) {
        case '>':
          body += std::to_string(count++);
          break;
        case '<':
          body += std::to_string(count - 1 - random() % std::min(count, 200u));
          break;
        case '#':
          body += std::to_string(random() % 4 ? random() % 32 : random() % 4096);
          break;
        case '^':
          body += "$L__BB" + number + "_" +
                  std::to_string(random() % (kInstructionsPerKernel / kInstructionsPerLabel));
          break;
        default:
          body += *c;
        }
      body += '\n';
    }
    for (size_t place; (place = body.find("mix_kernel_param_")) != std::string::npos;)
      body.replace(place, std::string("mix_kernel_param_").size(), parameter);
    std::string range = "<" + std::to_string(count) + ">;\n";
    text += "\n.visible .entry mix_kernel_" + number + "(\n\t.param .u64 " + parameter +
            "0,\n\t.param .u32 " + parameter + "1\n)\n.maxntid 256, 1, 1\n{\n";
    for (const char *declaration :
         {".pred \t%p", ".b16 \t%rs", ".b32 \t%r", ".b64 \t%rd", ".f32 \t%f", ".f64 \t%fd"})
      text += "\t.reg " + std::string(declaration) + range;
    text += body + "\tret;\n\n}\n";
  }
  return text;
}
