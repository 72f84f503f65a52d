# SPDX-License-Identifier: Apache-2.0
"""PTX with two kernels of C++ names, scale(float*, float) and void ns::sort<float>(float*), that multiply by a number and that
write 1. --unsupported: with a third one that cannot be compiled."""
import sys

TEXT = """.version 7.8
.target sm_90
.address_size 64
.visible .entry _Z5scalePff(.param .u64 a, .param .f32 by)
{
.reg .b64 %d<4>;
.reg .b32 %r<2>;
.reg .f32 %f<4>;
ld.param.u64 %d1, [a];
ld.param.f32 %f1, [by];
mov.u32 %r1, %tid.x;
mul.wide.u32 %d2, %r1, 4;
add.u64 %d3, %d1, %d2;
ld.f32 %f2, [%d3];
mul.rn.f32 %f3, %f2, %f1;
st.f32 [%d3], %f3;
ret;
}
.visible .entry _ZN2ns4sortIfEEvPT_(.param .u64 a)
{
.reg .b64 %d1;
ld.param.u64 %d1, [a];
st.u32 [%d1], 1;
ret;
}
"""

UNSUPPORTED = """.visible .entry clustered()
.reqnctapercluster 32, 1, 1
{
ret;
}
"""

print(TEXT + (UNSUPPORTED if "--unsupported" in sys.argv else ""), end="")
