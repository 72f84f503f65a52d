# SPDX-License-Identifier: Apache-2.0
"""Compiles damaged PTX from end to end: whatever a file holds, `rubia precompile` compiles it or names what is wrong. It must not end by a signal or
hang, and no compile process may die or go beyond its limit.

  mutants.py RUBIA SEED SECONDS FOLDER-FOR-FAILURES

Inputs are the repository's own PTX with a few tokens changed, copied, swapped or left out. Those of a seed are always the same."""
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(SOURCE / "targets"))
import targets  # noqa: E402

BATCH = 40       # files of one run of rubia
UNIT_LIMIT = 60  # seconds for which a unit may be compiled
# What the supervisor says of a compile process that is gone (runtime/worker/Supervisor.cpp).
GONE = re.compile(r"(?!<image>:).*(crashed: |took longer than \d+ s|ran out of memory \(it may take|ended with status \d)")
TOKEN = re.compile(r"[%$\w.]+|\s+|.", re.DOTALL)
NUMBERS = ["0", "1", "-1", "2147483647", "4294967296", "0xffffffffffffffff", "0f7fc00000", "0d7ff0000000000000", "64", "65536", "1099511627776"]
WORDS = [".u8", ".s16", ".u32", ".s32", ".b64", ".f16", ".f32", ".f64", ".bf16", ".pred", ".v2", ".v4", ".shared", ".global", ".local", ".const", ".param",
         ".rn", ".rz", ".ftz", ".sat", ".volatile", ".relaxed", ".acquire", ".gpu", ".cta", ".sync", ".aligned", ".wide", ".hi", ".lo", "bra", "call", "ret",
         "bar", "mov", "ld", "st", "atom", "cvt", "mad", "shfl", "%tid.x", "%r1", "%rd1", "%f1", "%p1", "@%p1", "{", "}", ";", ",", "[", "]"]


def seeds():
    """All PTX of tests and examples that is short, in an order that is the same everywhere."""
    files = sorted(path for folder in ("tests", "examples") for path in (SOURCE / folder).rglob("*.ptx"))
    return [text for text in (path.read_text(errors="replace") for path in files if path.stat().st_size < 16000) if ".entry" in text]


def mutant(rng, texts):
    tokens = TOKEN.findall(rng.choice(texts))
    begin = next((i for i, token in enumerate(tokens) if token == ".entry"), 0)
    others = TOKEN.findall(rng.choice(texts))
    for _ in range(1 + rng.randrange(4)):
        # Mostly in kernels: what stands before is read by the parser alone.
        at = rng.randrange(min(begin, len(tokens) - 1) if rng.random() < 0.9 else 0, len(tokens))
        count = 1 + rng.randrange(8)
        kind = rng.randrange(8)
        if kind == 0:
            del tokens[at:at + count]
        elif kind == 1:
            tokens[at:at] = tokens[at:at + count]
        elif kind == 2:
            other = rng.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 3:
            tokens[at] = rng.choice(NUMBERS)
        elif kind == 4:
            tokens[at] = rng.choice(WORDS)
        elif kind == 5:
            start = rng.randrange(len(others))
            tokens[at:at] = others[start:start + 4 * count]
        elif kind == 6 and tokens[at]:  # a register or number of the same length
            tokens[at] = re.sub(r"\d", lambda _: str(rng.randrange(10)), tokens[at], count=1)
        else:
            tokens[at] = "".join(rng.choice([c, chr(rng.randrange(1, 256))]) for c in tokens[at])
        if not tokens:
            return ""
    return "".join(tokens)


def verdicts(report):
    """What went wrong with compile processes, by the report of `rubia precompile`."""
    for kernel in report.get("kernels", []):
        reason = kernel.get("reason") or ""
        if GONE.match(reason):
            yield f"{kernel['image']}: {kernel['kernel']}: {reason}"


def batch(rubia, number, seed, texts, failures):
    """One run over BATCH mutants. The problems that it had."""
    rng = random.Random(f"{seed}:{number}")
    with tempfile.TemporaryDirectory(prefix="rubia-mutants-") as name:
        folder = Path(name)
        (folder / "in").mkdir()
        for i in range(BATCH):
            (folder / "in" / f"{seed}-{number}-{i}.ptx").write_bytes(mutant(rng, texts).encode("utf-8", "replace"))
        report = folder / "report.json"
        command = [rubia, "precompile", str(folder / "in"), "--arch", targets.WHOLE[number % len(targets.WHOLE)], "-o", str(folder / "cache"), "--jobs", "1",
                   "--timeout", str(UNIT_LIMIT), "--report", str(report)]
        problems = []
        try:
            result = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=BATCH * UNIT_LIMIT)
            if result.returncode not in (0, 1, 3):
                problems.append(f"exit status {result.returncode}: {result.stderr[-2000:]}")
            elif report.exists():
                problems += verdicts(json.loads(report.read_text()))
        except subprocess.TimeoutExpired:
            problems.append("a hang")
        if problems:
            kept = failures / f"mutants-{seed}-{number}"
            kept.mkdir(parents=True, exist_ok=True)
            for path in (folder / "in").iterdir():
                (kept / path.name).write_bytes(path.read_bytes())
            (kept / "problems").write_text("\n".join([" ".join(command), *problems]) + "\n")
        return problems


def main():
    rubia, seed, seconds, failures = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4])
    texts = seeds()
    end = time.monotonic() + seconds
    number, problems = 0, []
    while number == 0 or time.monotonic() < end:
        found = batch(rubia, number, seed, texts, failures)
        for problem in found:
            print(f"batch {number}: {problem}", flush=True)
        problems += found
        number += 1
    print(f"precompile: {number * BATCH} mutants, seed {seed}")
    print(f"{len(problems)} failures")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
