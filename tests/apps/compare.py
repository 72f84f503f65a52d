#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A row of docs/nvidia-comparison.md: the results of a job on NVIDIA's GPU beside those of Rubia, element by element.

Usage: compare.py NAME NVIDIA.npz RUBIA.npz CPU.npz      files of `job.py run`; --arrays: a row for each array
"""
import sys

import numpy

from job import relative


def rows(nvidia, rubia, cpu):
    """Of each array: name, elements, those that are equal, the difference from Rubia, that from the CPU (None: it has no such array)."""
    assert nvidia.keys() == rubia.keys(), (sorted(nvidia), sorted(rubia))
    for name, there in nvidia.items():
        here = rubia[name]
        equal = int(((here == there) | ((here != here) & (there != there))).sum())
        yield name, there.size, equal, relative(there, here), relative(cpu[name], there) if name in cpu else None


def main(arguments):
    each = "--arrays" in arguments
    name, *paths = [word for word in arguments if word != "--arrays"]
    found = list(rows(*(dict(numpy.load(path)) for path in paths)))
    if each:
        for array, size, equal, difference, from_cpu in found:
            print(f"| `{array}` | {size:,} | {equal:,} | {difference:.1e} | {'' if from_cpu is None else f'{from_cpu:.1e}'} |")
        return
    worst = max(found, key=lambda row: row[3])
    cpu = max((row[4] for row in found if row[4] is not None), default=0)
    print(f"| {name} | {len(found)} | {sum(row[2] == row[1] for row in found)} | {sum(row[1] for row in found):,} | "
          f"{100 * sum(row[2] for row in found) / sum(row[1] for row in found):.1f} % | {worst[3]:.1e} (`{worst[0]}`) | {cpu:.1e} |")


if __name__ == "__main__":
    main(sys.argv[1:])
