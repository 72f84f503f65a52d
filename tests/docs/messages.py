#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The messages in the tables of docs/troubleshooting.md are those of the sources. Usage: messages.py SOURCE_ROOT

A message is inline code in the first column of a table; `...` in it stands for what a message fills in. Each piece between has
to be a part of a string of the sources; adjacent strings count as one.
"""
import pathlib
import re
import sys

# What others print, and names of CUDA's and HIP's errors.
OTHERS = re.compile(r"^(symbol lookup error|cuda?Error\w*|cu|hipError\w+)")
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
FOLDERS = ("runtime", "emulator", "tools", "lowering", "codegen", "fatbin", "settings", "targets", "input", "ptx-frontend")


def strings(root):
    """All string literals of the sources; those that only white space separates are one."""
    texts = []
    for folder in FOLDERS:
        for path in (root / folder).rglob("*"):
            if path.suffix in (".cpp", ".h", ".def"):
                source = re.sub(r"^\s*(?:#include|//).*$", "", path.read_text(), flags=re.M)
                texts += STRING.findall(re.sub(r'"\s*\n\s*"', "", source))
    return "\n".join(texts).replace('\\"', '"').replace("\\n", "\n")


def check(page, known):
    """What is wrong with the page, and how many pieces of messages it has."""
    bad, pieces = [], 0
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("| ") or line.startswith(("| ---", "| message", "| symptom")):
            continue
        for message in re.findall(r"`([^`]+)`", line.split(" | ")[0]):
            if OTHERS.match(message):
                continue
            for piece in filter(None, (piece.strip(" :;,") for piece in message.split("..."))):
                pieces += 1
                if piece not in known:
                    bad.append(f"docs/troubleshooting.md:{number}: no source prints: {piece}")
    return bad, pieces


def main():
    root = pathlib.Path(sys.argv[1])
    bad, pieces = check((root / "docs/troubleshooting.md").read_text(), strings(root))
    print("\n".join([*bad, f"{pieces} pieces of messages, {len(bad)} unknown"]))
    return 1 if bad or pieces < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
