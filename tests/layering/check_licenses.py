#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source file names its license within its first three lines.

Usage: check_licenses.py SOURCE_ROOT
"""
import pathlib
import sys

FOLDERS = ["targets", "input", "settings", "fatbin", "ptx-frontend", "lowering", "codegen", "emulator", "reference", "runtime", "standins", "diff",
           "tools", "tests", "benchmarks", "examples", "packaging"]
SUFFIXES = {".cpp", ".h", ".def", ".c", ".cl", ".cu", ".py", ".cmake"}
LICENSE = "SPDX-License-Identifier: Apache-2.0"


def is_source(path):
    if path.suffix in SUFFIXES or path.name == "CMakeLists.txt":
        return True
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def main():
    root = pathlib.Path(sys.argv[1])
    files = [path for folder in FOLDERS for path in (root / folder).rglob("*") if path.is_file() and is_source(path)]
    without = []
    for path in files:
        with path.open("rb") as file:
            if not any(LICENSE.encode() in file.readline() for _ in range(3)):
                without.append(str(path.relative_to(root)))
    print("\n".join(f"{name}: no line with {LICENSE}" for name in sorted(without)))
    if not files:
        sys.exit("no source files found")
    print(f"{len(files)} files, {len(without)} without")
    sys.exit(1 if without else 0)


if __name__ == "__main__":
    main()
