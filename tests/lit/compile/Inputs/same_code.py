# SPDX-License-Identifier: Apache-2.0
"""Names of registers change no instruction: the code of some kernels, with lines alone and with registers.

Usage: same_code.py RUBIA FOLDER-OF-PTX
"""
import pathlib
import subprocess
import sys
import tempfile

rubia, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def code(source, target, *options):
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([rubia, "compile", str(source), "--arch", target, "--emit", "obj", *options, "-o", out], check=True, capture_output=True)
        files = sorted(pathlib.Path(out).iterdir())
        return [subprocess.run(["llvm-objdump", "--disassemble", "--no-show-raw-insn", file.name], check=True, capture_output=True, cwd=out).stdout
                for file in files]


for name in ("registers", "arithmetic", "conversions", "logic"):
    for target in ("gfx1100", "gfx942"):
        for level in ("O0", "O3"):
            plain, named = (code(folder / f"{name}.ptx", target, "--optimise", level, "--debug-info", mode) for mode in ("lines", "registers"))
            if plain != named or not plain:
                sys.exit(f"{name} for {target} at {level} has other code with names of registers")
