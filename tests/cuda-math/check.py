#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs CudaMath or CudaBf16 under `rubia run` and compares its results with those of an H100.

Usage: check.py RUBIA PROGRAM RECORDED ARCH [--all CHECK_ULP]

By default every eighth function at 512 inputs. --all: every function at 100,000 inputs; those with a bound are also
compared with MPFR's values by CHECK_ULP. A function without a bound must have an H100's bits; one with a bound may
differ from the H100 by that much.
"""
import gzip
import os
import subprocess
import sys
import tempfile

SAMPLES = 512
BITS = {"d": 64, "f": 32, "h": 16, "b": 16, "i": 64}


def parse(lines):
    """Name -> (kind, bound, digest of all results, samples)."""
    rows = {}
    for line in lines:
        name, kind, bound, digest, *samples = line.split()
        rows[name] = (kind, int(bound), digest, [int(s, 16) for s in samples])
    return rows


def ordered(bits, width):
    """Numbers of a floating-point format in order, as integers."""
    sign = 1 << (width - 1)
    return -(bits & (sign - 1)) if bits & sign else bits


def halves(pairs):
    """The numbers of pairs of bf16."""
    return [pair >> shift & 0xFFFF for pair in pairs for shift in (0, 16)]


def compare(name, ours, recorded, all_inputs):
    """What is wrong with a function; None: nothing."""
    kind, bound, digest, samples = recorded
    assert len(samples) == SAMPLES and len(ours[3]) == SAMPLES and ours[:2] == recorded[:2], name
    if not bound:
        if samples == ours[3] and (not all_inputs or digest == ours[2]):
            return None
        wrong = [i for i in range(SAMPLES) if samples[i] != ours[3][i]]
        return f"{len(wrong)} of {SAMPLES} samples differ" + (
            f", input {wrong[0]}: {ours[3][wrong[0]]:x}, expected {samples[wrong[0]]:x}" if wrong else "")
    found = halves(ours[3]) if kind == "p" else ours[3]
    samples = halves(samples) if kind == "p" else samples
    width = BITS["b" if kind == "p" else kind]
    worst = max(range(len(samples)), key=lambda i: abs(ordered(samples[i], width) - ordered(found[i], width)))
    distance = abs(ordered(samples[worst], width) - ordered(found[worst], width))
    if distance > bound:
        return f"{distance} ulp from an H100 at result {worst}: {found[worst]:x}, the H100 has {samples[worst]:x}"
    return None


def main():
    rubia, program, recorded_file, arch = sys.argv[1:5]
    check_ulp = sys.argv[6] if len(sys.argv) > 5 else None
    with gzip.open(recorded_file, "rt") as file:
        recorded = parse(file)
    with tempfile.TemporaryDirectory() as folder:
        arguments = [program, "512", str(SAMPLES), "8"]
        if check_ulp:
            arguments = [program, "100000", str(SAMPLES), "1", folder + "/results"]
        environment = {**os.environ, "RUBIA_ARCH": arch}
        done = subprocess.run([rubia, "run", "--device", "emulator", "--"] + arguments, env=environment,
                              stdout=subprocess.PIPE, text=True)
        if done.returncode:
            sys.exit(f"status {done.returncode}: {done.stdout[-2000:]}")
        ours = parse(done.stdout.splitlines())
        problems = {name: compare(name, row, recorded[name], bool(check_ulp)) for name, row in ours.items()}
        failures = {name: problem for name, problem in problems.items() if problem}
        for name, problem in failures.items():
            print(f"{name}: {problem}")
        print(f"{len(ours)} functions, {len(failures)} differ")
        if check_ulp:
            assert set(ours) == set(recorded), "the recording has other functions"
            status = subprocess.run([check_ulp, folder + "/results"]).returncode
            failures |= {"ulp": "beyond a bound"} if status else {}
    sys.exit(1 if failures or not ours else 0)


main()
