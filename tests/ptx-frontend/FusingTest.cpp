// SPDX-License-Identifier: Apache-2.0
#include "ptx-frontend/Fusing.h"
#include "ptx-frontend/Parser.h"
#include <gtest/gtest.h>

namespace rubia::ptx {
namespace {

std::string kernel(const std::string &body) {
  return R"(.version 8.6
.target sm_100
.address_size 64
.visible .entry k(.param .u64 p) {
.reg .f32 %f<4>; .reg .f64 %d<4>; .reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .b16 %h<4>; .reg .pred %pmul;
)" + body +
         "ret; }\n";
}

// How nvcc 13.0 records its options and ptxas'. Which of them keep an H200 (driver 580.159.04) from
// fusing: those that do not fuse here, and not -O1.
TEST(Fusing, IsReadFromOptionsOfContainers) {
  for (const char *options :
       {" --fmad false ", "-fmad=false  ", "-O0  ", "-fmad=true -fmad=false",
        " -g --dont-merge-basicblocks --return-at-end ", "--opt-level 0", "-O 0"})
    EXPECT_FALSE(mayFuse(options)) << options;
  for (const char *options : {"-O 3", "", "-O1  ", " --generate-line-info ",
                              "-fmad=false --fmad true", "--opt-level 3", "fmad=false", "-fmad"})
    EXPECT_TRUE(mayFuse(options)) << options;
}

TEST(Fusing, EveryProductWithoutRoundingGetsOne) {
  const std::string text = kernel(R"(
mul.f32 %f0, %f1, %f2; @%pmul mul.ftz.sat.f32 %f0, %f1, %f2; mul.rz.f32 %f0, %f1, %f2;
{mul.f16x2 %r0, %r1, %r2; mul.bf16 %h0, %h1, %h2;}
mul.f64 %d0, %d1, %d2; mul.lo.s32 %r0, %r1, %r2; mul.f32x2 %rd0, %rd1, %rd2; // mul.f32
)"),
                    expected = kernel(R"(
mul.rn.f32 %f0, %f1, %f2; @%pmul mul.rn.ftz.sat.f32 %f0, %f1, %f2; mul.rz.f32 %f0, %f1, %f2;
{mul.rn.f16x2 %r0, %r1, %r2; mul.rn.bf16 %h0, %h1, %h2;}
mul.rn.f64 %d0, %d1, %d2; mul.lo.s32 %r0, %r1, %r2; mul.rn.f32x2 %rd0, %rd1, %rd2; // mul.f32
)");
  EXPECT_EQ(withoutFusing(text), expected);
  EXPECT_FALSE(parse("", expected).hasErrors());
  EXPECT_EQ(withoutFusing(expected), expected);
  EXPECT_EQ(withoutFusing("no PTX"), "no PTX");
}

} // namespace
} // namespace rubia::ptx
