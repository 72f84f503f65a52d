#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sample_kernels.py RUBIA FOLDER LIBRARY...: compiles a random sample of the kernels in libraries' PTX, each alone.

    sample_kernels.py build/dev/bin/rubia /tmp/sample --count 500 --arch gfx1100,gfx942 /usr/local/cuda/lib64/lib*.so

FOLDER keeps what is taken out of the libraries, which is theirs: it must lie outside of the repository. The sample
depends on --seed and the libraries alone. Prints a line for each kernel that fails, and a summary; 1 if any fails. Kernels that
call functions which their text only declares are counted apart: programs link them with their own first.
"""
import argparse
import collections
import concurrent.futures
import hashlib
import os
import pathlib
import random
import re
import subprocess
import sys
import time

UNLINKED = "which has no body here"

ENTRY = re.compile(rb"^(?:\.visible |\.weak )*\.entry\s+([\w$]+)", re.MULTILINE)


def extracted(rubia, library, folder):
    """The folder with the PTX of a library, of which others may have the name."""
    into = folder / f"{library.name}-{hashlib.sha256(bytes(library.resolve())).hexdigest()[:8]}"
    if not (into / "done").exists():
        subprocess.run([rubia, "extract", library, "-o", into], check=True, stdout=subprocess.DEVNULL)
        (into / "done").touch()
    return into


def kernels_of(folder):
    for path in sorted(folder.rglob("*.ptx")):
        for name in ENTRY.findall(path.read_bytes()):
            yield path, name.decode()


def compiled(rubia, path, name, arch, seconds):
    """Seconds, and why it failed or None."""
    begin = time.monotonic()
    try:
        ran = subprocess.run([rubia, "compile", path, "--entry", name, "--arch", arch, "-o", os.devnull],
                             capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return seconds, f"more than {seconds} s"
    took = time.monotonic() - begin
    if ran.returncode == 0:
        return took, None
    return took, first_error(ran.stderr) or f"status {ran.returncode}"


def first_error(text):
    """The first line of an error, behind warnings and what the program logs; else the first line, or an empty one."""
    lines = text.strip().splitlines()
    return next((line for line in lines if "error:" in line), lines[0] if lines else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rubia", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("libraries", type=pathlib.Path, nargs="+")
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--arch", default="gfx1100,gfx942")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=int, default=900, help="seconds that a kernel may take")
    options = parser.parse_args()

    kernels, libraries = [], collections.Counter()
    for library in options.libraries:
        found = [(str(library), *kernel) for kernel in kernels_of(extracted(options.rubia, library, options.folder))]
        libraries[str(library)] = len(found)
        kernels += found
    if not kernels:
        sys.exit("sample_kernels.py: there is no PTX in these libraries")
    sample = random.Random(options.seed).sample(kernels, min(options.count, len(kernels)))
    failed = 0
    for arch in options.arch.split(","):
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            results = list(pool.map(lambda kernel: compiled(options.rubia, kernel[1], kernel[2], arch, options.timeout), sample))
        bad = unlinked = 0
        for (library, path, name), (_, why) in zip(sample, results):
            if why and UNLINKED in why:
                unlinked += 1
            elif why:
                bad += 1
                print(f"{arch}: {library}: {path.name}: {name}: {why}")
        failed += bad
        times = sorted(took for took, _ in results)
        print(f"{arch}: {len(sample)} kernels, {bad} failed, {unlinked} must be linked first; seconds: {sum(times):.0f} in all, median {times[len(times) // 2]:.2f}, "
              f"most {times[-1]:.1f}")
    taken = collections.Counter(library for library, _, _ in sample)
    for library, count in libraries.items():
        print(f"{library}: {taken[library]} of {count}")
    return failed > 0


sys.exit(main())
