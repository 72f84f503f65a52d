# SPDX-License-Identifier: Apache-2.0
"""Planted bugs of programs under `rubia check` with all checks: each is to be reported in its thread and line, its corrected twin not at all.

  planted.py RUBIA CHECKED-PROGRAM NVCC ARCH[,ARCH...] [--show]

The kernels are those of the folder planted, which nvcc compiles. They say themselves what is to be reported (tests/emulator-checks/Case.h). Bugs that
are not found are printed. Those of LIMITS are known. Exit status 77 (skipped) without nvcc. With --show all reports are printed."""
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
KINDS = {"OutOfBounds": "out-of-bounds", "UseAfterFree": "use-after-free", "Misaligned": "misaligned", "LdsOutOfBounds": "shared-out-of-bounds",
         "ScratchOverflow": "stack-overflow", "DataRace": "data-race", "Uninitialised": "uninitialised", "BarrierDivergence": "divergent-barrier",
         "Deadlock": "no-progress", "WarpHazard": "warp-hazard", "InvalidMask": "invalid-mask"}
# What is not found as it is marked (docs/emulator-checks.md, the limits of each check).
LIMITS = {
    "ring_of_one_slot": "nvcc loads for all threads of the warp what one of them uses",
    "leader_overwrites": "the same",
}


@dataclass
class Case:
    kernel: str
    fault: str
    launch: dict
    marks: list = field(default_factory=list)  # line, and thread as [x, y, z] or None

    def words(self):
        launch = {"block": "32", "grid": "1", "words": "0", "shared": "0"} | self.launch
        return [self.kernel, f"{launch['block']}:{launch['shared']}", launch["grid"], launch["words"], launch.get("written", launch["words"])]


def cases_of(path):
    cases, launch, outside = [], None, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("// CASE "):
            launch = dict(word.split("=") for word in line.split()[2:])
        elif kernel := re.search(r"__global__ void (\w+)\(", line):
            cases.append(Case(kernel[1], launch.pop("fault"), launch, outside))
            launch, outside = None, []
        elif "// BUG " in line:
            words = line.split("// BUG ")[1].split()
            thread = re.search(r"thread=\((\d+),(\d+),(\d+)\)", line)
            marks = [(number, [int(part) for part in thread.groups()] if thread else None)] * (2 if "twice" in words else 1)
            # A function before its kernel has no case of its own.
            (outside if cases and cases[-1].marks and len(cases[-1].marks) >= places(cases[-1]) else cases[-1].marks).extend(marks)
    for case in cases:
        assert len(case.marks) == places(case), f"{path.name}: {case.kernel}: {case.marks}"
    return cases


def places(case):
    return 2 if case.fault in ("DataRace", "WarpHazard") else 1


def line_of(text):
    match = re.search(r"\w+\.cu:(\d+)", text)
    return int(match[1]) if match else None


def is_found(case, reports):
    def fits(mark, line, thread):
        return mark[0] == line and mark[1] in (None, thread)

    for report in reports:
        severity, kind = ("warning", None) if case.fault == "Warning" else ("error", KINDS[case.fault])
        if report["severity"] != severity or (kind and report["kind"] != kind) or report.get("kernel") != case.kernel:
            continue
        here = (line_of(report.get("source", "")), report.get("thread"))
        if places(case) == 1:
            if fits(case.marks[0], *here):
                return True
            continue
        other = re.search(r"(?:the other is|after) an? .*?thread \((\d+),(\d+),(\d+)\)(.*)", report["message"], re.DOTALL)
        there = (line_of(other[4]), [int(part) for part in other.groups()[:3]]) if other else (None, None)
        one, two = case.marks
        if (fits(one, *here) and fits(two, *there)) or (fits(two, *here) and fits(one, *there)):
            return True
    return False


def checked(rubia, program, arch, ptx, cases, folder):
    """What is reported while the program launches these kernels, and how it ends."""
    file = folder / "report.json"
    file.unlink(missing_ok=True)
    environment = dict(os.environ, RUBIA_ARCH=arch, RUBIA_EMULATOR_TIMEOUT="2", RUBIA_CACHE_DIR=str(folder / "cache"))
    words = [word for case in cases for word in case.words()]
    run = subprocess.run([rubia, "check", "--format", "json", "-o", file, "--", program, ptx, *words], env=environment, capture_output=True, text=True, timeout=600)
    if not file.exists():
        raise RuntimeError(f"{words}: {run.stdout}{run.stderr}")
    return json.loads(file.read_text()), run.stdout + run.stderr


def compiled(nvcc, source, ptx, options):
    subprocess.run([nvcc, "-ptx", "-arch=compute_80", "-lineinfo", "-std=c++17", "--disable-warnings", *options, source, "-o", ptx], check=True)
    return ptx


def main():
    rubia, program, nvcc, archs = sys.argv[1:5]
    shows = "--show" in sys.argv
    if not os.path.exists(nvcc):
        print("skipped: no nvcc")
        return 77
    good = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [(cases_of(source), compiled(nvcc, source, folder / f"{source.stem}.ptx", []),
                  compiled(nvcc, source, folder / f"{source.stem}.mended.ptx", ["-DMENDED"])) for source in sorted((HERE / "planted").glob("*.cu"))]
        for arch in archs.split(","):
            count = found = 0
            for cases, planted, mended in files:
                for case in cases:
                    result, text = checked(rubia, program, arch, planted, [case], folder)
                    right = is_found(case, result["reports"])
                    count, found = count + 1, found + right
                    good &= right or case.kernel in LIMITS
                    if shows or not right:
                        print(f"{arch}: {case.kernel}: {'found' if right else 'not found'}, marked {case.marks}:")
                        print("".join(f"    {report['severity']}: {report['message']}\n" for report in result["reports"]) or text, flush=True)
                result, text = checked(rubia, program, arch, mended, cases, folder)
                if result["reports"] or result["status"] != 0:
                    good = False
                    print(f"{arch}: {mended.name}:\n{text}", flush=True)
            print(f"{arch}: {found} of {count} bugs are reported in their thread and line", flush=True)
    return 0 if good else 1


sys.exit(main())
