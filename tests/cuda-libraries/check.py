#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that use CUB, Thrust and libcu++ under `rubia run`, compared with what the host computes.

Usage: check.py [--build] NVCC RUBIA FOLDER ARCH[,ARCH...] SOURCE [--define NAME=VALUE] [--elements N] [--target 80] [--checks races]

Compiles SOURCE of this folder with nvcc, for PTX only, unless FOLDER has it already, and runs it on each processor that the
emulator has to be. The program compares and prints; all of it is shown if anything is wrong. Exit status 77 (ctest: skipped) where
there is no nvcc, or none with CUB's headers. With --build it compiles only, and there is nothing to do without nvcc.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def arguments():
    parser = argparse.ArgumentParser()
    for name in ("nvcc", "rubia", "folder", "archs", "source"):
        parser.add_argument(name)
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--define", default="")
    parser.add_argument("--elements", default="")
    parser.add_argument("--target", default="80")
    parser.add_argument("--checks", default="")
    return parser.parse_args()


def has_headers(nvcc):
    """Asks the preprocessor, so that a broken program is no reason to skip."""
    probe = subprocess.run([nvcc, "-std=c++17", "-x", "cu", "-E", "-"], input="#include <cub/version.cuh>\n", text=True, capture_output=True)
    return probe.returncode == 0


def compiled(options):
    """The program's path. It is made under a name of its own, so that tests may run at the same time."""
    folder = pathlib.Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    source = HERE / options.source
    program = folder / "-".join([source.stem, options.target] + options.define.split("=")[1:])
    newest = max(file.stat().st_mtime for file in (source, HERE / "Checked.h"))
    if program.exists() and program.stat().st_mtime > newest:
        return program
    with tempfile.TemporaryDirectory(dir=folder) as fresh:
        command = [options.nvcc, "-std=c++17", "-O2", "--extended-lambda", f"-arch=compute_{options.target}", f"-code=compute_{options.target}", "-Wno-deprecated-declarations"]
        command += ["-D" + options.define] if options.define else []
        subprocess.run(command + [str(source), "-o", fresh + "/program"], check=True)
        os.replace(fresh + "/program", program)
    return program


def passes(options, program, arch, cache):
    environment = dict(os.environ, RUBIA_ARCH=arch, RUBIA_CACHE_DIR=cache)
    if options.checks:
        environment["RUBIA_EMULATOR_CHECK"] = options.checks
    command = [options.rubia, "run", "--", str(program)] + ([options.elements] if options.elements else [])
    run = subprocess.run(command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = run.stdout.splitlines()
    # The program must have come to its end, and have compared something.
    good = run.returncode == 0 and "PASS" in lines and any(line.startswith("ok ") for line in lines)
    print(run.stdout if not good else f"{arch}: {sum(line.startswith('ok ') for line in lines)} results are right", flush=True)
    return good


def main():
    options = arguments()
    if not os.path.exists(options.nvcc):
        print("skipped: no nvcc")
        return 0 if options.build else 77
    if not has_headers(options.nvcc):
        print("skipped: nvcc has no headers of CUB")
        return 0 if options.build else 77
    program = compiled(options)
    if options.build:
        return 0
    with tempfile.TemporaryDirectory() as cache:
        results = [passes(options, program, arch, cache) for arch in options.archs.split(",")]
    return 0 if all(results) else 1


sys.exit(main())
