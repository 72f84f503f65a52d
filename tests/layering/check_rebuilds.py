#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the source files that are compiled again after a change to a file of rows, through all headers.

Usage: check_rebuilds.py SOURCE_ROOT

CONTRIBUTING.md has the processor time that this takes. A header that many files include and that starts to include such a file
would multiply it, and nobody would notice.
"""
import pathlib
import re
import sys

# The most source files that may depend on a file of rows, and on these.
ROWS = 24
LIMITS = {
    "ptx-frontend/Operations.def": 3,
    "ptx-frontend/Instructions.def": 1,
    "ptx-frontend/Modifiers.def": 3,
    "ptx-frontend/ModifierClasses.def": 2,
    "ptx-frontend/SpecialRegisters.def": 16,
    "runtime/cuda/Errors.def": 1,
    "runtime/device/HipFunctions.def": 1,
    "settings/Code.def": 1,
    "settings/Settings.def": 1,
    "targets/Facts.def": 1,
    "targets/Generations.def": 7,
    "targets/Targets.def": 1,
    "emulator/lib/machine/Semantics.h": 24,
}

FOLDERS = ["targets", "input", "settings", "fatbin", "ptx-frontend", "lowering", "codegen", "emulator", "reference", "runtime",
           "standins", "diff", "tools", "tests", "benchmarks"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def dependents(root):
    """For each file, the source files that include it, directly or through others."""
    includes = {}
    for folder in FOLDERS:
        for file in (root / folder).rglob("*"):
            if file.suffix in (".h", ".cpp", ".def", ".inc") and file.is_file():
                includes[file.relative_to(root).as_posix()] = INCLUDE.findall(file.read_text())
    found = {}

    def visit(source, name, seen):
        for other in includes.get(name, []):
            beside = (pathlib.PurePosixPath(name).parent / other).as_posix()
            target = other if other in includes else beside
            if target in includes and target not in seen:
                seen.add(target)
                found.setdefault(target, set()).add(source)
                visit(source, target, seen)

    for name in includes:
        if name.endswith(".cpp"):
            visit(name, name, set())
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    found = dependents(root)
    failed = False
    for name, limit in ({name: ROWS for name in sorted(found) if name.endswith(".def")} | LIMITS).items():
        sources = sorted(found.get(name, ()))
        print(f"{name}: {len(sources)} source files, at most {limit}")
        if not sources or len(sources) > limit:
            failed = True
            print("\n".join(f"  {source}" for source in sources))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
