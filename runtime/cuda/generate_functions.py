#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Functions.def: every function of the CUDA driver API with the version that introduced it.

Needs a CUDA toolkit; its output is committed, so that building Rubia needs none. Two facts are read
and joined: the names that the toolkit's stub library exports (cuMemcpyHtoD, cuMemcpyHtoD_v2,
cuMemcpyHtoD_v2_ptds, ...), and the versions in which cudaTypedefs.h says that each name changed its
interface. The n-th variant of a name belongs to the n-th version. Of functions for graphics there
are the versions only, and the symbols follow from them.

    generate_functions.py [/usr/local/cuda] > Functions.def
"""
import collections
import pathlib
import re
import subprocess
import sys

TYPEDEFS = ["cudaTypedefs.h", "cudaProfilerTypedefs.h"]
# What shares memory with graphics: drivers export it, the stub library does not.
GRAPHICS_TYPEDEFS = ["cudaEGLTypedefs.h", "cudaGLTypedefs.h", "cudaVDPAUTypedefs.h"]
HEADER = """\
// Every function of the CUDA driver API as of CUDA 13.0: the exported symbol, the name that
// cuGetProcAddress knows it by, the driver version that introduced this variant of it, and whether
// it is the variant whose default stream is the calling thread's (_ptds, _ptsz).
//
// Written by generate_functions.py; not to be edited.
//
// CUDA_FUNCTION(Symbol, Name, Introduced, PerThread)
"""


def typed(toolkit, header):
    """Name, version and suffix of each variant."""
    text = (toolkit / "include" / header).read_text()
    for match in re.finditer(r"\*\s*PFN_(cu\w+?)_v(\d+)(_pt[ds][sz])?\)", text):
        if not match[1].startswith("cuWGL"):  # Windows
            yield match[1], int(match[2]), match[3] or ""


def graphics(toolkit):
    """The symbols: the first variant has the name alone, that of the thread's stream is one of the newest."""
    variants = [variant for header in GRAPHICS_TYPEDEFS for variant in typed(toolkit, header)]
    for name, version, suffix in variants:
        number = sum(other == name and not per_thread and (older <= version or bool(suffix)) for other, older, per_thread in variants)
        yield name, version, suffix, name + (f"_v{number}" if number > 1 else "") + suffix, number


def main():
    toolkit = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/local/cuda")
    versions = collections.defaultdict(set)
    for header in TYPEDEFS:
        for name, version, suffix in typed(toolkit, header):
            versions[name, bool(suffix)].add(version)

    listing = subprocess.run(["nm", "-D", "--defined-only", toolkit / "lib64/stubs/libcuda.so"],
                             check=True, capture_output=True, text=True).stdout
    symbols = collections.defaultdict(list)
    for line in listing.splitlines():
        if match := re.search(r" T ((cu[A-Z]\w*?)(?:_v(\d+))?(_pt[ds][sz])?)$", line):
            symbols[match[2], bool(match[4])].append((int(match[3] or 1), match[1]))

    for name, version, suffix, symbol, number in graphics(toolkit):
        versions[name, bool(suffix)].add(version)
        symbols[name, bool(suffix)].append((number, symbol))

    print(HEADER)
    for (name, per_thread), variants in sorted(symbols.items()):
        introduced = sorted(versions[name, per_thread])
        if len(introduced) != len(variants):
            sys.exit(f"{name}: {len(variants)} symbols, but {len(introduced)} versions")
        for version, (_, symbol) in zip(introduced, sorted(variants)):
            print(f"CUDA_FUNCTION({symbol}, {name}, {version}, {int(per_thread)})")


main()
