#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no function of the driver is missing that a library needs to run, or lists those that its files name.

LIBRARY.txt has a line for each name. `NAME` has to be `works` in docs/driver.md: as this version, or, of a name that programs
give to cuGetProcAddress, in one version at least. `NAME: REASON` is asked for, and the library runs without it; it must not work.

Usage: needed.py SOURCE_ROOT                         checks
       needed.py SOURCE_ROOT --list FILE...          names that stand whole in files, or in members of wheels and archives
"""
import pathlib
import re
import sys
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROW = re.compile(r"^\| (cu\w+) \| [\d.]+ \| (.*) \|$", re.MULTILINE)
FUNCTION = re.compile(r"^CUDA_FUNCTION\((\w+), (\w+),", re.MULTILINE)
WORD = re.compile(rb"(?<![\w.])cu[A-Z]\w+(?!\w)")


class Driver:
    def __init__(self, root):
        self.states = dict(ROW.findall((root / "docs/driver.md").read_text()))
        self.versions = {}
        for symbol, name in FUNCTION.findall((root / "runtime/cuda/Functions.def").read_text()):
            self.versions.setdefault(name, []).append(symbol)

    def knows(self, name):
        return name in self.states or name in self.versions

    def works(self, name):
        return any(self.states[symbol] == "works" for symbol in self.versions.get(name, [name]))


def members(path):
    if not zipfile.is_zipfile(path):
        yield path.read_bytes()
        return
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if re.search(r"\.(so[.\d]*|py|pyx|pxd|pxi|c|cc|cpp|h)$", member.filename):
                yield archive.read(member)


def named(driver, paths):
    names = set()
    for path in paths:
        for data in members(pathlib.Path(path)):
            names |= {word.decode() for word in set(WORD.findall(data))}
    return sorted(name for name in names if driver.knows(name))


def problems(driver, path):
    listed = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    if not listed:
        yield f"{path.name}: names no function"
    for line in listed:
        name, _, reason = line.partition(": ")
        if not driver.knows(name):
            yield f"{path.name}: no driver has {name}"
        elif driver.works(name) == bool(reason):
            yield f"{path.name}: {name} {'works' if reason else 'does not work'}"


def main():
    driver = Driver(pathlib.Path(sys.argv[1]))
    if sys.argv[2:3] == ["--list"]:
        print(*named(driver, sys.argv[3:]), sep="\n")
        return
    lists = sorted(HERE.glob("*.txt"))
    found = [problem for path in lists for problem in problems(driver, path)]
    print(f"{len(lists)} libraries, {len(found)} problems", *found, sep="\n")
    sys.exit(bool(found) or not lists)


main()
