#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seeded mistakes of the compiler. A third are of what it reads: one statement of the PTX with another operation, operand, constant, address,
rounding or guard. A third are of the IR that lowering makes: one instruction changed. A third are of lowering: each instruction of a kind
changed. Those of the PTX count if the interpreter shows another bit for that PTX, the others if the emulator does.

Whatever counts must be found: `rubia diff --explain` must say that the target is wrong, and name the statement where the mistake was planted.
The unchanged PTX must be equal.

What lowering makes at a kernel's entry, such as special registers, is of no statement. Of a mistake there, a statement must be named that
is the first to use what the mistake changes. The worker finds these in the IR. They are counted apart.

With a rubia whose interpreter has the mistakes, and no worker, the interpreter must be named, and the statement.

With `reduce` the launches in which lowering is wrong are made small, and the lines of PTX that are left are counted: of 10, 8 must have
fewer than 100. Launches that `--reduce` refuses, such as those with textures, do not count.

Usage: mutants.py RUBIA MUTATING-WORKER|WRONG-RUBIA CAPSULES-FOLDER COUNT [SEED [reduce]]
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

RUBIA, WRONG, CAPSULES, COUNT = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4])
IN_INTERPRETER = "wrong-reference" in WRONG
SEED = int(sys.argv[5]) if len(sys.argv) > 5 else 1
REDUCES = sys.argv[6:] == ["reduce"]
ARCH = "reference" if IN_INTERPRETER else "gfx1100"
PARTY = "reference" if IN_INTERPRETER else "target"
OPERATIONS = [("add.", "sub."), ("sub.", "add."), ("mul.lo", "mul.hi"), ("and.", "or."), ("xor.", "and."), ("shl.", "shr."), ("min.", "max."),
              ("max.", "min."), (".lt.", ".le."), (".gt.", ".ge."), (".eq.", ".ne."), (".ne.", ".eq."), (".rn.", ".rz."), ("s32", "u32"),
              ("fma.rn.", "fma.rm."), ("shr.u32", "shr.s32"), ("bar.sync", "// bar.sync"), ("selp.", "slct.")]


def mutate(text, chance):
    """One instruction changed, or None if the drawn change does not fit."""
    lines = text.split("\n")
    bodies = [i for i, line in enumerate(lines) if re.match(r"\s*(@!?%p\d+ )?[a-z]", line) and ";" in line]
    i = chance.choice(bodies)
    line = lines[i]
    kind = chance.choice(["operation", "operation", "constant", "register", "address", "guard"])
    if kind == "operation":
        old, new = chance.choice(OPERATIONS)
        changed = line.replace(old, new, 1)
    elif kind == "constant":
        changed = re.sub(r", (\d+);", lambda m: f", {int(m[1]) + 1};", line, count=1)
    elif kind == "register":
        names = re.findall(r"%[a-z]+\d+", line)
        if len(names) < 2:
            return None
        source = chance.choice(names[1:])
        kinds = re.match(r"%[a-z]+", source)[0]
        others = sorted(set(re.findall(re.escape(kinds) + r"\d+\b", text)) - {source})
        head, sep, tail = line.partition(", ")
        changed = head + sep + tail.replace(source, chance.choice(others or [source]), 1)
    elif kind == "address":
        changed = re.sub(r"\[(%rd\d+)(?:\+(\d+))?\]", lambda m: f"[{m[1]}+{int(m[2] or 0) + 4}]", line, count=1)
    else:
        changed = re.sub(r"@(!?)(%p\d+)", lambda m: f"@{'' if m[1] else '!'}{m[2]}", line, count=1)
    if changed == line:
        return None
    return "\n".join(lines[:i] + [changed] + lines[i + 1:]), i + 1, line.strip(), changed.strip()


def diff(capsule, report, ptx, *options, program=RUBIA, **variables):
    report.unlink(missing_ok=True)
    run = subprocess.run([program, "diff", str(capsule), "--timeout", "60", "--json", str(report), "--ptx", str(ptx), *options],
                         capture_output=True, text=True, timeout=900, env=os.environ | variables)
    if not report.exists():
        raise SystemExit(f"{capsule.name} {options} {variables}: {run.stderr.strip()[-400:]}")
    return json.loads(report.read_text())


def first_wrong(document, verdicts=("different", "race", "unwritten value", "failed")):
    """The number of the first launch that is found to be wrong; None: none is."""
    return next((launch["ordinal"] for target in document["targets"] for launch in target["launches"]
                 if launch["verdict"] in verdicts), None)


def effects(document):
    """What tells whether a mistake changed anything where the sound PTX differs from the recording already."""
    keys = ("verdict", "differing", "first", "max_ulps", "max_relative", "histogram")
    launches = [launch for target in document["targets"] for launch in target["launches"]]
    return [launch["verdict"] for launch in launches] + [[b.get(key) for key in keys] for launch in launches for b in launch["buffers"]]


class Source:
    """A capsule with the PTX of its launches, and what it gives without a mistake."""

    def __init__(self, capsule, folder):
        self.capsule, self.folder = capsule, folder
        texts = subprocess.run([RUBIA, "capsule", "extract", str(capsule), "-o", str(folder / capsule.stem)],
                               check=True, capture_output=True, text=True).stdout.split()
        self.ptx = pathlib.Path(texts[0]) if len(texts) == 1 else None
        self.sound = {}
        if self.ptx:
            # Without lines of CUDA: the worker knows an instruction by its line of the PTX. Each has its own.
            text = re.sub(r"^\s*\.(loc|file)\b.*", "", self.ptx.read_text(), flags=re.MULTILINE)
            self.ptx.write_text(re.sub(r";[ \t]+(?=[^\s/])", ";\n", text))

    def effects(self, arch):
        if arch not in self.sound:
            document = diff(self.capsule, self.folder / "sound.json", self.ptx, "--arch", arch, "--no-locate")
            assert document["verdict"] in ("equal", "within the bound"), f"{self.capsule}: the unchanged PTX: {document}"
            self.sound[arch] = effects(document)
        return self.sound[arch]


def plant(source, chance, folder):
    """A mistake that matters: its text, its lines, those of statements that are the first to use what no statement computes, and the
    variables that give it to the worker. None: the one that was drawn does not matter."""
    log, cache = folder / "mutant.log", folder / "cache"
    log.unlink(missing_ok=True)
    shutil.rmtree(cache, ignore_errors=True)  # kernels with another mistake
    where = "ptx" if IN_INTERPRETER else "all" if REDUCES else chance.choice(["ptx", "once", "all"])  # "all": lines change
    if where == "ptx":
        mutant = mutate(source.ptx.read_text(), chance)
        if not mutant:
            return None
        text, line, before, after = mutant
        (folder / "mutant.ptx").write_text(text)
        document = diff(source.capsule, folder / "mutant.json", folder / "mutant.ptx", "--arch", "reference", "--no-locate")
        if document["verdict"] == "unsupported" or effects(document) == source.effects("reference"):
            return None
        request, lines, readers, what = f"{line}|{before}|{after}", {line}, set(), f"line {line}: {before} -> {after}"
        if IN_INTERPRETER:
            return what, lines, set(), {"RUBIA_TEST_REFERENCE_MUTANT": request}
        request = "ptx " + request
    else:
        request = f"{where} {chance.randrange(1 << 30)}"
    variables = {"RUBIA_WORKER": WRONG, "RUBIA_TEST_MUTANT": request, "RUBIA_TEST_MUTANT_LOG": str(log), "RUBIA_SANDBOX": "off",
                 "RUBIA_CACHE_DIR": str(cache)}
    if where != "ptx":
        document = diff(source.capsule, folder / "mutant.json", source.ptx, "--arch", ARCH, "--no-locate", **variables)
        said = log.read_text().splitlines() if log.exists() else ["invalid"]
        if "invalid" in said or document["verdict"] == "unsupported" or effects(document) == source.effects(ARCH):
            return None
        what, lines, readers = said[0], numbers(said, "lines"), numbers(said, "readers")
    return what, lines, readers, variables


def numbers(said, name):
    return {int(word) for words in said if words.startswith(name + " ") for word in words.split()[1:]}


def judge(document):
    """Whether the right party is named, and the line of the statement that is named."""
    launch = document["targets"][0]["launches"][0]
    return launch.get("wrong") == PARTY, launch.get("instruction", {}).get("line")


def reduced_lines(source, ordinal, variables, folder):
    """Lines of PTX before and behind; None: it cannot be reduced."""
    small = folder / "small"
    shutil.rmtree(small, ignore_errors=True)
    document = diff(source.capsule, folder / "mutant.json", source.ptx, "--arch", ARCH, "--no-locate", "--launch", str(ordinal), "--reduce",
                    str(small), **variables)
    if not (small / "run.sh").exists():
        print("   ", "\n    ".join(document["targets"][0]["launches"][0].get("explanation", ["it is not different"])), flush=True)
        return None
    return source.ptx.read_text().count("\n"), (small / "kernel.ptx").read_text().count("\n")


def reduce_some(sources, chance, folder):
    reduced = []
    while len(reduced) < COUNT:
        source = chance.choice(sources)
        mistake = plant(source, chance, folder)
        if not mistake:
            continue
        what, _, _, variables = mistake
        ordinal = first_wrong(diff(source.capsule, folder / "mutant.json", source.ptx, "--arch", ARCH, "--no-locate", **variables), ["different"])
        if ordinal is None:  # it fails
            continue
        begin = time.time()
        lines = reduced_lines(source, ordinal, variables, folder)
        print(f"{source.capsule.name}: {what}: {lines or 'not reduced'}, {time.time() - begin:.0f} s", flush=True)
        if lines:
            reduced.append(lines[1])
    print(f"{len(reduced)} reduced, {sum(count < 100 for count in reduced)} to less than 100 lines: {sorted(reduced)}")
    assert sum(count < 100 for count in reduced) >= 0.8 * len(reduced)


def main():
    chance = random.Random(SEED)
    planted = found = blamed = named = read = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sources = [source for source in (Source(capsule, folder) for capsule in sorted(CAPSULES.glob("*.capsule"))) if source.ptx]
        assert sources
        if REDUCES:
            return reduce_some(sources, chance, folder)
        drawn = 0
        while planted < COUNT:
            drawn += 1
            source = chance.choice(sources)
            mistake = plant(source, chance, folder)
            if not mistake:
                continue
            what, lines, readers, variables = mistake
            begin = time.time()
            def run(*options):
                return diff(source.capsule, folder / "mutant.json", source.ptx, "--arch", ARCH, *options,
                            program=WRONG if IN_INTERPRETER else RUBIA, **variables)

            document = run("--no-locate")
            ordinal = first_wrong(document)
            if ordinal is not None:
                try:
                    document = run("--explain", "--launch", str(ordinal))
                except subprocess.TimeoutExpired:
                    print("    not explained in time", flush=True)
            is_blamed, line = judge(document) if ordinal is not None else (False, None)
            is_read = is_blamed and line not in lines and line in readers
            is_named = is_blamed and (line in lines or is_read)
            blamed += is_blamed
            planted += 1
            found += ordinal is not None
            named += is_named
            read += is_read
            print(f"{'ok, first use' if is_read else 'ok' if is_named else 'WRONG PLACE' if ordinal is not None else 'NOT FOUND'}: {source.capsule.name}: {what} "
                  f"{sorted(lines)[:8]}{f', first used in {sorted(readers)[:8]}' if readers else ''}: "
                  f"{document['verdict']}, {time.time() - begin:.0f} s", flush=True)
            if not is_named:
                for target in document["targets"]:
                    for launch in target["launches"]:
                        print("   ", launch["verdict"], launch.get("reason", ""), launch.get("wrong"), launch.get("instruction"))
                        print("\n".join("      " + line for line in launch.get("explanation", [])), flush=True)
    print(f"{drawn} mistakes drawn, {planted} change a bit, {found} of them are found; of {blamed} of these the right party is named, "
          f"of {named} the statement too: of {named - read} the one that has the mistake, of {read} the first that uses what is of none")
    # A mistake of the interpreter may be within the bound of what kernels approximate.
    assert found >= (0.5 if IN_INTERPRETER else 0.95) * planted
    assert blamed >= (1 if IN_INTERPRETER else 0.95) * found
    assert named >= (0.7 if IN_INTERPRETER else 0.9) * found


if __name__ == "__main__":
    main()
