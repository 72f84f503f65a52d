#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels of the kinds that Triton's tutorials teach, by two ways to AMD's GPUs: Triton's own AMD back end, and its PTX for
capability 8.9 through Rubia. The emulator executes both on the same input.

    triton_tutorials.py RUBIA [--arch ARCH ...] [--kernels NAME ...]      with a Python that has Triton and NumPy

Prints for each the executed wave instructions, those of vectors and of matrices among them, VGPRs and LDS, and how far the
results are from NumPy's and from each other, as a part of the largest element. A kernel has as many threads on both sides.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import triton_kernels as kernels

LANES = {"gfx90a": 64, "gfx942": 64, "gfx1100": 32, "gfx1201": 32}
TYPES = {"float16": "*fp16", "float32": "*fp32", "int32": "*i32", "uint8": "*u8", "uint32": "*u32"}
WARPS = 4  # of 32 threads


def compiled(case, target, warps):
    arguments = case.kernel.arg_names
    values = dict(zip(arguments, case.arguments))
    signature = {name: TYPES[str(value.dtype)] if isinstance(value, numpy.ndarray) else "i32" for name, value in values.items()}
    aligned = {(i,): [["tt.divisibility", 16]] for i, value in enumerate(case.arguments)
               if isinstance(value, numpy.ndarray) or value % 16 == 0}
    source = ASTSource(case.kernel, signature | dict.fromkeys(case.constants, "constexpr"), constexprs=case.constants, attrs=aligned)
    return triton.compile(source, target=target, options={"num_warps": warps})


def launched(rubia, case, arch, made, kind, threads, folder):
    """Statistics, and the arrays that the kernel writes."""
    path, words = folder / f"{case.name}.{kind}", []
    path.write_bytes(made.asm[kind] if isinstance(made.asm[kind], bytes) else made.asm[kind].encode())
    outs = []
    for i, value in enumerate(case.arguments):
        if not isinstance(value, numpy.ndarray):
            words.append(f"i32:{value}")
            continue
        file = folder / f"{i}.in"
        value.tofile(file)
        out = folder / f"{i}.out"
        words.append(f"buf:{file}:{out}" if i in case.written else f"buf:{file}")
        outs += [(out, value)] if i in case.written else []
    command = [rubia, "launch", path, "--arch", arch, "--entry", made.metadata.name, "--grid", str(case.grid), "--block", str(threads), "--shared",
               str(made.metadata.shared), "--stats", "--json", *words, "u64:0", "u64:0"]  # the two are for scratch memory, which none needs
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, env={**os.environ, "RUBIA_CACHE_DISABLE": "1"})
    if done.returncode:
        raise SystemExit(f"{case.name} on {arch}, {kind}: {done.stderr.strip()[:500]}")
    return json.loads(done.stdout)["launches"][0], [numpy.fromfile(out, value.dtype).reshape(value.shape) for out, value in outs]


def difference(first, second):
    worst = 0
    for a, b in zip(first, second, strict=True):
        a, b = a.astype(numpy.float64), b.astype(numpy.float64)
        worst = max(worst, numpy.abs(a - b).max() / (numpy.abs(b).max() or 1))
    return worst


def figures(stats):
    vector, matrix = (sum(n for name, n in stats["classes"].items() if name.startswith(kind)) for kind in ("vector", "matrix"))
    return f"{stats['instructions']:,} | {vector:,} | {matrix:,} | {stats['occupancy']['vgprs']} | {stats['occupancy']['lds_bytes']:,}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rubia", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--arch", nargs="+", default=["gfx942", "gfx1100"], choices=LANES)
    parser.add_argument("--kernels", nargs="+", default=[])
    options = parser.parse_args()
    # Triton looks at what it compiles with this; nothing of NVIDIA's is needed.
    os.environ["TRITON_PTXAS_PATH"] = str(options.rubia.parent.parent / "lib/rubia/standins/bin/ptxas")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for case in kernels.cases():
            if options.kernels and case.name not in options.kernels:
                continue
            ptx = compiled(case, GPUTarget("cuda", 89, 32), WARPS)
            for arch in options.arch:
                lanes = LANES[arch]
                own = compiled(case, GPUTarget("hip", arch, lanes), WARPS * 32 // lanes)
                own_stats, own_results = launched(options.rubia, case, arch, own, "hsaco", WARPS * 32, folder)
                stats, results = launched(options.rubia, case, arch, ptx, "ptx", WARPS * 32, folder)
                print(f"| {case.name} | {arch} | {figures(own_stats)} | {figures(stats)} | {stats['instructions'] / own_stats['instructions']:.2f} | "
                      f"{difference(own_results, case.expected):.1e} | {difference(results, case.expected):.1e} | {difference(results, own_results):.1e} |",
                      flush=True)


if __name__ == "__main__":
    sys.exit(main())
