# SPDX-License-Identifier: Apache-2.0
"""The rows of Targets.def, Generations.def and Facts.def, for tests and tools in Python.

As a program: targets.py [all|whole|sampled|wave32|default] prints names; targets.py table prints the tables of docs/targets.md.
"""
import pathlib
import re
import sys
from typing import NamedTuple


class Target(NamedTuple):
    name: str
    generation: str
    version: tuple
    vgprs: int
    generic: str
    tests: str  # Default, Whole or Sampled
    product: str
    facts: dict  # of its generation, as text


ROW = re.compile(r'^TARGET\("([^"]+)",\s*(\w+),\s*\((\d+), (\d+), (\d+)\),\s*(\d+),\s*\w+,\s*\w+,\s*\w+,'
                 r'\s*"([^"]*)",\s*(\w+),\s*"([^"]*)"\)$')
FILE = pathlib.Path(__file__).with_name("Targets.def")
GENERATIONS = FILE.with_name("Generations.def").read_text()
FACTS = FILE.with_name("Facts.def").read_text()


def read(text, generation_text, fact_text):
    lines = text.splitlines()
    generations = re.findall(r"^GENERATION\((\w+),", generation_text, re.M)
    facts = {generation: {} for generation in generations}
    for _, name, values in re.findall(r"^(?:FACT|MEMBER)\((\w+), (\w+),(.*)\)$", fact_text, re.M):
        for generation, value in zip(generations, values.split(","), strict=True):
            facts[generation][name] = value.strip()
    targets = []
    for line in lines:
        if not line.startswith("TARGET("):
            continue
        match = ROW.match(line)
        if not match:
            raise ValueError(f"{FILE.name}: not a row: {line}")
        name, generation, *numbers, vgprs, generic, tests, product = match.groups()
        targets.append(Target(name, generation, tuple(map(int, numbers)), int(vgprs), generic, tests, product, facts[generation]))
    return targets


TARGETS = read(FILE.read_text(), GENERATIONS, FACTS)
ALL = [t.name for t in TARGETS]
WHOLE = [t.name for t in TARGETS if t.tests != "Sampled"]  # all tests run on these
SAMPLED = [t.name for t in TARGETS if t.tests == "Sampled"]
DEFAULT = next(t.name for t in TARGETS if t.tests == "Default")
BY_NAME = {t.name: t for t in TARGETS}


def wave_sizes(name):
    return (32, 64) if BY_NAME[name].facts["hasWave32"] == "true" else (64,)


GENERATION_NAMES = dict(re.findall(r'^GENERATION\((\w+), "([^"]+)"\)', GENERATIONS, re.M))
KINDS = {"NoMatrix": "none", "Mfma": "MFMA", "MfmaScaled": "MFMA, scaled", "Wmma": "WMMA", "WmmaPacked": "WMMA (12)",
         "None": "none", "Own": "own file", "Shared": "of the VGPRs"}


def tables():
    """What sets the targets apart, in Markdown."""
    lines = ["| target | generation | as | tests by default | whose code runs on it too |", "| --- | --- | --- | --- | --- |"]
    for t in TARGETS:
        other = t.generic if t.generic and t.generic != t.name else ""
        lines.append(f"| {t.name} | {GENERATION_NAMES[t.generation]} | {t.product} | {'a sample' if t.tests == 'Sampled' else 'all'} | {other} |")
    lines += ["", "| generation | waves | LDS | cache line | L2s | accumulators | matrix products | image instructions | atomics on host memory |",
              "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for generation, name in GENERATION_NAMES.items():
        facts = next(t.facts for t in TARGETS if t.generation == generation)
        lines.append(" | ".join([
            f"| {name}", "32, 64" if facts["hasWave32"] == "true" else "64", f"{int(facts['maxLdsBytes']) // 1024} KiB", facts["cacheLineBytes"],
            "one a die" if facts["hasDies"] == "true" else "one", KINDS[facts["accumulators"]], KINDS[facts["matrix"]],
            "yes" if facts["hasImages"] == "true" else "no",
            "all" if facts["atomicsReachHost"] == "true" else "add, swap, compare-and-swap of integers"]) + " |")
    return "\n".join(lines)


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else "all"
    if what == "table":
        print(tables())
        return
    lists = {"all": ALL, "whole": WHOLE, "sampled": SAMPLED, "default": [DEFAULT], "wave32": [n for n in ALL if len(wave_sizes(n)) == 2]}
    print(" ".join(lists[what]))


if __name__ == "__main__":
    main()
