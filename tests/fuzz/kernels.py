# SPDX-License-Identifier: Apache-2.0
"""Random kernels that nobody has seen, on each target in each form of its warps: what the emulator gives must be what the reference gives.

  kernels.py RUBIA-RANDOM SEED SECONDS

A line that names a kernel comes behind the command that makes it again. Those of a seed are always the same."""
import itertools
import re
import subprocess
import sys
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "targets"))
import targets  # noqa: E402

BATCH = 40       # kernels of one run
LIMIT = 60       # seconds for each of them
FIRST = 10**7    # smaller seeds are other tests'
# Numbers of few bits often come to where hardware does not flush as NVIDIA does (docs/numerics.md).
FLUSHED = ["--flush", "nvidia"]
KINDS = [[], ["--narrow", *FLUSHED], ["--narrow", "--repeat", *FLUSHED], ["--indirect"], ["--zeros"], ["--zeros", "--nan", "canonical"], *(["--family", family] for family in ("matrices", "barriers", "divided"))]
SUMMARY = re.compile(r"^(\d+) equal, (\d+) differ, (\d+) not run, (\d+) (?:skipped|not legal in this form)$", re.MULTILINE)


def ways():
    """Targets by turns, so that a short run has all of them."""
    for kind, form in itertools.product(KINDS, ("auto", "half-filled", "packed", "checked")):
        for target in targets.WHOLE:
            # Divided warps are for the form that lowering chooses.
            if form == "auto" or (32 not in targets.wave_sizes(target) and "divided" not in kind):
                yield ["check", "--arch", target, "--form", form, *kind]


def kernels_in(command, report):
    """What is said of each kernel, which may be several lines."""
    starts = [match.start() for match in re.finditer(r"^\d+ \w+: ", report, re.MULTILINE)]
    return [f"{' '.join(command)}: {report[start:end].rstrip()}" for start, end in zip(starts, [*starts[1:], len(report)])]


def batch(program, options, first):
    """How many kernels there were, and what was wrong."""
    command = [program, *options, "--first", str(first), "--count", str(BATCH)]
    try:
        result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=BATCH * LIMIT)
    except subprocess.TimeoutExpired:
        return 0, [f"{' '.join(command)}: a hang"]
    summary = SUMMARY.search(result.stdout)
    if not summary:
        return 0, [f"{' '.join(command)}: exit status {result.returncode}: {result.stderr[-2000:]}"]
    equal, differ, failed, skipped = map(int, summary.groups())
    # A batch of which none is legal is no failure.
    if differ or failed or (result.returncode and equal):
        return equal + differ + failed, kernels_in(command, result.stdout[:summary.start()]) or ["no reason"]
    return equal, []


def main():
    program, seed, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    all_ways = list(ways())
    end = time.monotonic() + seconds
    number, kernels, problems = 0, 0, []
    while number == 0 or time.monotonic() < end:
        count, found = batch(program, all_ways[(number + seed * 31) % len(all_ways)], FIRST + (seed * 1000 + number) * BATCH)
        for problem in found:
            print(problem, flush=True)
        kernels += count
        problems += found
        number += 1
    print(f"rubia-random: {kernels} kernels, seed {seed}")
    print(f"{len(problems)} failures")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
