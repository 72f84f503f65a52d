#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels that sample a texture once, and how many vector instructions that takes.

Usage: texture_cost.py write FOLDER           a kernel for each kind, and one that samples nothing
       texture_cost.py check FOLDER KIND=MOST...   FOLDER/KIND.json is what `rubia launch --stats --json` wrote
"""
import json
import pathlib
import struct
import sys

WIDTH, HEIGHT = 8, 4
ONE_WORD = 2 | 2 << 8  # the format: one channel of 4 bytes
ALL_CLAMP, LINEAR_FILTER, LINEAR_MEMORY, PLAIN = 0x15, 1 << 6, 1 << 10, 1 << 11
KINDS = {
    "none": (0, "mov.f32 %f2, %f0;"),
    "fetch": (LINEAR_MEMORY, "tex.1d.v4.f32.s32 {%f2, %f3, %f4, %f5}, [%d1, {%r0}];"),
    "point": (0, "tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%d1, {%f0, %f1}];"),
    "linear": (LINEAR_FILTER, "tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%d1, {%f0, %f1}];"),
}


def record(mode):
    """lowering/Texture.h, as words; the address comes first."""
    words = [0] * 32
    is_linear = mode & LINEAR_MEMORY
    words[4:10] = [32, 0, WIDTH * HEIGHT, 1, 1, 1] if is_linear else [32 * HEIGHT, 32, WIDTH, HEIGHT, 1, 1]
    words[10:12] = [ONE_WORD, ALL_CLAMP | PLAIN | mode]
    words[26] = 1 if is_linear else 0
    words[27:30] = [0x3f800000] * 3
    return [words[i] | words[i + 1] << 32 for i in range(2, 32, 2)]


def text(mode, body):
    data = ", ".join(str(struct.unpack("I", struct.pack("f", i + 1))[0]) for i in range(WIDTH * HEIGHT))
    return f""".version 8.0
.target sm_80
.address_size 64
.global .align 32 .b32 data[{WIDTH * HEIGHT}] = {{{data}}};
.global .align 128 .b64 record[16] = {{data, {", ".join(map(str, record(mode)))}}};
.visible .entry k(.param .u64 out)
{{
  .reg .b32 %r<3>; .reg .f32 %f<7>; .reg .b64 %d<4>;
  ld.param.u64 %d0, [out];
  mov.u32 %r0, %tid.x;
  and.b32 %r1, %r0, 7;
  shr.u32 %r2, %r0, 3;
  cvt.rn.f32.u32 %f0, %r1;
  cvt.rn.f32.u32 %f1, %r2;
  mov.u64 %d1, record;
  {body}
  cvt.rn.f32.u32 %f6, %r0;
  add.f32 %f2, %f2, %f0;
  add.f32 %f2, %f2, %f1;
  add.f32 %f2, %f2, %f6;
  mul.wide.u32 %d2, %r0, 4;
  add.u64 %d2, %d0, %d2;
  st.global.f32 [%d2], %f2;
  ret;
}}
"""


def vector_instructions(path):
    launch = json.loads(path.read_text())["launches"][0]
    return sum(i["waves"] for i in launch["operations"] if i["class"].startswith("vector"))


command, folder, *bounds = sys.argv[1:]
folder = pathlib.Path(folder)
if command == "write":
    folder.mkdir(parents=True, exist_ok=True)
    for name, (mode, body) in KINDS.items():
        (folder / f"{name}.ptx").write_text(text(mode, body))
else:
    nothing = vector_instructions(folder / "none.json")
    for bound in bounds:
        kind, most = bound.split("=")
        cost = vector_instructions(folder / f"{kind}.json") - nothing
        print(f"{kind}: {cost} vector instructions")
        if cost > int(most):
            sys.exit(f"{kind} takes more than {most}")
