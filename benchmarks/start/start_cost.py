#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `rubia run` adds to the start of a program: wall and processor time with it, and with LD_LIBRARY_PATH alone, by turns.

The program loads and launches one kernel, which is in the cache after the first turn. That turn does not count.

Usage: start_cost.py BUILD PROGRAM [ROUNDS]
"""
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time


def processor_time():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(command, environment):
    """Milliseconds: wall time and the processor time of all processes."""
    processor, wall = processor_time(), time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    wall, processor = time.perf_counter() - wall, processor_time() - processor
    if done.returncode:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return 1e3 * wall, 1e3 * processor


def main():
    build, program = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 50
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "RUBIA_CACHE_DIR": cache}
        ways = {
            "LD_LIBRARY_PATH": ([program], {**environment, "LD_LIBRARY_PATH": str(build / "lib/rubia")}),
            "rubia run": ([build / "bin/rubia", "run", "--", program], environment),
        }
        times = {name: [] for name in ways}
        for turn in range(rounds + 1):
            for name, (command, variables) in ways.items():
                taken = measure(command, variables)
                if turn:
                    times[name].append(taken)
    medians = {}
    for name, taken in times.items():
        medians[name] = [statistics.median(column) for column in zip(*taken)]
        print(f"{name:16} {medians[name][0]:6.2f} ms wall {medians[name][1]:6.2f} ms of processors, medians of {rounds}")
    wall, processor = (run - alone for run, alone in zip(medians["rubia run"], medians["LD_LIBRARY_PATH"]))
    print(f"{'difference':16} {wall:6.2f} ms wall {processor:6.2f} ms of processors")


if __name__ == "__main__":
    main()
