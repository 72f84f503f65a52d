#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Leaves out statements of a program that differs (see check_programs.py) as long as it still differs, and prints what is left.

Usage: reduce.py --clang CLANG --runner RUN_PROGRAMS --target gfx1100 --setting O0 [--seed N] PROGRAM
"""

import argparse
import subprocess
import sys
import tempfile

from check_programs import COMMON, DEVICE, HOST, SETTINGS
from programs import Program, translationUnit


def main():
    parser = argparse.ArgumentParser()
    for name in ("clang", "runner", "target", "setting"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--crash", action="store_true", help="what to keep is that clang fails for the device")
    parser.add_argument("program", type=int)
    options = parser.parse_args()
    cpu, _, wave = options.target.partition("/")
    last = Program(options.seed, options.program).counter

    with tempfile.TemporaryDirectory() as folder:
        def differs(skip):
            """The runner's line if the program without `skip` still goes wrong."""
            source = f"{folder}/p.c"
            with open(source, "w") as f:
                f.write(translationUnit([Program(options.seed, options.program)], frozenset(skip)))
            device = [options.clang, *DEVICE, f"-mcpu={cpu}", *(["-mwavefrontsize64"] if wave else []), *SETTINGS[options.setting], *COMMON,
                      source, "-o", f"{folder}/p.co"]
            host = [options.clang, *HOST, *COMMON, source, "-o", f"{folder}/p.so", "-lm"]
            if options.crash and subprocess.run([*host, "-fsyntax-only"], capture_output=True).returncode:
                return ""
            compiled = subprocess.run(device, capture_output=True).returncode
            if options.crash:
                return "clang fails" if compiled else ""
            if compiled or subprocess.run(host, capture_output=True).returncode:
                return ""
            try:
                result = subprocess.run([options.runner, f"{folder}/p.so", f"{folder}/p.co"], capture_output=True, text=True, timeout=60)
            except subprocess.TimeoutExpired:
                return "runs for more than a minute"
            return result.stdout.splitlines()[0] if result.returncode == 1 else ""

        line = differs(())
        if not line:
            sys.exit("the program does not differ")
        skip, chunk = set(), max(1, last // 2)
        while True:
            before = len(skip)
            for first in range(1, last + 1, chunk):
                trial = skip | set(range(first, first + chunk))
                if len(trial) > len(skip) and (found := differs(trial)):
                    skip, line = trial, found
            if chunk > 1:
                chunk = max(1, chunk // 2)
            elif len(skip) == before:
                break
        print(Program(options.seed, options.program).text(frozenset(skip)))
        print(f"// generate.py --seed {options.seed} --skip {','.join(map(str, sorted(skip)))} {options.program}\n// {line}")


if __name__ == "__main__":
    main()
