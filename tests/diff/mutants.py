#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Seeded mistakes. A third are of the PTX: the recorded one with one operation, operand, constant, address, rounding or guard changed, replayed
in its place. A third are of the IR that lowering makes: one instruction changed. A third are of lowering: each instruction of a kind changed.
Whatever changes a bit of the results must be found, with another verdict than equal; the unchanged PTX must be equal.

Usage: mutants.py RUBIA MUTATING-WORKER CAPSULES-FOLDER COUNT [SEED]
"""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

RUBIA, WORKER, CAPSULES, COUNT = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), int(sys.argv[4])
SEED = int(sys.argv[5]) if len(sys.argv) > 5 else 1
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
    return "\n".join(lines[:i] + [changed] + lines[i + 1:]), f"line {i + 1}: {line.strip()} -> {changed.strip()}"


def diff(capsule, report, ptx=None, **variables):
    run = subprocess.run([RUBIA, "diff", str(capsule), "--arch", "gfx1100", "--no-locate", "--timeout", "20", "--json", str(report)]
                         + (["--ptx", str(ptx)] if ptx else []), capture_output=True, text=True, timeout=300, env=os.environ | variables)
    if not report.exists():
        return run.returncode, "error: " + run.stderr.strip()[-200:]
    return run.returncode, json.loads(report.read_text())


def effects(document):
    """What tells whether a mistake changed anything where the sound PTX differs from the recording already."""
    keys = ("verdict", "differing", "first", "max_ulps", "max_relative", "histogram")
    return [[b.get(key) for key in keys] for t in document["targets"] for l in t["launches"] for b in l["buffers"]]


def main():
    chance = random.Random(SEED)
    counts = {"equal": 0, "different": 0, "race": 0, "unwritten value": 0, "failed": 0, "refused": 0, "same": 0, "undecided": 0, "within the bound": 0}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        sources = []
        for capsule in sorted(CAPSULES.glob("*.capsule")):
            texts = subprocess.run([RUBIA, "capsule", "extract", str(capsule), "-o", str(folder / capsule.stem)],
                                   check=True, capture_output=True, text=True).stdout.split()
            if len(texts) != 1:
                continue
            # Without lines of CUDA: the worker knows an instruction by its line of the PTX.
            ptx = pathlib.Path(texts[0])
            ptx.write_text(re.sub(r"^\s*\.(loc|file)\b.*", "", ptx.read_text(), flags=re.MULTILINE))
            status, document = diff(capsule, folder / "sound.json", ptx)
            assert status == 0, f"{capsule}: the unchanged PTX: {document}"
            sources.append((capsule, ptx, effects(document)))
        assert sources
        while sum(counts.values()) < COUNT:
            capsule, ptx, sound = chance.choice(sources)
            report, log = folder / "mutant.json", folder / "mutant.log"
            report.unlink(missing_ok=True)
            log.unlink(missing_ok=True)
            where = chance.choice(["ptx", "once", "all"])
            if where == "ptx":
                mutant = mutate(ptx.read_text(), chance)
                if not mutant:
                    continue
                (folder / "mutant.ptx").write_text(mutant[0])
                status, document = diff(capsule, report, folder / "mutant.ptx")
                what = mutant[1]
            else:  # in what lowering makes: one instruction of the IR, or each of a kind
                status, document = diff(capsule, report, ptx, RUBIA_WORKER=WORKER, RUBIA_TEST_MUTANT=f"{where} {chance.randrange(1 << 30)}",
                                        RUBIA_TEST_MUTANT_LOG=str(log), RUBIA_SANDBOX="off", RUBIA_CACHE_DISABLE="1")
                said = log.read_text().splitlines()
                if "invalid" in said:
                    continue
                what = said[0]
            if isinstance(document, str):
                raise SystemExit(f"{capsule.name}: {what}: {document}")
            verdict = document["verdict"]
            differing = sum(b["differing"] for t in document["targets"] for l in t["launches"] for b in l["buffers"])
            kind = {"unsupported": "refused"}.get(verdict, verdict)
            if effects(document) == sound:
                kind = "same"
            counts[kind] += 1
            assert (verdict in ("equal", "within the bound")) == (status == 0), what
            assert verdict != "equal" or not differing, what
            print(f"{capsule.name}: {what}: {verdict}{' (changes nothing)' * (kind == 'same')}", flush=True)
    found = sum(counts[kind] for kind in ("different", "race", "unwritten value", "failed"))
    wrong = COUNT - counts["same"] - counts["refused"]
    print(f"{COUNT} mistakes: {counts}; {wrong} change a bit, {found} of them are found")
    assert not counts["equal"]
    # Within the bound: no more than the kernel's approximate instructions may do. Undecided: found, and left to the user.
    assert counts["different"] and (COUNT < 100 or found >= 0.95 * wrong)


if __name__ == "__main__":
    main()
