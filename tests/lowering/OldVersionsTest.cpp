// SPDX-License-Identifier: Apache-2.0
// What old PTX means without saying it: the code is that of the spelling that says it.
#include "Lowered.h"

using namespace rubia::lowering::test;

static std::string irOf(const char *header, const char *instruction) {
  return lowered(std::string(header) +
                 "\n.entry k(.param .u64 p) {\n"
                 ".reg .u64 %a; .reg .f32 %f<4>; .reg .f64 %d; .reg .u32 %r; "
                 ".reg .pred %p;\n"
                 "ld.param.u64 %a, [p]; ld.global.f32 %f1, [%a]; "
                 "ld.global.f32 %f2, [%a+4];\n" +
                 instruction +
                 ";\nst.global.f32 [%a], %f0; st.global.u32 [%a+4], %r; st.global.f64 [%a+8], %d;\n"
                 "@%p st.global.u32 [%a], 1; ret; }\n")
      .text();
}

TEST(LoweringOldVersions, MeanNewSpellings) {
  const char *v13 = ".version 1.3\n.target sm_13", *v14 = ".version 1.4\n.target sm_13",
             *v20 = ".version 2.0\n.target sm_20", *v12 = ".version 2.0\n.target sm_12";
  struct {
    const char *header, *old, *meant;
  } cases[] = {
      {v13, "div.f32 %f0, %f1, %f2", "div.approx.ftz.f32 %f0, %f1, %f2"},
      {v13, "rcp.f32 %f0, %f1", "rcp.approx.ftz.f32 %f0, %f1"},
      {v13, "sqrt.f32 %f0, %f1", "sqrt.approx.ftz.f32 %f0, %f1"},
      {v13, "rsqrt.f32 %f0, %f1", "rsqrt.approx.ftz.f32 %f0, %f1"},
      {v13, "ex2.f32 %f0, %f1", "ex2.approx.ftz.f32 %f0, %f1"},
      {v13, "lg2.f32 %f0, %f1", "lg2.approx.ftz.f32 %f0, %f1"},
      {v14, "lg2.approx.f32 %f0, %f1", "lg2.approx.ftz.f32 %f0, %f1"},
      {v14, "add.f32 %f0, %f1, %f2", "add.ftz.f32 %f0, %f1, %f2"},
      {v14, "mul.rz.f32 %f0, %f1, %f2", "mul.rz.ftz.f32 %f0, %f1, %f2"},
      {v12, "mad.f32 %f0, %f1, %f2, %f1", "fma.rn.ftz.f32 %f0, %f1, %f2, %f1"},
      {v14, "neg.f32 %f0, %f1", "neg.ftz.f32 %f0, %f1"},
      {v14, "min.f32 %f0, %f1, %f2", "min.ftz.f32 %f0, %f1, %f2"},
      {v14, "setp.lt.f32 %p, %f1, %f2", "setp.lt.ftz.f32 %p, %f1, %f2"},
      {v14, "cvt.rpi.s32.f32 %r, %f1", "cvt.rpi.ftz.s32.f32 %r, %f1"},
      {v14, "cvt.f64.f32 %d, %f1", "cvt.f64.f32 %d, %f1"},
  };
  for (const auto &c : cases) {
    std::string ir = irOf(c.header, c.old);
    EXPECT_EQ(ir, irOf(v20, c.meant)) << c.old;
    // And .ftz says something.
    std::string kept = irOf(v20, "add.f32 %f0, %f1, %f2");
    EXPECT_NE(ir, kept) << c.old;
  }
  EXPECT_NE(irOf(v20, "add.f32 %f0, %f1, %f2"), irOf(v20, "add.ftz.f32 %f0, %f1, %f2"));
}
