#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a folder of single kernels out of the PTX of libraries: each kernel with the functions and variables that it names.
The same libraries and numbers give the same files. The kernels stay on the machine: libraries belong to their vendors.

Usage: corpus.py RUBIA FOLDER LIBRARY [LIBRARY ...] [--each N]
"""
import argparse
import pathlib
import random
import re
import subprocess
import tempfile

NAME = re.compile(r"[A-Za-z_$%][\w$]*")
FUNCTION = re.compile(r"\.(entry|func)\b")


def items(text):
    """(directives of the head, what stands at the top level) of a module."""
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)
    head, rest = [], []
    for line in text.split("\n"):
        (head if re.match(r"\s*\.(version|target|address_size)\b", line) else rest).append(line)
    found, depth, start = [], 0, 0
    body = "\n".join(line for line in rest if not re.match(r"\s*\.(file|loc)\b", line))
    for match in re.finditer(r"[{};]", body):
        depth += {"{": 1, "}": -1, ";": 0}[match[0]]
        item = body[start : match.end()]
        ends = match[0] == ";" or (match[0] == "}" and (FUNCTION.search(item.split("{")[0]) or ".section" in item.split("{")[0]))
        if depth == 0 and ends:
            found.append(item.strip())
            start = match.end()
    return head, [item for item in found if not item.startswith(".section")]


def defined_name(item):
    head = re.split(r"[{;=]", item)[0]
    if FUNCTION.search(head):
        head = re.sub(r"\.func\s*\([^)]*\)", ".func", head)
        return re.search(r"\.(?:entry|func)\s+([\w$]+)", head)[1]
    names = re.findall(r"(?<![.\w$])([A-Za-z_$][\w$]*)", head)
    return names[-1] if names else None


def kernels(text):
    """(name, text of a module with this kernel alone) of each kernel."""
    head, all_items = items(text)
    named = {}
    for item in all_items:
        named.setdefault(defined_name(item), []).append(item)
    uses = {name: {used for item in bodies for used in NAME.findall(item)} & named.keys() for name, bodies in named.items()}
    for name, bodies in named.items():
        if not any(re.search(r"\.entry\b", body.split("{")[0]) and "{" in body for body in bodies):
            continue
        needed, ahead = {name}, [name]
        while ahead:
            fresh = uses[ahead.pop()] - needed
            needed |= fresh
            ahead += fresh
        yield name, "\n".join(head + [item for item in all_items if defined_name(item) in needed]) + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rubia")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("libraries", nargs="+", type=pathlib.Path)
    parser.add_argument("--each", type=int, default=30, help="kernels of each library")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for library in options.libraries:
        with tempfile.TemporaryDirectory() as folder:
            if library.is_dir():
                files = sorted(library.glob("*.ptx"))
            else:
                subprocess.run([options.rubia, "extract", library, "-o", folder, "-q"], check=True)
                files = sorted(pathlib.Path(folder).glob("*.ptx"))
            draw = random.Random(library.name)
            draw.shuffle(files)
            found = []
            for file in files:  # one in eight of each module, until there are enough to draw from
                of_file = list(kernels(file.read_text(errors="surrogateescape")))
                found += [(file.stem, index, *kernel) for index, kernel in enumerate(of_file) if draw.random() < max(0.125, 2 / len(of_file))]
                if len(found) >= 4 * options.each:
                    break
            for stem, index, name, text in draw.sample(found, min(options.each, len(found))):
                (options.folder / f"{stem}.{index}.ptx").write_text(text, errors="surrogateescape")


if __name__ == "__main__":
    main()
