#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The loop of a matrix product as Triton compiles it for AMD's GPUs, beside what Rubia makes of examples/matrix/gemm.py: tiles of
128 x 128 x 32, f16 with sums in f32.

    triton_gemm.py RUBIA      with a Python that has Triton, and LLVM's tools in PATH; no GPU is needed

Prints for each target how many instructions of LDS and of the vector ALU there are for each matrix instruction.
"""
import pathlib
import subprocess
import sys
import tempfile

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGETS = (("gfx90a", 64, 2), ("gfx942", 64, 2), ("gfx1100", 32, 4), ("gfx1201", 32, 4))  # with waves for 128 threads


@triton.jit
def product(a, b, c, n, k, ROWS: tl.constexpr, COLUMNS: tl.constexpr, DEPTH: tl.constexpr):
    rows = tl.program_id(1) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    a_tile = a + rows[:, None] * k + depth[None, :]
    b_tile = b + columns[None, :] * k + depth[:, None]
    sums = tl.zeros((ROWS, COLUMNS), dtype=tl.float32)
    for _ in range(0, k, DEPTH):
        sums = tl.dot(tl.load(a_tile), tl.load(b_tile), sums)
        a_tile += DEPTH
        b_tile += DEPTH
    tl.store(c + rows[:, None] * n + columns[None, :], sums)


def by_triton(arch, lanes, waves):
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "n": "i32", "k": "i32"}
    sizes = {"ROWS": 128, "COLUMNS": 128, "DEPTH": 32}
    aligned = {(i,): [["tt.divisibility", 16]] for i in range(5)}
    source = ASTSource(product, signature | dict.fromkeys(sizes, "constexpr"), constexprs=sizes, attrs=aligned)
    made = triton.compile(source, target=GPUTarget("hip", arch, lanes), options={"num_warps": waves, "num_stages": 2})
    return made.asm["hsaco"]


def by_rubia(rubia, folder, arch, mode):
    ptx, code = folder / "gemm.ptx", folder / "gemm.co"
    ptx.write_bytes(subprocess.run([sys.executable, ROOT / "examples/matrix/gemm.py"], check=True, capture_output=True).stdout)
    subprocess.run([rubia, "compile", ptx, "--arch", arch, "--mma", mode, "-o", code], check=True, capture_output=True)
    return code.read_bytes()


def counted(folder, code):
    path = folder / "counted"
    path.write_bytes(code)
    ran = subprocess.run([sys.executable, ROOT / "tests/lit/Inputs/matrix_loop.py", path, "99", "99"], capture_output=True, text=True)
    return (ran.stdout + ran.stderr).strip()


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    for arch, lanes, waves in TARGETS:
        print(f"{arch} Triton: {counted(folder, by_triton(arch, lanes, waves))}")
        for mode in ("ieee", "native"):
            print(f"{arch} Rubia, {mode}: {counted(folder, by_rubia(sys.argv[1], folder, arch, mode))}")
