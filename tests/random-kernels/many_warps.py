#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""many_warps.py RUBIA-RANDOM RUBIA SEED: a drawn kernel of matrices, with 16 warps in a block instead of one or two.

More of the warps that share a wave then take branches apart. The packed form must have the results of the interpreter.
"""
import pathlib
import random
import re
import subprocess
import sys
import tempfile

WARPS = 16


def kernel(generator, seed):
    """The text, with shared memory and results for all warps: each has its own."""
    text = subprocess.run([generator, "text", "--family", "matrices", "--first", seed, "--count", "1"], check=True, capture_output=True, text=True).stdout
    for before, after in (
        (r"tiles\[\d+\]", f"tiles[{2048 * WARPS}]"),
        (r"barriers\[\d+\]", f"barriers[{WARPS}]"),
        (r"%warp, 1024, \d+;", f"%warp, 1024, {32 * 8 * WARPS};"),
    ):
        text, count = re.subn(before, after, text)
        if count != 1:
            sys.exit(f"many_warps.py: {before} is in the kernel {count} times, expected once")
    return re.sub(r"\.(max|req)ntid [\d, ]+", rf".\1ntid {32 * WARPS} ", text)


def main():
    generator, rubia, seed = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "kernel.ptx").write_text(kernel(generator, seed))
        (folder / "in").write_bytes(random.Random(5).randbytes(65536))

        def results(*options):
            arguments = [f"buf:{folder}/in", f"zero:65536:{folder}/out", "bytes:" + "00" * 64]
            subprocess.run([rubia, "launch", folder / "kernel.ptx", "--block", str(32 * WARPS), *options, *arguments], check=True)
            return (folder / "out").read_bytes()

        expected = results("--reference")
        for arch in "gfx90a", "gfx942":
            packed = results("--arch", arch, "--warp-form", "packed")
            differing = sum(a != b for a, b in zip(packed, expected))
            print(f"{arch}: {differing} of {len(expected)} bytes differ")
            if differing:
                return 1
    return 0


sys.exit(main())
