#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes Functions.def: every function of the CUDA driver API with the version that introduced it.

Needs a CUDA toolkit; its output is committed, so that building Rubia needs none. Two facts are read
and joined: the names that the toolkit's stub library exports (cuMemcpyHtoD, cuMemcpyHtoD_v2,
cuMemcpyHtoD_v2_ptds, ...), and the versions in which cudaTypedefs.h says that each name changed its
interface. The n-th variant of a name belongs to the n-th version.

    generate_functions.py [/usr/local/cuda] > Functions.def
"""
import collections
import pathlib
import re
import subprocess
import sys

TYPEDEFS = ["cudaTypedefs.h", "cudaProfilerTypedefs.h"]
HEADER = """\
// Every function of the CUDA driver API as of CUDA 13.0: the exported symbol, the name that
// cuGetProcAddress knows it by, the driver version that introduced this variant of it, and whether
// it is the variant whose default stream is the calling thread's (_ptds, _ptsz).
//
// Written by generate_functions.py; not to be edited.
//
// CUDA_FUNCTION(Symbol, Name, Introduced, PerThread)
"""


def main():
    toolkit = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/local/cuda")
    versions = collections.defaultdict(set)
    for header in TYPEDEFS:
        text = (toolkit / "include" / header).read_text()
        for match in re.finditer(r"\*\s*PFN_(cu\w+?)_v(\d+)(_pt[ds][sz])?\)", text):
            versions[match[1], bool(match[3])].add(int(match[2]))

    listing = subprocess.run(["nm", "-D", "--defined-only", toolkit / "lib64/stubs/libcuda.so"],
                             check=True, capture_output=True, text=True).stdout
    symbols = collections.defaultdict(list)
    for line in listing.splitlines():
        if match := re.search(r" T ((cu[A-Z]\w*?)(?:_v(\d+))?(_pt[ds][sz])?)$", line):
            symbols[match[2], bool(match[4])].append((int(match[3] or 1), match[1]))

    print(HEADER)
    for (name, per_thread), variants in sorted(symbols.items()):
        introduced = sorted(versions[name, per_thread])
        if len(introduced) != len(variants):
            sys.exit(f"{name}: {len(variants)} symbols, but {len(introduced)} versions")
        for version, (_, symbol) in zip(introduced, sorted(variants)):
            print(f"CUDA_FUNCTION({symbol}, {name}, {version}, {int(per_thread)})")


main()
