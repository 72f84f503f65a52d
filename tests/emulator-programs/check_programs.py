#!/usr/bin/env python3
"""Compiles random programs with clang for AMDGPU targets and for the host, and compares what they compute on the emulator and on the host.

Usage: check_programs.py --clang CLANG --runner RUN_PROGRAMS [options]
Without --programs a fixed sample runs: every target with every setting, a few programs each.
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import time

from programs import FAMILIES, Program, translationUnit

HERE = pathlib.Path(__file__).resolve().parent
COMMON = ["-std=c23", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing", "-w", f"-I{HERE}"]
HOST = ["-O0", "-fno-math-errno", "-Xclang", "-ffloat16-excess-precision=none", "-shared", "-fPIC"]
DEVICE = ["-target", "amdgcn-amd-amdhsa", "-nogpulib", "-ffreestanding"]
TARGETS = ["gfx1030", "gfx1030/64", "gfx1100", "gfx1100/64", "gfx1201", "gfx1201/64", "gfx90a", "gfx942", "gfx950"]
SETTINGS = {"O0": ["-O0"], "O2": ["-O2"], "gisel": ["-O2", "-mllvm", "-global-isel", "-mllvm", "-global-isel-abort=2"]}
# Programs of seed 1 that clang 22.1 is known to get wrong: (program, target prefix, setting). See compilerIsAtFault and docs/errata.md E7.
COMPILER_AT_FAULT = {(58, "", "gisel"), (70, "", "gisel"), (99, "gfx1100", "O2")}


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

    def device(self, name, programs, target, setting):
        """Code objects of the programs: one, or where the compiler fails one for each that compiles."""
        cpu, _, wave = target.partition("/")
        programs = [i for i in programs if not atFault(self.options.seed, i, target, setting)]
        if not programs:
            return []
        source = self.write(f"{name}-{target.replace('/', 'w')}-{setting}", programs)
        flags = DEVICE + [f"-mcpu={cpu}"] + (["-mwavefrontsize64"] if wave else []) + SETTINGS[setting] + COMMON
        output = source.with_suffix(".co")
        result = self.run([self.options.clang, *flags, str(source), "-o", str(output)])
        if result.returncode == 0:
            return [output]
        if len(programs) > 1:
            return [o for i in programs for o in self.device(f"{name}-{i}", [i], target, setting)]
        lines = [l for l in result.stdout.splitlines() if "error:" in l or "Running pass" in l]
        blame = self.miscompiled if setting == "gisel" and "due to signal" in result.stdout else self.failures
        blame.append(f"{output}: {Program(self.options.seed, programs[0]).name}: clang failed: {lines[-1] if lines else result.stdout[:300]}")
        return []

    def compare(self, library, objects):
        if not library or not objects:
            return None
        result = self.run([self.options.runner, str(library), *map(str, objects)], timeout=1200)
        lines = result.stdout.splitlines()
        if result.returncode not in (0, 1):
            self.failures.append(f"{library}: the runner ended with {result.returncode}: {result.stdout[-300:]}")
        for line in lines[:-1]:
            (self.miscompiled if compilerIsAtFault(line, lines) else self.failures).append(line)
        return lines[-1] if lines else ""


def atFault(seed, program, target, setting):
    return seed == 1 and any(p == program and target.startswith(t) and s == setting for p, t, s in COMPILER_AT_FAULT)


def compilerIsAtFault(line, lines):
    """GlobalISel's code is wrong, not its execution, if several processors give the same wrong words: they share its combiners,
    not their instructions."""
    same = {l.split(": ")[0] for l in lines if l.split(": ", 1)[-1] == line.split(": ", 1)[-1]}
    return "-gisel.co" in line and len(same) > 1 and all("-gisel.co" in s for s in same)


def counts(line):
    """The numbers of the runner's last line."""
    found = [int(w) for w in line.replace(",", "").split() if w.isdigit()] if line else []
    return found if len(found) == 3 else [0, 0, 0]


def sample(session, pool):
    """Every configuration gets one program of its own: every family twice, in different settings."""
    chosen = {(t, s): n for n, (t, s) in enumerate((t, s) for s in SETTINGS for t in TARGETS)}
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
    parser.add_argument("--programs", help="FIRST-LAST: the full matrix of these")
    parser.add_argument("--skip", default="", help="statements to leave out, as reduce.py prints them")
    parser.add_argument("--targets", default=",".join(TARGETS))
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
            first, _, last = options.programs.partition("-")
            programs = list(range(int(first), int(last or first) + 1))
            lines = matrix(session, pool, programs, options.targets.split(","), options.settings.split(","), options.batch)
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
