#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of pages, and compares what they print with what the pages show.

Usage: commands.py BIN-FOLDER COMPILER TREE PAGE...

A page's blocks run from top to bottom, in one shell and an empty folder with links to examples/ and tests/:

  ```sh                       commands; the first that fails ends the test
  ```text                     behind commands: their output has these lines, in this order; `...` stands for anything
  <!-- file: NAME -->         above a block: its text becomes this file
  <!-- in: FILE -->           above commands: FILE of the tree has the same lines
  <!-- same as: FILE -->      above a block: it is FILE of the tree
  <!-- needs: PROGRAM -->     the page is skipped where PROGRAM is not installed

Other blocks are not run. Pages without commands are passed over. Where there is no `cc`, it is COMPILER. The exit status is 77
if all pages with commands were skipped.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^(?:<!-- (file|in|same as): (\S+) -->\n)?```(\w*)\n(.*?)^```$", re.M | re.S)
MARK = "rubia-block-of-commands"


class Failure(Exception):
    pass


def plain_lines(text):
    return [line.strip() for line in text.strip().splitlines()]


def contains(lines, wanted):
    return any(lines[i:i + len(wanted)] == wanted for i in range(len(lines)))


def script_of(page, root):
    """The shell script of a page, and what the output of each of its blocks must show."""
    script, expected = [], []
    for role, name, kind, text in BLOCK.findall(page):
        if role == "file":
            script.append(f"cat > '{name}' <<'{MARK}'\n{text}{MARK}")
            continue
        if role == "same as" and (root / name).read_text() != text:
            raise Failure(f"the page does not show {name} as it is")
        if role == "in" and not contains(plain_lines((root / name).read_text()), plain_lines(text)):
            raise Failure(f"{name} does not have these lines:\n{text}")
        if kind == "sh":
            script.append(f"echo '{MARK} {len(expected)}'\n{text.rstrip()}")
            expected.append([])
        elif kind == "text" and role == "":
            if not expected or expected[-1]:
                raise Failure(f"there are no commands that print this:\n{text}")
            expected[-1] = text.splitlines()
    if not expected:
        raise Failure("the page has no commands")
    return "\n".join(script), expected


def compare(output, wanted):
    lines = [line.rstrip() for line in output.splitlines()]
    for line in wanted:
        if line.strip() == "...":
            continue
        pattern = ".*".join(re.escape(piece) for piece in line.rstrip().split("..."))
        while lines and not re.fullmatch(pattern, lines[0]):
            lines.pop(0)
        if not lines:
            raise Failure(f"the commands do not print, or not in this order: {line}\n--- they print\n{output}")
        lines.pop(0)


def run(page, root, folder, environment):
    for name in ("examples", "tests"):
        (folder / name).symlink_to(root / name)
    (folder / "home").mkdir()
    script, expected = script_of(page, root)
    result = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment | {"HOME": str(folder / "home")},
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=500)
    outputs = re.split(rf"^{MARK} \d+\n", result.stdout, flags=re.M)[1:]
    if result.returncode:
        raise Failure(f"block {len(outputs)} ended with status {result.returncode}:\n{outputs[-1] if outputs else result.stdout}")
    for output, wanted in zip(outputs, expected, strict=True):
        compare(output, wanted)
    return len(expected)


def check(path, programs, compiler, root):
    """0, 1, or 77 as an exit status; None if the page has no commands."""
    page = path.read_text()
    if not re.search(r"^```sh$", page, re.M):
        return None
    for program in re.findall(r"^<!-- needs: (\S+) -->$", page, re.M):
        if not shutil.which(program):
            print(f"{path.name}: skipped, {program} is not installed")
            return 77
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("RUBIA_", "CUDA_", "XDG_"))}
    environment |= {"PATH": f"{programs}:{environment['PATH']}", "RUBIA_DEVICE": "emulator", "EMULATOR_SOURCE": str(root),
                    "EMULATOR_LIBRARIES": str(programs.parent / "lib/rubia")}
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as tools:
        if not shutil.which("cc"):
            (pathlib.Path(tools) / "cc").symlink_to(compiler)
            environment["PATH"] += f":{tools}"
        try:
            print(f"{path.name}: {run(page, root, pathlib.Path(folder), environment)} blocks of commands")
        except Failure as failure:
            print(f"{path}: {failure}")
            return 1
    return 0


def main():
    programs, compiler, root, *pages = map(pathlib.Path, sys.argv[1:])
    results = {check(page, programs, compiler, root) for page in pages} - {None}
    if not results:
        sys.exit("no page has commands")
    return 1 if 1 in results else 0 if 0 in results else 77


if __name__ == "__main__":
    sys.exit(main())
