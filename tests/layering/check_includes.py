#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks #include lines against the order of modules and rooms, the size of folders, and that settings/ alone reads the
environment. tools/docs-drawings draws the modules from the same tables.

Usage: check_includes.py SOURCE_ROOT
"""
import pathlib
import re
import sys

# What a folder may include of the other modules: whole modules, folders of them, or single headers. The longest matching prefix
# counts.
ALLOWED = {
    "targets": set(),
    "input": set(),
    "settings": {"input"},
    "fatbin": {"input"},
    "ptx-frontend": set(),
    "lowering": {"targets", "settings", "ptx-frontend"},
    "codegen": {"targets"},
    "emulator": {"targets", "input", "settings", "lowering/Abi.h"},
    "reference": {"ptx-frontend"},
    "runtime": {"targets", "input", "settings", "fatbin", "lowering/Abi.h"},
    "runtime/worker": {"targets", "input", "settings", "fatbin", "ptx-frontend", "lowering", "codegen", "runtime"},
    "standins": {"input", "settings", "fatbin", "ptx-frontend"},
    "diff": {"input", "settings", "fatbin", "ptx-frontend", "runtime", "reference"},
    "diff/forward": {"runtime/cuda/Functions.def", "runtime/device/ClosedLibraries.h"},
    "tools": {"targets", "input", "settings", "fatbin", "ptx-frontend", "lowering", "codegen", "emulator", "reference", "runtime", "diff"},
}
MODULES = [folder for folder in ALLOWED if "/" not in folder]

# Rooms of a folder: each may include what stands before it. What lies in the folder itself is above them all if it is a source
# file; headers there are the module's public ones, for every room.
ROOMS = {
    "lowering/lib": ["analysis", "waits", "frame", "instructions", "asynchronous", "textures", "matrices", "transform"],
    "codegen/lib": ["check", "errata", "fragments", "speed"],
    "emulator": ["lib", "hip"],
    "emulator/lib": ["machine", "object", "memory", "vector", "scalar", "decode", "run", "observe", "check", "order", "trace",
                     "debug", "launch"],
    "emulator/hip": ["api"],
    "runtime": ["base", "cache", "compiler", "worker", "device", "cuda", "nvml"],
    "runtime/cuda": ["graph", "texture", "memory", "stream"],
    "diff": ["lib", "forward"],
}
# Rooms that end up in different programs.
APART = {("runtime/device", "runtime/worker"), ("runtime/cuda", "runtime/worker"), ("runtime/nvml", "runtime/worker"), ("runtime/nvml", "runtime/cuda"), ("diff/forward", "diff/lib")}

MAX_FILES = 48  # of a folder: more need rooms
SOURCES = (".h", ".cpp", ".def")

# What of LLVM each may use; a module that is not named may use all of it.
LLVM_ALLOWED = {
    "targets": ["ADT", "Support", "Config"],
    "input": ["ADT", "Support", "Config"],
    "settings": ["ADT", "Support", "Config"],
    "fatbin": ["ADT", "Support", "Config", "Object", "BinaryFormat"],
    "ptx-frontend": ["ADT", "Support", "Config"],
    "reference": ["ADT", "Support", "Config"],
    "runtime": ["ADT", "Support", "Config"],
    "runtime/worker": None,
    "standins": ["ADT", "Support", "Config", "BinaryFormat"],
    "diff": ["ADT", "Support", "Config"],
}

# A variable is a row of settings/Settings.def, a set-user-ID program's caller has no say, and nothing is told through the
# environment of the own process.
ENVIRONMENT = re.compile(r"\b(secure_)?(getenv|setenv|putenv|unsetenv|clearenv)\(|systemVariable\(\"(RUBIA|CUDA)_")

# The forwarding library goes to other machines alone, without settings/.
READ_THE_ENVIRONMENT = {"settings/lib/Settings.cpp", "diff/forward/Options.cpp", "diff/forward/Recorder.cpp"}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]')


def longest_prefix(path, keys):
    """The longest key that is the path or a folder above it."""
    matching = [key for key in keys if path == key or path.startswith(key + "/")]
    return max(matching, key=len) if matching else None


def room_of(path, folder):
    """The room of a folder that a path lies in, None if it lies elsewhere or in the folder itself."""
    if not path.startswith(folder + "/"):
        return None
    name = path[len(folder) + 1 :].split("/")[0]
    return name if name in ROOMS[folder] else None


def rooms_problem(me, name):
    """Why `me` must not include `name` by the order of rooms."""
    for folder, rooms in ROOMS.items():
        mine, other = room_of(me, folder), room_of(name, folder)
        if not mine or not other or mine == other:
            continue
        if rooms.index(other) > rooms.index(mine) or (f"{folder}/{mine}", f"{folder}/{other}") in APART:
            return f"{folder}/{mine} must not include {name}"
    return None


def include_problem(root, me, quote, name):
    """Why the file `me` must not include `name`; None if it may."""
    owner = longest_prefix(me, ALLOWED)
    module = me.split("/")[0]
    target = name.split("/")[0]
    if target in MODULES:
        if not (root / name).exists():
            return f"{name} does not exist"
        if target == module:
            return rooms_problem(me, name)
        if not longest_prefix(name, ALLOWED[owner]):
            return f"{owner} must not include {name}"
        if "/lib/" in name:
            return f"{name} is private to {target}"
    elif quote == '"' and "/" not in name:
        return f"write {name} with its module in front"
    elif target == "llvm":
        allowed = LLVM_ALLOWED.get(longest_prefix(me, LLVM_ALLOWED))
        if allowed and name.split("/")[1] not in allowed:
            return f"{owner} must not include {name}"
    return None


def check_sources(root):
    errors = []
    files = 0
    sizes = {}
    for module in MODULES:
        for file in sorted((root / module).rglob("*")):
            if file.suffix not in SOURCES:
                continue
            files += 1
            me = file.relative_to(root).as_posix()
            sizes[file.parent] = sizes.get(file.parent, 0) + 1
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if ENVIRONMENT.search(line) and me not in READ_THE_ENVIRONMENT:
                    errors.append(f"{me}:{number}: settings/ alone reads the environment")
                if "namespace llvm::AMDGPU" in line and file.name != "LlvmPrivate.h":
                    errors.append(f"{me}:{number}: what is private to LLVM is declared in LlvmPrivate.h alone")
                match = INCLUDE.match(line)
                problem = match and include_problem(root, me, *match.groups())
                if problem:
                    errors.append(f"{me}:{number}: {problem}")
    errors += [f"{folder}: {size} files, more than {MAX_FILES}: it needs rooms" for folder, size in sizes.items() if size > MAX_FILES]
    return files, errors


def check_rooms(root):
    """Every folder with rooms has exactly these; every module is there."""
    errors = [f"{module}/ is not there" for module in MODULES if not (root / module).is_dir()]
    for folder, rooms in ROOMS.items():
        found = {path.name for path in (root / folder).iterdir() if path.is_dir() and any(path.rglob("*.cpp"))}
        errors += [f"{folder}/{name} has no place in the order of rooms" for name in sorted(found - set(rooms))]
        errors += [f"{folder}/{name} is not there" for name in sorted(set(rooms) - found)]
    return errors


def main():
    root = pathlib.Path(sys.argv[1])
    files, errors = check_sources(root)
    errors += check_rooms(root)
    print("\n".join(errors))
    if not files:
        sys.exit("no source files found")
    print(f"{files} files, {len(errors)} errors")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
