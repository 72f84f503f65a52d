#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints random programs as one C file, for the device and for the host alike.

Usage: generate.py [--seed N] [--skip N,N,...] FIRST[-LAST]...
"""

import argparse

from programs import Program, translationUnit


def numbers(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--skip", default="", help="numbers of statements to leave out")
    parser.add_argument("programs", nargs="+", type=numbers)
    options = parser.parse_args()
    skip = frozenset(int(n) for n in options.skip.split(",") if n)
    print(translationUnit([Program(options.seed, i) for r in options.programs for i in r], skip), end="")


if __name__ == "__main__":
    main()
