#!/usr/bin/env python3
"""docs/environment.md and the sources name the same environment variables.

Usage: environment.py SOURCE_ROOT
"""
import pathlib
import re
import sys

root = pathlib.Path(sys.argv[1])
folders = ("fatbin", "ptx-frontend", "lowering", "codegen", "emulator", "runtime", "diff", "tools")
read = {}
for folder in folders:
    for file in (root / folder).rglob("*"):
        if file.suffix in (".cpp", ".h", ".def"):
            for name in re.findall(r'"((?:RUBIA|CUDA)_[A-Z_]+)"', file.read_text()):
                read.setdefault(name, file.relative_to(root))
table = [line for line in (root / "docs/environment.md").read_text().splitlines() if line.startswith("| `")]
written = {name for line in table for name in re.findall(r"`((?:RUBIA|CUDA)_[A-Z_]+)`", line.split("|")[1])}
problems = [f"{read[name]} reads {name}, which docs/environment.md lacks" for name in sorted(read.keys() - written)]
problems += [f"docs/environment.md has {name}, which nothing reads" for name in sorted(written - read.keys())]
print("\n".join(problems) or f"{len(written)} variables")
sys.exit(bool(problems))
