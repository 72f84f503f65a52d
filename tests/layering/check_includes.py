#!/usr/bin/env python3
"""Checks #include lines against the module table of docs/architecture.md, and that settings/ alone reads the environment.

Usage: check_includes.py SOURCE_ROOT
"""
import pathlib
import re
import sys

MODULES = ["targets", "input", "settings", "fatbin", "ptx-frontend", "lowering", "codegen", "emulator", "runtime", "reference", "tools"]

# What a folder may include of the other modules: whole modules, or single headers. The longest matching prefix counts.
ALLOWED = {
    "targets": set(),
    "input": set(),
    "settings": set(),
    "fatbin": {"input"},
    "ptx-frontend": set(),
    "lowering": {"targets", "ptx-frontend", "settings"},
    "codegen": {"targets"},
    "emulator": {"targets", "input", "settings"},
    "reference": set(),
    "runtime": {"targets", "input", "settings", "fatbin", "lowering/Abi.h"},
    "runtime/worker": {"targets", "input", "settings", "fatbin", "ptx-frontend", "lowering", "codegen", "runtime"},
    "tools": set(MODULES),
}

# What of LLVM each may use; a module that is not named may use all of it.
LLVM_ALLOWED = {
    "targets": ["ADT", "Support", "Config"],
    "input": ["ADT", "Support", "Config"],
    "settings": ["ADT", "Support", "Config"],
    "settings": set(),
    "fatbin": ["ADT", "Support", "Config", "Object", "BinaryFormat"],
    "ptx-frontend": ["ADT", "Support", "Config"],
    "reference": ["ADT", "Support", "Config"],
    "runtime": ["ADT", "Support", "Config"],
}
LLVM_ANY = {"runtime/worker"}

# A variable is a row of settings/Settings.def, a set-user-ID program's caller has no say, and nothing is told through the environment of
# the own process.
ENVIRONMENT = re.compile(r"\b(secure_)?(getenv|setenv|putenv|unsetenv|clearenv)\(|systemVariable\(\"(RUBIA|CUDA)_")

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]')


def owner(path):
    """The longest key of ALLOWED that is a prefix of the path."""
    keys = [k for k in ALLOWED if path == k or path.startswith(k + "/")]
    return max(keys, key=len) if keys else None


def check(root):
    errors = []
    files = 0
    for module in MODULES:
        for file in sorted((root / module).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".def"):
                continue
            files += 1
            relative = file.relative_to(root).as_posix()
            me = owner(relative)
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if ENVIRONMENT.search(line) and relative != "settings/lib/Settings.cpp":
                    errors.append(f"{relative}:{number}: settings/ alone reads the environment")
                match = INCLUDE.match(line)
                if not match:
                    continue
                name = match.group(2)
                place = f"{relative}:{number}: "
                target = next((m for m in MODULES if name.startswith(m + "/")), None)
                if target:
                    if not (root / name).exists():
                        errors.append(place + f"{name} does not exist")
                    inside = target == module
                    private = "/lib/" in name and not inside
                    if not inside and target not in ALLOWED[me] and name not in ALLOWED[me]:
                        errors.append(place + f"{me} must not include {name}")
                    elif private and module != "runtime":
                        errors.append(place + f"{name} is private to {target}")
                    elif inside and me == "runtime" and name.startswith("runtime/worker/"):
                        errors.append(place + "libcuda must not include the worker's headers")
                elif match.group(1) == '"' and "/" not in name:
                    errors.append(place + f"write {name} with its module in front")
                elif name.startswith("llvm/"):
                    allowed = None if me in LLVM_ANY else LLVM_ALLOWED.get(module)
                    if allowed and name.split("/")[1] not in allowed:
                        errors.append(place + f"{module} must not include {name}")
    return files, errors


def main():
    files, errors = check(pathlib.Path(sys.argv[1]))
    print("\n".join(errors))
    if not files:
        sys.exit("no source files found")
    print(f"{files} files, {len(errors)} errors")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
