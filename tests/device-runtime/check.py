#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs scenarios of Program.cpp under `rubia run` and compares them with what an H100 printed.

usage: check.py RUBIA PROGRAM PTX RECORDED SCENARIO...
"""
import pathlib
import re
import subprocess
import sys

# Lines of `conversions` in which NVIDIA's driver prints what nobody passed: its device side and its host side disagree
# about lengths (hh), precisions (.*), flags (', I), positions and letters (L, m, b, q, C), it crashes on %n, and it
# knows no more than 32 arguments. We print the argument, or the conversion as it stands.
GARBAGE = {17, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 44, 58, 59, 62, 63}


def run(rubia, program, ptx, *words):
    done = subprocess.run([rubia, "run", "--", program, ptx, *words], capture_output=True, timeout=250)
    if done.returncode:
        sys.exit(f"{words}: exit status {done.returncode}\n{done.stdout.decode(errors='replace')}\n"
                 f"{done.stderr.decode(errors='replace')}")
    return done.stdout, done.stderr


def conversions(text):
    """The part of each line of the kernel, by its number."""
    parts = re.split(rb"(?:^|\n)(\d+): ", b"\n" + text)
    return {int(number): part for number, part in zip(parts[1::2], parts[2::2])}


def same(what, ours, recorded):
    if ours == recorded:
        return
    ours, recorded = ours.splitlines(), recorded.splitlines()
    for number, (mine, theirs) in enumerate(zip(ours, recorded), 1):
        if mine != theirs:
            sys.exit(f"{what}, line {number}: {mine[:300]}\nrecorded: {theirs[:300]}")
    sys.exit(f"{what}: {len(ours)} lines, recorded {len(recorded)}")


def fields(text, pattern):
    found = re.search(pattern, text.decode())
    if not found:
        sys.exit(f"no '{pattern}' in {text.decode()}")
    return [int(value) for value in found.groups()]


def main():
    rubia, program, ptx, recorded = sys.argv[1:5]

    def read(name):
        return (pathlib.Path(recorded) / (name + ".txt")).read_bytes()

    for scenario in sys.argv[5:]:
        if scenario == "lines":  # the order of threads is nobody's promise
            out, _ = run(rubia, program, ptx, scenario)
            same(scenario, b"\n".join(sorted(out.splitlines())), b"\n".join(sorted(read(scenario).splitlines())))
        elif scenario == "conversions":
            ours = conversions(run(rubia, program, ptx, scenario)[0])
            theirs = conversions(read(scenario))
            if ours.keys() != theirs.keys():
                sys.exit(f"{sorted(ours)} lines, recorded {sorted(theirs)}")
            for number in sorted(theirs):
                if number not in GARBAGE:
                    same(f"conversions, line {number}", ours[number], theirs[number])
        elif scenario == "strings":
            out = b"\n".join(line[:200] for line in run(rubia, program, ptx, scenario)[0].split(b"\n"))
            same(scenario, out, read(scenario))
        elif scenario.startswith("assert"):
            words = {"assert": ("assert", "70", "1000"), "assert-many": ("assert", "3", "16")}.get(scenario, (scenario,))
            out, err = run(rubia, program, ptx, *words)
            failed = sorted(line for line in err.splitlines(True) if b"Assertion" in line)
            same(scenario, b"".join(failed), b"".join(sorted(read(scenario).splitlines(True))))
            if not out.endswith(b"assert: 710, then 710, launch 710\n"):
                sys.exit(f"{scenario}: {out.decode()}")
        elif scenario == "fifo":  # without a reader the newest lines are left, and nothing else
            out, _ = run(rubia, program, ptx, scenario, "1")
            lines = [int(line.split()[1]) for line in out.decode().splitlines() if line.startswith("line ")]
            if fields(out, r"set to 1: (\d+), is (\d+)") != [0, 524288] or fields(out, r"results (\d+) to (\d+)") != [1, 1]:
                sys.exit(f"fifo: {out.decode()[:200]}")
            if lines[-3:] != [0, 1, 2] or lines[:-3] != list(range(60000 - len(lines) + 3, 60000)) or len(lines) < 8000:
                sys.exit(f"fifo: {len(lines)} lines, {lines[:3]} to {lines[-5:]}")
            if fields(out, r"set after use: (\d+)") != [1]:
                sys.exit("fifo: the size could be changed after use")
        elif scenario == "heap":  # an H100 has 7,674,032 bytes in one block
            out, _ = run(rubia, program, ptx, scenario)
            if fields(out, r"default (\d+), is (\d+)") != [8388608, 8388608] or fields(out, r"largest (\d+)")[0] < 7674032:
                sys.exit(f"heap: {out.decode()}")
            for line in (b"malloc(0): a block", b"malloc(1): a block", b"malloc(1099511627776): null",
                         b"malloc(18446744073709551615): null", b"set after use: 1",
                         b"churn: 0 null, 0 misaligned, 0 overwritten"):
                if line not in out:
                    sys.exit(f"heap: no '{line.decode()}' in {out.decode()}")
            # At least as many blocks as an H100 has, all free again, and all there the second time.
            for size, least in (("1048576", 6), ("100000", 78), ("5000", 1259)):
                out, _ = run(rubia, program, ptx, "heap-blocks", size)
                counts = re.findall(rb"blocks of \d+: (\d+) .*, aligned to (\d+), freed (\d+)", out)
                if len(counts) != 2 or counts[0] != counts[1] or int(counts[0][0]) < least or counts[0][0] != counts[0][2]:
                    sys.exit(f"heap-blocks {size}: {out.decode()}")
        elif scenario == "stack":
            words = [("0", "8"), ("0", "1000"), ("131072", "1000"), ("5000", "8")]
            same(scenario, b"".join(run(rubia, program, ptx, scenario, *w)[0] for w in words), read(scenario))
        elif scenario == "function-pointers":
            out, _ = run(rubia, program, ptx, scenario)
            same(scenario, out, b"two functions: 42 -21\n")
        else:
            out, _ = run(rubia, program, ptx, scenario)
            same(scenario, out, read(scenario))


main()
