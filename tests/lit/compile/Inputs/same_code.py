# SPDX-License-Identifier: Apache-2.0
"""Names of registers change no instruction: the code of some kernels, with lines alone and with registers.

Usage: same_code.py RUBIA FOLDER-OF-PTX
"""
import pathlib
import struct
import subprocess
import sys
import tempfile

rubia, folder = sys.argv[1], pathlib.Path(sys.argv[2])


def text(elf):
    """The bytes of .text, of an ELF file of 64 bits."""
    offset, = struct.unpack_from("<Q", elf, 40)
    size, count, names = struct.unpack_from("<3H", elf, 58)
    sections = [struct.unpack_from("<2I4Q", elf, offset + i * size) for i in range(count)]
    start = sections[names][4]
    return next(elf[at:at + length] for name, _, _, _, at, length in sections if elf[start + name:].startswith(b".text\0"))


def code(source, *options):
    """Of each kernel for each target."""
    with tempfile.TemporaryDirectory() as out:
        subprocess.run([rubia, "compile", str(source), "--arch", "gfx1100,gfx942", "--emit", "obj", *options, "-o", out], check=True, capture_output=True)
        return {file.name: text(file.read_bytes()) for file in pathlib.Path(out).iterdir()}


for name in ("registers", "arithmetic", "conversions", "logic"):
    for level in ("O0", "O3"):
        plain, named = (code(folder / f"{name}.ptx", "--optimise", level, "--debug-info", mode) for mode in ("lines", "registers"))
        for target in ("gfx1100", "gfx942"):
            if not any(target in file for file in plain):
                sys.exit(f"{name}: nothing for {target}")
        if plain != named:
            sys.exit(f"{name} at {level} has other code with names of registers: {[file for file in plain if plain[file] != named.get(file)]}")
