# SPDX-License-Identifier: Apache-2.0
"""A kernel whose debug information names a file that exists, and one that cannot be compiled."""
print(""".version 7.0
.target sm_70
.address_size 64
.file 1 "/etc/passwd"
.visible .entry lines(.param .u64 p)
{
.reg .b64 %rd1;
.loc 1 1 1
ld.param.u64 %rd1, [p];
.loc 1 2 1
st.global.u32 [%rd1], 1;
ret;
}
.visible .entry fails(.param .u64 p)
{
frobnicate.u32 1;
}""")
