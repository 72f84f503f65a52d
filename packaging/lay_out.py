#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Puts what runs often in a program that has LLVM within together, by llvm-bolt: three quarters of a compilation's code run once.

Usage: lay_out.py train --bolt BOLT --merge MERGE_FDATA --rubia RUBIA_COMMANDS -o PROFILE
       lay_out.py apply --bolt BOLT --profile PROFILE PROGRAM
       lay_out.py count --merge LLVM_PROFDATA --rubia RUBIA_COMMANDS -o PROFILE

`train` runs an instrumented copy of rubia-commands that compiles TEXTS. `apply` replaces the program, which is linked with
--emit-relocs. `count` does as `train` with a program that clang has instrumented (tools/build-llvm). The profile is the same for the
same program where `setarch -R` may switch address space layout randomisation off, since LLVM's tables are ordered by addresses.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
ARCHS = ["gfx1100", "gfx942"]
# PTX, and scripts that print it.
TEXTS = [ROOT / text for text in ("benchmarks/compile/start.ptx", "benchmarks/ptx-frontend/kernels.ptx", "examples/matrix/gemm.py",
                                  "examples/matrix/attention.py")]
LAYOUT = ["-reorder-blocks=ext-tsp", "-reorder-functions=cdsort", "-split-functions", "-split-all-cold", "-split-eh", "-icf=1"]


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def at_fixed_addresses():
    """The prefix of a command that runs at the same addresses each time, if this system permits it."""
    setarch = shutil.which("setarch")
    if setarch and subprocess.run([setarch, "-R", "true"], capture_output=True).returncode == 0:
        return [setarch, "-R"]
    print("lay_out.py: setarch -R is not permitted here: another build will have another layout", file=sys.stderr)
    return []


def compile_texts(folder, environment):
    """Has the program `rubia` in this folder compile each text for each target, a process each."""
    prefix = at_fixed_addresses()
    (folder / "out").mkdir()
    for index, text in enumerate(TEXTS):
        if text.suffix == ".py":
            printed = subprocess.run([sys.executable, text], check=True, capture_output=True).stdout
            (folder / f"{index}.ptx").write_bytes(printed)
        else:
            shutil.copy(text, folder / f"{index}.ptx")
        for arch in ARCHS:
            run([*prefix, "./rubia", "compile", f"{index}.ptx", "--arch", arch, "-o", "out"], cwd=folder,
                env={"HOME": "/nowhere", **environment})
    profiles = sorted(folder.glob("profile.*"))
    if len(profiles) != len(TEXTS) * len(ARCHS):
        raise SystemExit(f"{len(profiles)} profiles of {len(TEXTS) * len(ARCHS)} runs")
    return profiles


# Short names and few variables, the same everywhere: they are in the program's memory too.
def train(options):
    with tempfile.TemporaryDirectory(prefix="layout") as name:
        folder = pathlib.Path(name)
        run([options.bolt, options.rubia, "-instrument", "-instrumentation-file-append-pid", "-instrumentation-file=./profile", "-o",
             folder / "rubia"])
        run([options.merge, *compile_texts(folder, {}), "-o", options.output])


def count(options):
    with tempfile.TemporaryDirectory(prefix="layout") as name:
        folder = pathlib.Path(name)
        shutil.copy(options.rubia, folder / "rubia")
        run([options.merge, "merge", "--sparse", *compile_texts(folder, {"LLVM_PROFILE_FILE": "profile.%p"}), "-o", options.output])


def apply(options):
    laid_out = options.program.with_suffix(".laid-out")
    run([options.bolt, options.program, "-data", options.profile, "-o", laid_out, *LAYOUT])
    os.replace(laid_out, options.program)


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("train")
    command.add_argument("--bolt", required=True)
    command.add_argument("--merge", required=True)
    command.add_argument("--rubia", type=pathlib.Path, required=True)
    command.add_argument("-o", "--output", type=pathlib.Path, required=True)
    command.set_defaults(call=train)
    command = commands.add_parser("apply")
    command.add_argument("--bolt", required=True)
    command.add_argument("--profile", type=pathlib.Path, required=True)
    command.add_argument("program", type=pathlib.Path)
    command.set_defaults(call=apply)
    command = commands.add_parser("count")
    command.add_argument("--merge", required=True)
    command.add_argument("--rubia", type=pathlib.Path, required=True)
    command.add_argument("-o", "--output", type=pathlib.Path, required=True)
    command.set_defaults(call=count)
    options = parser.parse_args()
    options.call(options)


if __name__ == "__main__":
    main()
