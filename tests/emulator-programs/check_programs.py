#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiles random programs with clang for AMDGPU targets and for the host, and compares what they compute on the emulator and on the host.

Usage: check_programs.py --clang CLANG --runner RUN_PROGRAMS [options]
Without --programs a fixed sample runs: every target and every setting, one program of each family.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from programs import FAMILIES, Program, translationUnit

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "targets"))
from targets import BY_NAME, SAMPLED, WHOLE, wave_sizes

COMMON = ["-std=c23", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing", "-w", f"-I{HERE}"]
HOST = ["-O0", "-fno-math-errno", "-Xclang", "-ffloat16-excess-precision=none", "-shared", "-fPIC"]
DEVICE = ["-target", "amdgcn-amd-amdhsa", "-nogpulib", "-ffreestanding", "-fno-crash-diagnostics"]


def inWaveSizes(names):
    """"gfx1030", "gfx1030/64", ..."""
    return [name + ("/64" if lanes == 64 and len(wave_sizes(name)) == 2 else "") for name in names for lanes in wave_sizes(name)]


TARGETS = inWaveSizes(WHOLE)
SETTINGS = {"O0": ["-O0"], "O2": ["-O2"], "gisel": ["-O2", "-mllvm", "-global-isel", "-mllvm", "-global-isel-abort=2"]}

# What clang 22.1 gets wrong in programs of seed 1: how (wrong words, or the pass that crashes), with which setting, for which targets (major versions of
# their instruction sets), and which programs. Each is analysed in docs/errata.md; what is not listed here counts as a fault of the emulator. check_excuses.py shows of all of them
# that nothing but the erratum is wrong.
Fault = collections.namedtuple("Fault", "erratum kind setting versions programs")
ALL_VERSIONS = {9, 10, 11, 12}
COMPILER_AT_FAULT = [
    Fault("E7", "wrong", "O2", {11}, {99, 263}),
    Fault("E7", "wrong", "gisel", {11}, {99, 263}), # falls back to SelectionDAG
    Fault("E8", "RegBankSelect", "gisel", {9},
          {35, 38, 51, 60, 61, 70, 73, 76, 78, 122, 126, 129, 154, 156, 164, 177, 190, 203, 216, 232, 252, 256, 286, 294, 297}),
    Fault("E8", "AMDGPURegBankCombiner", "gisel", ALL_VERSIONS, {51, 73, 96, 99, 158, 172, 197, 200, 220, 224, 226, 237, 257, 263, 281, 310}),
    Fault("E8", "AMDGPURegBankCombiner", "gisel", {9}, {272}),
    Fault("E8", "AMDGPURegBankCombiner", "gisel", {12}, {60, 265}),
    Fault("E9", "wrong", "gisel", ALL_VERSIONS, {32, 58, 149, 162, 175, 240, 279}),
    Fault("E10", "wrong", "gisel", ALL_VERSIONS, {119, 125, 210, 223, 244}),
    Fault("E10", "wrong", "gisel", {12}, {96, 133, 143, 146, 173, 185, 288}),
    Fault("E10", "wrong", "gisel", {10, 12}, {70}),
    Fault("E11", "wrong", "gisel", {10, 12}, {177}),
    Fault("E12", "wrong", "gisel", ALL_VERSIONS, {142, 285}),
    Fault("E14", "wrong", "gisel", {10, 11, 12}, {206}),
    Fault("E14", "wrong", "O2", {10, 11, 12}, {206}),
]
# What makes a program compile that crashes a pass: the rule that crashes it is left out (E8).
WITHOUT_CRASH = {"AMDGPURegBankCombiner": ["-mllvm", "-amdgpuregbankcombiner-disable-rule=7"]}


def concerns(fault, target):
    return BY_NAME[target.partition("/")[0]].version[0] in fault.versions


def compilerIsAtFault(seed, program, target, setting, kind):
    """Only what somebody has looked into: equal wrong words on several targets may be a mistake that the emulator makes on all of them."""
    return seed == 1 and any(program in f.programs and concerns(f, target) and (setting, kind) == (f.setting, f.kind) for f in COMPILER_AT_FAULT)


class Session:
    def __init__(self, options, folder):
        self.options, self.folder = options, pathlib.Path(folder)
        self.skip = frozenset(int(n) for n in options.skip.split(",") if n)
        self.failures = []   # what the emulator or the generator is to blame for
        self.miscompiled = [] # what the compiler is

    def run(self, command, **more):
        return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)

    def write(self, name, programs):
        path = self.folder / f"{name}.c"
        path.write_text(translationUnit([Program(self.options.seed, i) for i in programs], self.skip))
        return path

    def host(self, name, programs):
        source = self.write(name, programs)
        library = source.with_suffix(".so")
        result = self.run([self.options.clang, *HOST, *COMMON, str(source), "-o", str(library), "-lm"])
        if result.returncode:
            self.failures.append(f"host: {result.stdout}")
            return None
        return library

    def device(self, name, programs, target, setting, more=()):
        """Code objects of the programs: one, or where the compiler fails one for each that compiles."""
        cpu, _, wave = target.partition("/")
        source = self.write(f"{name}-{target.replace('/', 'w')}-{setting}", programs)
        flags = DEVICE + [f"-mcpu={cpu}"] + (["-mwavefrontsize64"] if wave else []) + SETTINGS[setting] + COMMON + list(more)
        output = source.with_suffix(".co")
        result = self.run([self.options.clang, *flags, str(source), "-o", str(output)])
        if result.returncode == 0:
            return [output]
        if len(programs) > 1:
            return [o for i in programs for o in self.device(f"{name}-{i}", [i], target, setting)]
        crash = re.search(r"Running pass '(\w+)' on function", result.stdout) if "error in backend" not in result.stdout else None
        kind = crash[1] if crash else "error"
        self.blame(programs[0], target, setting, kind,
                   f"{output}: {Program(self.options.seed, programs[0]).name}: clang failed: {'crash in ' + kind if crash else result.stdout[:300]}")
        return self.device(name, programs, target, setting, WITHOUT_CRASH[kind]) if kind in WITHOUT_CRASH and not more else []

    def blame(self, program, target, setting, kind, line):
        (self.miscompiled if compilerIsAtFault(self.options.seed, program, target, setting, kind) else self.failures).append(line)

    def compare(self, library, objects):
        if not library or not objects:
            return None
        result = self.run([self.options.runner, str(library), *map(str, objects)], timeout=1200)
        lines = result.stdout.splitlines()
        if result.returncode not in (0, 1):
            self.failures.append(f"{library}: the runner ended with {result.returncode}: {result.stdout[-300:]}")
        for line in lines[:-1]:
            if found := re.search(r"-(gfx[^/]*)-(\w+)\.co: p(\d+)_\w+: .* words differ", line):
                self.blame(int(found[3]), found[1].replace("w", "/"), found[2], "wrong", line)
            else:
                self.failures.append(line)
        return lines[-1] if lines else ""


def counts(line):
    """The numbers of the runner's last line."""
    found = [int(w) for w in line.replace(",", "").split() if w.isdigit()] if line else []
    return found if len(found) == 3 else [0, 0, 0]


def sample(session, pool):
    """Every second configuration gets one program of its own: every family, every target and every setting."""
    chosen = {(t, s): n for n, (t, s) in enumerate((t, s) for s in SETTINGS for t in TARGETS) if n % 2 == 0}
    library = pool.submit(session.host, "sample", list(chosen.values()))
    jobs = [pool.submit(session.device, "s", [n], *c) for c, n in chosen.items()]
    return [session.compare(library.result(), [o for j in jobs for o in j.result()])]


def matrix(session, pool, programs, targets, settings, batch):
    def configurations(number):
        """All of them, or with --rotate one setting for each target, another one in the next batch and series."""
        return [(t, s) for i, t in enumerate(targets) for k, s in enumerate(settings)
                if session.options.rotate is None or (i + number + session.options.rotate) % len(settings) == k]

    def work(part):
        name = f"b{part[0]}"
        library = session.host(name, part)
        objects = [o for t, s in configurations(part[0] // batch) for o in session.device(name, part, t, s)]
        line = session.compare(library, objects)
        if not session.options.keep:
            for o in objects:
                o.unlink()
        print(f"{time.strftime('%H:%M:%S')} {part[0]}-{part[-1]}: {line}", file=sys.stderr, flush=True)
        return line
    parts = [programs[i:i + batch] for i in range(0, len(programs), batch)]
    return list(pool.map(work, parts))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clang", required=True)
    parser.add_argument("--runner", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--programs", help="FIRST-LAST,...: the full matrix of these")
    parser.add_argument("--skip", default="", help="statements to leave out, as reduce.py prints them")
    parser.add_argument("--targets", default=",".join(TARGETS), help="'sampled': those that are not in the sample")
    parser.add_argument("--settings", default=",".join(SETTINGS))
    parser.add_argument("--rotate", type=int, help="of the settings only one for each target and batch: 0 for the first series, 1 for the next")
    parser.add_argument("--batch", type=int, default=13, help="programs in a translation unit")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", help="folder for what is generated; otherwise it is deleted")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        if options.keep:
            os.makedirs(options.keep, exist_ok=True)
        session = Session(options, options.keep or temporary)
        if options.programs:
            programs = [n for part in options.programs.split(",") for first, _, last in [part.partition("-")]
                        for n in range(int(first), int(last or first) + 1)]
            chosen = inWaveSizes(SAMPLED) if options.targets == "sampled" else options.targets.split(",")
            lines = matrix(session, pool, programs, chosen, options.settings.split(","), options.batch)
        else:
            lines = sample(session, pool)
    for failure in session.failures:
        print(failure)
    for failure in session.miscompiled:
        print(f"compiler: {failure}")
    runs, different, skipped = (sum(c) for c in zip(*map(counts, lines)))
    print(f"{runs} runs compared, {different} differ, {skipped} not for the target, {len(session.failures)} failures; families: {len(FAMILIES)}; "
          f"the compiler's own: {len(session.miscompiled)}")
    return 1 if session.failures or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
