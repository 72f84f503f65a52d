#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the sandbox of the compile worker costs a cold compile: `rubia launch` of an empty kernel without a cache, without and with
the sandbox by turns. Each start has a supervisor and one compile process, which makes the manifest and the code. Wall time, and the
processor time of all processes, which a busy machine changes less.

Usage: sandbox_cost.py RUBIA [TURNS]
"""
import ctypes
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

KERNEL = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k()\n{\nret;\n}\n"
PR_SET_CHILD_SUBREAPER = 36


def processor_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(rubia, ptx, mode):
    """Milliseconds of wall time and of processor time."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("RUBIA_", "CUDA_"))}
    environment |= {"RUBIA_CACHE_DISABLE": "1", "RUBIA_DEVICE": "emulator", "RUBIA_SANDBOX": mode}
    before, begin = processor_seconds(), time.monotonic()
    subprocess.run([rubia, "launch", ptx, "--grid", "1", "--block", "1"], env=environment, check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - begin
    try:
        while True:
            os.wait()  # the supervisor, which is ours once its parent has ended
    except ChildProcessError:
        return 1000 * wall, 1000 * (processor_seconds() - before)


def main():
    rubia, turns = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 100
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with tempfile.TemporaryDirectory() as folder:
        ptx = str(pathlib.Path(folder, "k.ptx"))
        pathlib.Path(ptx).write_text(KERNEL)
        pairs = [(measure(rubia, ptx, "off"), measure(rubia, ptx, "require")) for _ in range(turns)]
    for column, name in enumerate(("wall", "processor")):
        off, on = ([each[column] for each in side] for side in zip(*pairs))
        print(f"{name} time: median {statistics.median(off):.2f} ms without, {statistics.median(on):.2f} with; "
              f"least {min(off):.2f} and {min(on):.2f}; median of the differences {statistics.median(b - a for a, b in zip(off, on)):.2f}")
    print(f"{turns} turns, load {os.getloadavg()[0]:.1f}")


main()
