# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzzers for as long as one likes, and keeps book of what they have tried (book.tsv).

  campaign.py BUILD-FOLDER [--families streams,ptx] [--minutes N] [--slice SECONDS] [--book FILE]
  campaign.py --sum [--book FILE]

Families take turns of a slice each; one that is named twice has two turns, and one that has come to its goal has none. After a slice its counts are added to the book: a row for each day, commit and family. Who starts the
command again goes on behind the last seed and with the corpora of the build folder; what ends in the middle of a slice is not counted.
Exits with 1 if anything failed; what did lies in BUILD-FOLDER/fuzz-failures."""
import argparse
import ctypes
import datetime
import os
import re
import resource
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
COLUMNS = ["date", "commit", "family", "seeds", "inputs", "seconds", "failures"]
# How much of each family there is to be, in all.
GOALS = {"streams": 10**8, "ptx": 10**6, "compile": 10**6, "fatbins": 10**6, "cache": 10**6, "records": 10**6, "signatures": 10**6,
         "capsules": 10**6, "debugger": 10**6, "calls": 10**7, "kernels": 10**6}
GRACE = 300  # seconds for which a fuzzer may go on behind its slice: to start, to end its last input
ORPHANS = 10  # seconds for which compile processes may outlive their fuzzer
# Short traces of allocations and a small quarantine: an input takes four fifths of the time. To see more of a failure, start its
# fuzzer without.
SANITIZER = "malloc_context_size=1:quarantine_size_mb=16:max_redzone=64"


@dataclass
class Row:
    date: str
    commit: str
    family: str
    first: int
    last: int
    inputs: int
    seconds: int
    failures: int

    def line(self):
        return "\t".join(map(str, [self.date, self.commit, self.family, f"{self.first}-{self.last}", self.inputs, self.seconds, self.failures]))


def read_book(path):
    if not path.exists():
        return []
    lines = path.read_text().splitlines()
    if lines[:1] != ["\t".join(COLUMNS)]:
        raise ValueError(f"{path}:1: other columns than {COLUMNS}")
    rows = []
    for number, line in enumerate(lines[1:], 2):
        match = re.fullmatch(r"(\d{4}-\d\d-\d\d)\t(\S+)\t(\w+)\t(\d+)-(\d+)\t(\d+)\t(\d+)\t(\d+)", line)
        if not match or match[3] not in GOALS or int(match[4]) > int(match[5]):
            raise ValueError(f"{path}:{number}: not a row of the book")
        rows.append(Row(*match.groups()[:3], *map(int, match.groups()[3:])))
    return rows


def write_book(path, rows):
    temporary = path.with_name(path.name + ".new")
    temporary.write_text("\n".join(["\t".join(COLUMNS), *(row.line() for row in rows)]) + "\n")
    os.replace(temporary, path)


def add(rows, new):
    """A slice joins the row of its day, commit and family."""
    for row in rows:
        if (row.date, row.commit, row.family) == (new.date, new.commit, new.family):
            row.first, row.last = min(row.first, new.first), max(row.last, new.last)
            row.inputs += new.inputs
            row.seconds += new.seconds
            row.failures += new.failures
            return
    rows.append(new)


def next_seed(rows, family):
    return 1 + max((row.last for row in rows if row.family == family), default=0)


def inputs_in(rows, family):
    return sum(row.inputs for row in rows if row.family == family)


def summary(rows):
    lines = [f"{'family':<12}{'inputs':>14}{'goal':>14}{'hours':>8}{'failures':>10}"]
    for family, goal in GOALS.items():
        mine = [row for row in rows if row.family == family]
        hours = sum(row.seconds for row in mine) / 3600
        lines.append(f"{family:<12}{inputs_in(rows, family):>14,}{goal:>14,}{hours:>8.1f}{sum(row.failures for row in mine):>10}")
    return "\n".join(lines)


def commit():
    """What is checked out, with a + if something is changed."""
    def git(*words):
        return subprocess.run(["git", "-C", str(SOURCE), *words], capture_output=True, text=True).stdout.strip()
    return (git("rev-parse", "--short=9", "HEAD") or "unknown") + ("+" if git("status", "--porcelain", "-uno", "--", ".", ":!tests/fuzz/book.tsv") else "")


class Fuzzers:
    """The commands of a family for one slice. Each gets a part of its seconds."""

    def __init__(self, build):
        self.build, self.tests = build, build / "tests"

    def library(self, program, corpus, options, seeds=()):
        """One of libFuzzer."""
        folder = self.build / "fuzz-corpora" / corpus
        folder.mkdir(parents=True, exist_ok=True)
        found = self.build / "fuzz-failures"
        return lambda seed, seconds: [self.tests / program, f"-seed={seed}", f"-max_total_time={seconds}", "-print_final_stats=1", "-timeout=20",
                                      "-rss_limit_mb=2048", f"-artifact_prefix={found}/{corpus}-", *options, folder, *seeds]

    def commands(self, family):
        if family == "streams":
            return [lambda seed, seconds: [self.tests / "instruction-fuzzer", "--seconds", str(seconds), "--seed", str(seed)]]
        if family == "ptx":
            front = SOURCE / "tests/ptx-frontend"
            options = ["-max_len=8192", f"-dict={front}/ptx.dict"]
            return [self.library(f"fuzz_ptx_{kind}", f"ptx_{kind}", options, [front / "seeds"]) for kind in ("linker", "roundtrip", "verifier")]
        if family == "compile":
            return [lambda seed, seconds: [sys.executable, "-B", HERE / "mutants.py", self.build / "bin/rubia", str(seed), str(seconds),
                                           self.build / "fuzz-failures"]]
        if family == "fatbins":
            return [self.library("rubia_fatbin_fuzzer", "fatbins", ["-max_len=20000"], [SOURCE / "examples/prebuilt"]),
                    self.library("rubia_fatbin_fuzzer", "windows", ["-max_len=4096"], [SOURCE / "tests/fatbin/seeds"])]
        if family == "cache":
            return [self.library("fuzz_cachepack", "cachepack", ["-max_len=4096"])]
        if family == "records":
            return [self.library("fuzz_records", "records", ["-max_len=4096", f"-dict={HERE}/json.dict"], [HERE / "seeds/records"])]
        if family == "signatures":  # as of the debugger: what is logged is for nobody
            return [self.library("fuzz_signatures", "signatures", ["-max_len=512", "-close_fd_mask=3"])]
        if family == "capsules":
            return [self.library("fuzz_capsule", "capsules", ["-max_len=4096"])]
        if family == "debugger":  # what it prints is for nobody
            return [self.library("fuzz_debugger", "debugger", ["-max_len=4096", f"-dict={HERE}/json.dict", "-close_fd_mask=3"], [HERE / "seeds/debugger"])]
        if family == "calls":
            return [lambda seed, seconds: [self.tests / "random_calls", self.build / "lib/rubia/libcuda.so.1", "--seed", str(seed), "--threads", "8",
                                           "--seconds", str(seconds)]]
        if family == "kernels":
            return [lambda seed, seconds: [sys.executable, "-B", HERE / "kernels.py", self.build / "bin/rubia-random", str(seed), str(seconds)]]
        raise ValueError(family)


def inputs_of(output):
    """How many inputs a fuzzer says that it has tried; None if it does not say."""
    exact = re.findall(r"^\S+: (\d+) (?:streams|mutants|walks|kernels),", output, re.MULTILINE)
    if exact:
        return sum(map(int, exact))
    exact = re.findall(r"^stat::number_of_executed_units: (\d+)$", output, re.MULTILINE)
    if not exact:  # libFuzzer has died: the last that it told of its progress
        exact = re.findall(r"^#(\d+)\t", output, re.MULTILINE)[-1:]
    # It has first tried what it kept of earlier runs, which is counted there.
    kept = re.findall(r"^#(\d+)\tINITED", output, re.MULTILINE)
    return max(0, int(exact[0]) - int(kept[0] if kept else 0)) if exact else None


def run(command, seconds, log):
    """Inputs and failures. Its children die with it."""
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                               process_group=0, env={**os.environ, "ASAN_OPTIONS": SANITIZER, "RUBIA_DEVICE": "emulator"})
    try:
        output, _ = process.communicate(timeout=seconds + GRACE)
    except BaseException as problem:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        if not isinstance(problem, subprocess.TimeoutExpired):
            raise
    count = inputs_of(output)
    failures = re.findall(r"^(\d+) failures", output, re.MULTILINE)
    failed = int(failures[0]) if failures else int(process.returncode != 0)
    if process.returncode != 0 or count is None:
        failed = max(failed, 1)
        log.write(f"== {' '.join(map(str, command))}\nexit status {process.returncode}\n{output}\n")
        log.flush()
    return count or 0, failed


def adopt_orphans():
    """Compile processes are no children of the program that asks for them, and outlive it. From now on they become ours, and are counted."""
    set_child_subreaper = 36
    if ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, 1, 0, 0, 0):
        raise OSError(ctypes.get_errno(), "cannot become the parent of compile processes")


def reap_orphans():
    """Waits for those that end now that nobody asks them for anything."""
    end = time.monotonic() + ORPHANS
    while time.monotonic() < end:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.05)
        except ChildProcessError:
            return


def processor_time():
    """Seconds that children have had, and theirs. On a busy machine a slice has little."""
    reap_orphans()
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def slice_of(fuzzers, family, seed, seconds, log):
    commands = fuzzers.commands(family)
    begin, inputs, failures = processor_time(), 0, 0
    for make in commands:
        part = max(1, seconds // len(commands))
        count, failed = run(make(seed, part), part, log)
        inputs += count
        failures += failed
    return Row(datetime.date.today().isoformat(), commit(), family, seed, seed, inputs, round(processor_time() - begin), failures)


def campaign(options):
    (options.build / "fuzz-failures").mkdir(parents=True, exist_ok=True)
    adopt_orphans()
    fuzzers = Fuzzers(options.build)
    end = time.monotonic() + 60 * options.minutes
    failures, turn = 0, 0
    with open(options.build / "fuzz-failures/log", "a") as log:
        while time.monotonic() < end:
            rows = read_book(options.book)
            open_ones = [family for family in options.families if inputs_in(rows, family) < GOALS[family]]
            if not open_ones:
                break
            family = open_ones[turn % len(open_ones)]
            turn += 1
            left = max(1, int(end - time.monotonic()))
            row = slice_of(fuzzers, family, next_seed(rows, family), min(options.slice, left), log)
            print(row.line(), flush=True)
            failures += row.failures
            rows = read_book(options.book)
            add(rows, row)
            write_book(options.book, rows)
    print(summary(read_book(options.book)))
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=lambda text: Path(text).resolve(), nargs="?")
    parser.add_argument("--families", type=lambda text: text.split(","), default=list(GOALS))
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--slice", type=int, default=300)
    parser.add_argument("--book", type=Path, default=HERE / "book.tsv")
    parser.add_argument("--sum", action="store_true")
    options = parser.parse_args()
    for family in options.families:
        if family not in GOALS:
            parser.error(f"no family {family}: {', '.join(GOALS)}")
    if options.sum:
        print(summary(read_book(options.book)))
        return 0
    if not options.build:
        parser.error("which build folder?")
    return campaign(options)


if __name__ == "__main__":
    sys.exit(main())
