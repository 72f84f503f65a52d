#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How good Rubia's code is, beside the same source compiled natively by clang -x hip -O3: nvcc makes PTX of kernels.cu and algorithms.cu,
Rubia recompiles it, the emulator executes both on the same input, and their results must be equal. For each figure the geometric mean of
Rubia's by clang's, and the worst kernels. Needs nvcc, clang and ROCm's device libraries (Debian's rocm-device-libs).

Usage: compare.py BUILD_FOLDER [--arch ARCH ...] [--kernels NAME ...] [--table] [--ptx FOLDER] [--save FILE] [--against FILE]

--ptx has PTX of the sources, NAME.ptx each; --save keeps Rubia's figures as JSON; --against compares with such a file in the place of clang's.
"""
import argparse
import array
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "targets"))
import targets  # noqa: E402

ELEMENTS = 4096
GRID, BLOCK = 16, 256
TYPES = {"float": "f", "double": "d", "u32": "I", "u64": "Q"}
TOLERANCE = 1e-3  # of floating-point results: the two compilers contract differently
SOURCES = ["kernels", "algorithms"]
LIBRARIES = pathlib.Path("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode")
# What is smaller is better; `waves` is turned round. `cycles` weights instructions by what they keep their unit busy (see CYCLES).
FIGURES = ["instructions", "cycles", "vector", "bytes", "vgprs", "waves", "transactions", "lds", "scratch"]
# Cycles that a SIMD is kept busy, of classes that need more than one pass: AMD's instruction set manuals give transcendental functions a
# quarter of the rate. f64 is a sixteenth of f32's on RDNA 2 and 3, and as fast on CDNA (AMDGPU/SISchedule.td of LLVM has these rates).
CYCLES = {"vector transcendental": (4, 4), "vector f64": (16, 1)}


def kernels(source, names):
    found = re.findall(r"^KERNEL\((\w+), (\w+)\)", (HERE / f"{source}.cu").read_text(), re.M)
    return {name: kind for name, kind in found if not names or name in names}


def program(*names):
    for name in names:
        if path := shutil.which(name) or shutil.which(name, path="/usr/local/cuda/bin:/usr/lib/llvm-22/bin"):
            return path
    raise SystemExit(f"skipped: no {names[0]}")


def make_ptx(folder, source):
    ptx = folder / f"{source}.ptx"
    subprocess.run([program("nvcc"), "-O3", "-std=c++17", "-arch=compute_80", "-ptx", HERE / f"{source}.cu", "-o", ptx], check=True)
    return ptx


def device_libraries(arch):
    """The bitcode that HIP's programs are linked with. The libraries may be older than the processor: then the nearest one's constants."""
    number = arch.removeprefix("gfx")
    versions = [path.stem.removeprefix("oclc_isa_version_") for path in LIBRARIES.glob("oclc_isa_version_*.bc")]
    same = [v for v in versions if len(v) == len(number)] if number[0] == "9" else versions
    nearest = max((v for v in same if int(v, 16) <= int(number, 16)), key=lambda v: int(v, 16), default=None)
    if not nearest:
        raise SystemExit(f"skipped: no device libraries in {LIBRARIES}")
    wave64 = "off" if 32 in targets.wave_sizes(arch) else "on"
    names = ["ocml", f"oclc_isa_version_{nearest}", "oclc_abi_version_500", f"oclc_wavefrontsize64_{wave64}", "oclc_daz_opt_off",
             "oclc_finite_only_off", "oclc_unsafe_math_off", "oclc_correctly_rounded_sqrt_on"]
    return [word for name in names for word in ("-Xclang", "-mlink-builtin-bitcode", "-Xclang", LIBRARIES / f"{name}.bc")]


def make_native(folder, source, arch):
    native = folder / f"{source}-{arch}.co"
    subprocess.run([program("clang++-22", "clang++"), "-x", "hip", "--offload-device-only", "--no-gpu-bundle-output",
                    "--offload-arch=" + arch, "-nogpuinc", "-nogpulib", *device_libraries(arch), "-O3", "-std=c++17",
                    HERE / f"{source}.cu", "-o", native], check=True)
    return native


def make_inputs(folder):
    random.seed(1)
    for kind, code in TYPES.items():
        draw = random.random if code in "fd" else lambda code=code: random.getrandbits(32 if code == "I" else 64)
        (folder / f"{kind}.in").write_bytes(array.array(code, [draw() for _ in range(ELEMENTS)]).tobytes())


def code_of(co):
    """{kernel: (bytes of code, bytes of scratch)}. Functions that a kernel calls do not count."""
    readelf = program("llvm-readelf-22", "llvm-readelf")
    symbols = subprocess.run([readelf, "--symbols", "--wide", co], capture_output=True, text=True, check=True).stdout
    notes = subprocess.run([readelf, "--notes", co], capture_output=True, text=True, check=True).stdout
    sizes = dict(reversed(m) for m in re.findall(r"^\s*\d+: \S+\s+(\d+) FUNC .* (\S+)$", symbols, re.M))
    scratch = dict(re.findall(r"^    \.name:\s+(\S+)\n(?:    \..*\n|      .*\n)*?    \.private_segment_fixed_size: (\d+)", notes, re.M))
    return {kernel: (int(sizes[kernel]), int(scratch[kernel])) for kernel in scratch}


def launch(rubia, co, arch, kernel, kind, folder):
    size = array.array(TYPES[kind]).itemsize * ELEMENTS
    out = folder / "out"
    command = [rubia, "launch", co, "--arch", arch, "--entry", kernel, "--grid", str(GRID), "--block", str(BLOCK), "--stats", "--json",
               f"zero:{size}:{out}", f"buf:{folder / (kind + '.in')}", f"i32:{ELEMENTS}"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "RUBIA_CACHE_DISABLE": "1"})
    if done.returncode:
        raise SystemExit(f"{kernel} on {arch}: {done.stderr.strip()[:500]}")
    return json.loads(done.stdout)["launches"][0], array.array(TYPES[kind], out.read_bytes())


def figures(stats, code, arch):
    classes, memory = stats["classes"], stats["memory"]
    is_cdna = 32 not in targets.wave_sizes(arch)
    passes = 4 if is_cdna else 1  # of a wave of 64 lanes through 16
    weights = {name: cycles[is_cdna] * passes for name, cycles in CYCLES.items()}
    lines = sum(memory[k]["lines"] for k in ("loads", "stores", "atomics"))
    return {"instructions": stats["instructions"],
            "cycles": sum(n * weights.get(name, passes if name.startswith("vector") else 1) for name, n in classes.items()),
            "vector": sum(n for name, n in classes.items() if name.startswith("vector")),
            "bytes": code[0], "vgprs": stats["occupancy"]["vgprs"], "waves": 1 / stats["occupancy"]["waves_per_simd"],
            "transactions": lines + sum(classes.get(k, 0) for k in ("scalar memory", "scratch load", "scratch store")),
            "lds": stats["lds"]["cycles"], "scratch": code[1]}


def is_same(kind, first, second):
    if TYPES[kind] not in "fd":
        return first == second
    return all(a == b or (a != a and b != b) or abs(a - b) <= TOLERANCE * max(1, abs(a), abs(b)) for a, b in zip(first, second))


def measure(options, folder, arch):
    """{kernel: (Rubia's figures, clang's)}."""
    rubia, found = str(options.build / "bin" / "rubia"), {}
    for source in SOURCES:
        wanted = kernels(source, options.kernels)
        if not wanted:
            continue
        ptx, compiled = options.ptx / f"{source}.ptx", folder / arch / source
        subprocess.run([rubia, "compile", ptx, "--arch", arch, "-o", compiled], check=True, stdout=subprocess.DEVNULL)
        native = None if options.against else make_native(folder, source, arch)
        natives = {} if options.against else code_of(native)
        for kernel, kind in wanted.items():
            [ours] = [co for co in compiled.iterdir() if kernel in (co.stem, co.name.split(".")[0])]
            stats, results = launch(rubia, ptx, arch, kernel, kind, folder)
            mine, other = figures(stats, code_of(ours)[kernel], arch), None
            if native:
                stats, expected = launch(rubia, native, arch, kernel, kind, folder)
                other = figures(stats, natives[kernel], arch)
                if not is_same(kind, results, expected):
                    raise SystemExit(f"{kernel} on {arch}: the results differ")
            found[kernel] = mine, other
    return found


def ratio(figure, mine, other):
    return mine[figure] / other[figure] if other[figure] else None


def report(options, arch, found):
    print(f"{arch}: {len(found)} kernels{'':20} geometric mean   worst")
    for figure in FIGURES:
        ratios = {kernel: r for kernel, pair in found.items() if (r := ratio(figure, *pair))}
        if figure == "scratch":
            more = [kernel for kernel, (mine, other) in found.items() if mine[figure] > other[figure]]
            print(f"  {'scratch where clang has less':34} {len(more):18}   " + ", ".join(more))
            continue
        if not ratios:
            continue  # no kernel has any
        mean = math.exp(statistics.fmean(map(math.log, ratios.values())))
        worst = sorted(ratios, key=ratios.get)[::-1][:4]
        print(f"  {figure:34} {mean:18.3f}   " + ", ".join(f"{ratios[k]:.2f} {k}" for k in worst))
    if options.table:
        for kernel, (mine, other) in found.items():
            print(f"  {kernel:24}" + "".join(f"  {f} {mine[f]:g}/{other[f]:g}" for f in FIGURES if f != "waves"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--arch", nargs="+", default=targets.WHOLE)
    parser.add_argument("--kernels", nargs="+")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--ptx", type=lambda text: pathlib.Path(text).resolve(), help="a folder with NAME.ptx of the sources, where there is no nvcc")
    parser.add_argument("--save")
    parser.add_argument("--against")
    options = parser.parse_args()
    saved, other = {}, json.loads(pathlib.Path(options.against).read_text()) if options.against else None
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if not options.ptx:
            options.ptx = folder
            for source in SOURCES:
                make_ptx(folder, source)
        make_inputs(folder)
        for arch in options.arch:
            found = measure(options, folder, arch)
            saved[arch] = {kernel: mine for kernel, (mine, _) in found.items()}
            if other:
                found = {kernel: (mine, other[arch][kernel]) for kernel, (mine, _) in found.items() if kernel in other[arch]}
            report(options, arch, found)
    if options.save:
        pathlib.Path(options.save).write_text(json.dumps(saved))


if __name__ == "__main__":
    main()
