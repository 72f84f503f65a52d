#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long Rubia takes to compile PTX, beside ptxas -O3 in the same run: processor time of all processes, by turns, the median of
the runs. `warm`: a worker that runs already (warm_worker). `command`: `rubia compile`, with its start. Without ptxas its column is left
out, and the ratios. Files that a side cannot compile are named and not counted.

Usage: compare.py BUILD_FOLDER [--arch ARCH ...] [--runs N] [--least BYTES] [--most BYTES] [--sample N] [--table] [FILE_OR_FOLDER ...]

corpus.py makes a folder of single kernels out of libraries.
Without files: the PTX of this repository, which are the samples here, the matrix products and, where nvcc is found, the examples.
"""
import argparse
import json
import math
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def ptx_files(places, options):
    found = []
    for place in map(pathlib.Path, places):
        found += sorted(place.rglob("*.ptx")) if place.is_dir() else [place]
    found = [file for file in found if options.least <= file.stat().st_size <= options.most]
    if options.sample and len(found) > options.sample:
        found = sorted(random.Random(1).sample(found, options.sample))
    return found


def own_files(folder):
    """The PTX of the repository; that of the examples is made by nvcc."""
    files = [HERE / "start.ptx", HERE.parent / "ptx-frontend" / "kernels.ptx"]
    for script in sorted((HERE.parent.parent / "examples" / "matrix").glob("*.py")):
        files.append(folder / (script.stem + ".ptx"))
        files[-1].write_bytes(subprocess.run([sys.executable, script], check=True, capture_output=True).stdout)
    nvcc = shutil.which("nvcc", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
    if not nvcc:
        print("no nvcc: without the examples", file=sys.stderr)
        return files
    for source in sorted((HERE.parent.parent / "examples").glob("*.cu")):
        for name, options in ((source.stem, []), (source.stem + "-fast", ["--use_fast_math"])):
            ptx = folder / (name + ".ptx")
            subprocess.run([nvcc, "-O2", "-std=c++17", "-arch=compute_80", "-ptx", *options, source, "-o", ptx], check=True)
            files.append(ptx)
    return files


def processor_ms(command):
    """The time of a program and of those that it has waited for; None if it fails."""
    with open(os.devnull, "wb") as nowhere:
        pid = os.posix_spawn(command[0], command, os.environ, file_actions=[
            (os.POSIX_SPAWN_DUP2, nowhere.fileno(), 1), (os.POSIX_SPAWN_DUP2, nowhere.fileno(), 2)])
    _, status, usage = os.wait4(pid, 0)
    return None if status else 1000 * (usage.ru_utime + usage.ru_stime)


class Warm:
    """A worker that runs already."""

    def __init__(self, build):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("RUBIA_")}
        environment["RUBIA_WORKER"] = str(build / "lib" / "rubia" / "rubia-worker")
        self.process = subprocess.Popen([build / "benchmarks" / "warm_worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)

    def __call__(self, arch, file):
        self.process.stdin.write(f"{arch} {file}\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            print(f"{file}: {arch}: {answer['error'][:200]}", file=sys.stderr)
        return answer.get("ms")

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def ptxas_time(ptxas, file):
    target = re.search(rb"^\s*\.target\s+(sm_\w+)", file.read_bytes(), re.M)
    return processor_ms([ptxas, "-O3", "-arch=" + target[1].decode(), "-o", "/dev/null", str(file)]) if target else None


def command_time(rubia, arch, file):
    with tempfile.TemporaryDirectory() as folder:
        return processor_ms([rubia, "compile", str(file), "--arch", arch, "-o", folder])


def measure(options, files, folder):
    """By file: {column: median ms}."""
    rubia = str(options.build / "bin" / "rubia")
    ptxas = shutil.which("ptxas", path=os.environ.get("PATH", "") + ":/usr/local/cuda/bin")
    if not ptxas:
        print("no ptxas: its times are left out", file=sys.stderr)
    warm = Warm(options.build)
    sides = {}
    for arch in options.arch:
        sides["warm", arch] = lambda file, arch=arch: warm(arch, file)
        sides["command", arch] = lambda file, arch=arch: command_time(rubia, arch, file)
        warm(arch, HERE / "start.ptx")  # what is done once in a process
    if ptxas:
        sides["ptxas", ""] = lambda file: ptxas_time(ptxas, file)
    results = {}
    for file in files:
        times = {side: [] for side in sides}
        for run in range(options.runs):
            for side in list(sides)[:: 1 if run % 2 == 0 else -1]:
                times[side].append(sides[side](file))
        if any(None in column for column in times.values()):
            print(f"{file}: not counted: " + ", ".join(" ".join(s) for s in sides if None in times[s]), file=sys.stderr)
            continue
        results[file] = {side: statistics.median(column) for side, column in times.items()}
    warm.end()
    return results


def mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


def report(options, results):
    if options.table:
        for file, row in results.items():
            print(f"{file.name:50}", *(f"{' '.join(side)} {ms:.1f}" for side, ms in row.items()), sep="  ")
    print(f"{len(results)} files, {options.runs} runs; ms: the sum of all files' medians")
    peers = {file: row.get(("ptxas", "")) for file, row in results.items()}
    print(f"{'':20} {'ms':>9} {'ratio to ptxas, geometric mean':>32} {'worst':>7}")
    for side in next(iter(results.values())):
        total = f"{sum(row[side] for row in results.values()):9.0f}"
        if side[0] == "ptxas" or None in peers.values():
            print(f"{' '.join(side):20} {total}")
            continue
        ratios = {file: row[side] / peers[file] for file, row in results.items()}
        worst = max(ratios, key=ratios.get)
        print(f"{' '.join(side):20} {total} {mean(ratios.values()):32.2f} {ratios[worst]:7.2f}  {worst.name}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("places", nargs="*")
    parser.add_argument("--arch", nargs="+", default=["gfx1100", "gfx942"])
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--least", type=int, default=0, help="leave out files of fewer bytes")
    parser.add_argument("--most", type=int, default=1 << 40)
    parser.add_argument("--sample", type=int, default=0, help="so many files at most, drawn at random but always the same")
    parser.add_argument("--table", action="store_true", help="a line for each file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        files = ptx_files(options.places, options) if options.places else own_files(pathlib.Path(folder))
        results = measure(options, files, folder)
    if not results:
        raise SystemExit("no file was compiled by all")
    report(options, results)


if __name__ == "__main__":
    main()
