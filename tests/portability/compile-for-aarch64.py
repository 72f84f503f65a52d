# SPDX-License-Identifier: Apache-2.0
"""Compiles a few of the emulator's sources for AArch64: those that choose by processor, and tables whose loops are to become vectors of
its own. Usage: compile-for-aarch64.py CLANG++ SOURCES LLVM-HEADERS FOLDER [ROOT]"""
import os
import subprocess
import sys

compiler, sources, llvm, folder = sys.argv[1:5]
root = sys.argv[5] if len(sys.argv) > 5 else ""
if not root or not os.path.exists(os.path.join(root, "usr/include/aarch64-linux-gnu/bits/types.h")):
    print("skipped: no headers for AArch64 (tools/cmake/aarch64-sysroot FOLDER, then -DRUBIA_AARCH64_ROOT=FOLDER)")
    sys.exit(77)
FILES = {
    "Instructions.cpp": "-O1",
    "DecodeMemory.cpp": "-O1",
    "DecodeVector.cpp": "-O1",
    "HostThreads.cpp": "-O1",
    "ScalarFloat.cpp": "-O1",
    "Transcendental.cpp": "-O1",
    "VectorAluDivision.cpp": "-O1",
    "VectorAluInteger64.cpp": "-O3",
    "VectorLanes.cpp": "-O3",
    "VectorMemory.cpp": "-O3",
    "VectorPath.cpp": "-O3",
}
common = ["--target=aarch64-linux-gnu", "--sysroot=" + root, "-std=c++20", "-fPIC", "-Wall", "-Wextra", "-Werror", "-Wno-pass-failed", "-ffp-contract=off",
          "-fno-math-errno", "-DRUBIA_ISA=baseline", "-I" + sources, "-isystem", llvm]
for name, level in FILES.items():
    subprocess.run([compiler, *common, level, "-c", os.path.join(sources, "emulator/lib", name), "-o", os.path.join(folder, name + ".o")], check=True)
print(len(FILES), "sources")
