#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what the interpreter of reference/ makes of the textures of sequences with what the emulator does.

The emulator's results are the H100's (compare.py). A sequence is captured on the emulator and replayed by the interpreter. Launches
that are undecided must be as many as UNDECIDED says: where the emulator differs from the H100 within a bound.

Usage: interpreter.py RUBIA PROGRAM [SEQUENCE...]
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SEQUENCES = """modes_of_dimensions_of_one_texel colours_of_the_border zeros_and_texels_without_a_weight halves_that_are_no_numbers
details_that_are_no_numbers directions_of_a_cube_map sums_of_halves_between_two sums_of_halves_of_many_sizes points_between_levels
points_of_one_level gathers_with_a_filter coordinates_of_levels gathers_of_levels single_texels_that_are_odd
gradients_of_a_cube_map_that_are_no_numbers
gradients_of_a_cube_map_that_leave_a_face""".split()
# The emulator blends f32 within one unit of the last place (differences.txt).
UNDECIDED = {"colours_of_the_border": 2, "zeros_and_texels_without_a_weight": 1}


def launches(rubia, program, sequence, folder):
    """How many there are, how many are equal, and what is said."""
    capsule = pathlib.Path(folder) / "a.capsule"
    environment = dict(os.environ, RUBIA_DEVICE="emulator")
    subprocess.run([rubia, "capture", "-q", "-o", capsule, "--", program, "libcuda.so.1", sequence], check=True,
                   stdout=subprocess.DEVNULL, env=environment)
    said = subprocess.run([rubia, "diff", capsule, "--arch", "reference"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=environment).stdout
    capsule.unlink()
    found = re.search(r"^reference: (\d+) launches, (\d+) equal", said, re.MULTILINE)
    return (int(found[1]), int(found[2]), said) if found else (0, 0, said)


def main():
    rubia, program, *wanted = sys.argv[1:]
    failures = 0
    for sequence in wanted or SEQUENCES:
        with tempfile.TemporaryDirectory() as folder:
            count, equal, said = launches(rubia, program, sequence, folder)
        if count < 10 or count - equal != UNDECIDED.get(sequence, 0):
            failures += 1
            print(f"{sequence}: {equal} of {count} launches equal\n{said}")
    sys.exit(failures != 0)


main()
