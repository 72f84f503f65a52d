#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles conditional.cu with nvcc, linked with NVIDIA's device runtime as its users link it, runs it under `rubia run` and
compares what it prints with what it printed on an H100 (driver 580, CUDA 13.0).

Usage: check.py RUBIA NVCC FOLDER
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    rubia, nvcc, folder = sys.argv[1:]
    if nvcc.endswith("NOTFOUND"):
        print("no nvcc")
        sys.exit(77)
    program = pathlib.Path(folder) / "conditional"
    program.parent.mkdir(parents=True, exist_ok=True)
    source = HERE / "conditional.cu"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        subprocess.run([nvcc, "-std=c++17", "-rdc=true", "-cudart", "static", "-gencode", "arch=compute_80,code=compute_80", source, "-o", program],
                       check=True)
    ran = subprocess.run([rubia, "run", "--device", "emulator", "--", program], capture_output=True, text=True)
    if ran.returncode or ran.stdout != (HERE / "recorded.txt").read_text():
        print(ran.stdout, ran.stderr)
        sys.exit("unlike the H100's" if not ran.returncode else f"ended with {ran.returncode}")


main()
