#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what sequences of driver calls give on the emulator with what an H100 gave.

h100.golden in FOLDER is the output of PROGRAM there. A sequence that crashed or hung on it is compared as far as it came;
here it must come to its end. differences.txt beside it has each difference that is meant: the sequence, the reason, and the lines
as `diff` writes them. One that is not there, or is there and does not happen, is an error.

Usage: compare.py FOLDER PROGRAM LIBCUDA [SEQUENCE...]
"""
import difflib
import os
import pathlib
import subprocess
import sys

ENDS = ("  crashes", "  hangs")


def sequences(text):
    found = {}
    for line in text.splitlines():
        if line and not line.startswith(" "):
            lines = found.setdefault(line, [])
        elif line:
            lines.append(line)
    return found


def expected_differences(text):
    """Name -> lines; reasons are left out."""
    found = {}
    for line in text.splitlines():
        if line.startswith("# ") or not line:
            continue
        if line[0] in "-+":
            lines.append(line)
        else:
            name, separator, reason = line.partition(": ")
            if not separator or not reason:
                sys.exit(f"differences.txt: no reason: {line}")
            lines = found.setdefault(name, [])
    return found


def difference(theirs, ours):
    if theirs[-1] in ENDS:
        theirs = theirs[:-1]
        if ours and ours[-1] in ENDS:
            return ["+" + ours[-1]]
        ours = ours[:len(theirs)]
    return [line for line in difflib.unified_diff(theirs, ours, n=0, lineterm="")
            if line[0] in "-+" and line[:3] not in ("---", "+++")]


def main():
    folder, program, libcuda, *wanted = sys.argv[1:]
    folder = pathlib.Path(folder)
    environment = dict(os.environ, RUBIA_DEVICE="emulator")
    environment.pop("RUBIA_HIP_LIBRARY", None)
    ran = subprocess.run([program, libcuda, *wanted], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    ours = sequences(ran.stdout)
    theirs = sequences((folder / "h100.golden").read_text())
    expected = expected_differences((folder / "differences.txt").read_text())
    if ran.returncode:
        sys.exit(ran.stderr)
    if not wanted and ours.keys() != theirs.keys():
        sys.exit(f"not in both: {sorted(ours.keys() ^ theirs.keys())}")
    failures = 0
    for name in wanted or ours:
        found = difference(theirs[name], ours[name])
        if found != expected.get(name, []):
            failures += 1
            print(name, *found, "  expected:", *expected.get(name, []), sep="\n")
    if unknown := expected.keys() - theirs.keys():
        sys.exit(f"differences.txt: no such sequence: {sorted(unknown)}")
    print(f"{len(wanted or ours)} sequences, {failures} unlike the H100's, {len(expected)} with differences that are meant")
    sys.exit(failures != 0)


main()
