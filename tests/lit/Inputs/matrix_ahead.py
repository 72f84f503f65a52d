#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a kernel in PTX whose loop multiplies 16 x 16 by 16 x 32 and reads the fragments of its next round before that."""

MMA = "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"


def group(name, first, count):
    return "{" + ", ".join(f"%{name}{first + i}" for i in range(count)) + "}"


def reads(to):
    for name, first, offset in (("a", 0, 0), ("b", 0, 512), ("b", 4, 1024)):
        print(f"  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {group(to + name, first, 4)}, [%at+{offset}];")


print(""".version 8.0
.target sm_80
.address_size 64
.shared .align 128 .b8 tiles[16384];
.visible .entry ahead(.param .u64 out, .param .u32 rounds)
.reqntid 64, 1, 1
{
  .reg .pred %p; .reg .b64 %out; .reg .b32 %at, %left, %t, %a<4>, %b<8>, %na<4>, %nb<8>; .reg .f32 %sum<16>;
  ld.param.u64 %out, [out]; ld.param.u32 %left, [rounds];
  mov.u32 %t, %tid.x; mov.u32 %at, tiles; mad.lo.u32 %at, %t, 16, %at;""")
for i in range(16):
    print(f"  mov.f32 %sum{i}, 0f00000000;")
reads("")
print("again:\n  add.u32 %at, %at, 1536;")
reads("n")
for i in range(4):
    sums = group("sum", 4 * i, 4)
    print(f"  {MMA} {sums}, {group('a', 0, 4)}, {group('b', 2 * i, 2)}, {sums};")
for name, count in (("a", 4), ("b", 8)):
    for i in range(count):
        print(f"  mov.b32 %{name}{i}, %n{name}{i};")
print("  sub.u32 %left, %left, 1; setp.ne.u32 %p, %left, 0;\n  @%p bra again;")
print("  cvta.to.global.u64 %out, %out;\n  mad.wide.u32 %out, %t, 64, %out;")
for i in range(16):
    print(f"  st.global.f32 [%out+{4 * i}], %sum{i};")
print("  ret;\n}")
