#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the speed of two builds on a machine that others use too: emulator_benchmark with one thread, and bench_compile, of
both builds by turns. What counts is the least processor time of all runs. The first build runs twice in each turn: how much its
two columns differ is what the machine does alone.

Usage: by_turns.py [--runs N] [--ptx FILE ...] BUILD_FOLDER OTHER_BUILD_FOLDER

The PTX files are compiled besides the committed sample.
"""
import argparse
import json
import os
import pathlib
import subprocess

PROGRAMS = {
    "emulator_benchmark": "/gfx[0-9a-f]+/1/|loadObject",
    "bench_compile": "^(parse|compile)/",
}
MILLISECONDS = {"ns": 1e-6, "us": 1e-3, "ms": 1}


def measure(build, ptx):
    """The processor time of each benchmark of a build, in milliseconds."""
    times = {}
    for program, names in PROGRAMS.items():
        command = [build / "benchmarks" / program, f"--benchmark_filter={names}", "--benchmark_min_time=0.03", "--benchmark_format=json"]
        environment = {**os.environ, "RUBIA_PTX_FILES": ":".join(ptx)}
        done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=True)
        for one in json.loads(done.stdout)["benchmarks"]:
            if one.get("error_occurred"):
                raise SystemExit(f"{build}: {one['name']}: {one['error_message']}")
            times[one["name"].removesuffix("/real_time")] = one["cpu_time"] * MILLISECONDS[one["time_unit"]]
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--ptx", nargs="*", default=[])
    parser.add_argument("builds", nargs=2, type=pathlib.Path)
    options = parser.parse_args()
    first, second = options.builds
    turn = [("first", first), ("second", second), ("first again", first)]
    least = {column: {} for column, _ in turn}
    for run in range(options.runs):
        for column, build in turn if run % 2 == 0 else turn[::-1]:
            for name, time in measure(build, options.ptx).items():
                least[column][name] = min(time, least[column].get(name, time))
    print(f"{'':40} {'first':>10} {'second':>8} {'first again':>12}")
    for name, time in least["first"].items():
        change = [f"{100 * (least[column][name] / time - 1):+.1f} %" for column in ("second", "first again")]
        print(f"{name:40} {time:7.3f} ms {change[0]:>8} {change[1]:>12}")


if __name__ == "__main__":
    main()
