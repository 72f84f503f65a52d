#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether what check_programs.py excuses is clang's fault alone: with the construct that clang gets wrong or crashes on written differently, every program of the
list must compute on the emulator what it does on the host. So no mistake of the emulator can hide behind one of clang.

Usage: check_excuses.py --clang CLANG --runner RUN_PROGRAMS [--jobs N]
"""

import argparse
import concurrent.futures
import os
import re
import sys
import tempfile
import types

from check_programs import COMPILER_AT_FAULT, DEVICE, SETTINGS, TARGETS, WITHOUT_CRASH, Session, compilerIsAtFault, concerns


def inVectorRegister(kind, value, name):
    """Lines that make %name of a value by way of a VGPR, which no pass looks behind; none for what has more than 64 bits or is a pointer."""
    lanes, element = re.fullmatch(r"(?:<(\d+) x )?(\w+)>?", kind).groups()
    bits = int(lanes or 1) * {"half": 16, "float": 32, "double": 64, "ptr": 128}.get(element, int(element[1:]) if element[1:].isdigit() else 128)
    if bits > 64:
        return []
    word = 32 if bits <= 32 else 64
    return [f"  %{name}.b = bitcast {kind} {value} to i{bits}",
            f"  %{name}.w = zext i{bits} %{name}.b to i{word}" if bits < word else f"  %{name}.w = bitcast i{word} %{name}.b to i{word}",
            f'  %{name}.v = call i{word} asm sideeffect "", "=v,0"(i{word} %{name}.w)',
            f"  %{name}.t = trunc i{word} %{name}.v to i{bits}" if bits < word else f"  %{name}.t = bitcast i{word} %{name}.v to i{word}",
            f"  %{name} = bitcast i{bits} %{name}.t to {kind}"]


def copySign(code):
    return re.sub(r"  %(\d+) = tail call half @llvm\.copysign\.f16\(half (\S+), half (\S+)\)",
                  r"""  %c\1.a = bitcast half \2 to i16
  %c\1.b = bitcast half \3 to i16
  %c\1.m = and i16 %c\1.a, 32767
  %c\1.s = and i16 %c\1.b, -32768
  %c\1.r = or i16 %c\1.m, %c\1.s
  %\1 = bitcast i16 %c\1.r to half""", code)


def wideProduct(code):
    """A factor of 128 bits whose high half no pass knows to be zero."""
    def other(match):
        n, kind = match[1], match[2]
        high = f"  %w{n}.h = ashr i64 %w{n}, 63" if kind == "sext" else f'  %w{n}.h = call i64 asm sideeffect "", "=v,0"(i64 0)'
        return "\n".join([*inVectorRegister("i64", match[3], f"w{n}"), high, f"  %w{n}.z = zext i64 %w{n}.h to i128", f"  %w{n}.s = shl i128 %w{n}.z, 64",
                          f"  %w{n}.l = zext i64 %w{n} to i128", f"  %{n} = or i128 %w{n}.s, %w{n}.l"])
    return re.sub(r"  %(\d+) = (zext|sext) (?:nneg )?i64 (%\d+) to i128", other, code)


def signExtension(code):
    """ashr of 33 to 63 bits: the logical shift, and its highest bit spread by a subtraction."""
    def other(match):
        n, bits, value, count = match[1], int(match[2]), match[3], int(match[4])
        high = 1 << (bits - count - 1)
        return match[0] if not 32 < bits < 64 else (f"  %s{n}.l = lshr i{bits} {value}, {count}\n  %s{n}.x = xor i{bits} %s{n}.l, {high}\n"
                                                    f"  %{n} = sub i{bits} %s{n}.x, {high}")
    return re.sub(r"  %(\d+) = ashr (?:exact )?i(\d+) (%\d+), (\d+)", other, code)


def uniformPhi(code):
    """Every value that a phi takes comes in a VGPR."""
    blocks, phis = [], []
    for line in code.split("\n"):
        if line.startswith("define "):
            blocks.append([str(max(map(int, re.findall(r"%(\d+)", line)), default=-1) + 1), []])
        elif label := re.match(r"(\d+):", line):
            blocks.append([label[1], []])
        elif not blocks or line == "}":
            blocks.append([None, []])
        blocks[-1][1].append(line)
    for at, (_, lines) in enumerate(blocks):
        for i, line in enumerate(lines):
            if not (phi := re.match(r"  %(\d+) = phi (<.*?>|\w+) (.*)", line)):
                continue
            taken = dict((before, value) for value, before in re.findall(r"\[ (.+?), %(\d+) \]", phi[3]))
            made = {before: inVectorRegister(phi[2], value, f"p{phi[1]}.{before}") for before, value in taken.items()}
            if not all(made.values()):
                continue
            lines[i] = f"  %{phi[1]} = phi {phi[2]} " + ", ".join(f"[ %p{phi[1]}.{before}, %{before} ]" for _, before in re.findall(r"\[ (.+?), %(\d+) \]", phi[3]))
            first = max(k for k in range(at + 1) if blocks[k][1][0].startswith("define "))
            for before, more in made.items():
                phis.append((next(b for b in blocks[first:] if b[0] == before)[1], more))
    for lines, more in phis:
        end = max(i for i, line in enumerate(lines) if re.match(r"  (br|switch) ", line))
        lines[end:end] = more
    return "\n".join(line for _, lines in blocks for line in lines)


def unionOfOnes(code):
    """or with a constant whose high word is all ones: clear its bits, then add it."""
    def other(match):
        constant = int(match[3])
        return match[0] if not -(1 << 32) <= constant < 0 else f"  %o{match[1]} = and i64 {match[2]}, {~constant}\n  %{match[1]} = add i64 %o{match[1]}, {constant}"
    return re.sub(r"  %(\d+) = or (?:disjoint )?i64 (%\d+), (-\d+)", other, code)


def splatOfArgument(code):
    """The kernel's argument of 16 bits becomes an element of a vector by way of a VGPR."""
    return re.sub(r"  %(\d+) = insertelement (<\d+ x half>) (\S+), half (%7), i64 (\d+)",
                  lambda m: "\n".join(inVectorRegister("half", m[4], f"i{m[1]}") + [f"  %{m[1]} = insertelement {m[2]} {m[3]}, half %i{m[1]}, i64 {m[5]}"]), code)


def dpp8(code):
    """The exchange's result is wanted at once."""
    return re.sub(r"  %(\d+) = (tail call i32 @llvm\.amdgcn\.mov\.dpp8.*)",
                  lambda m: "\n".join([f"  %d{m[1]}.x = {m[2]}", f'  %{m[1]} = call i32 asm sideeffect "", "=v,0"(i32 %d{m[1]}.x)']), code)


OTHERWISE = {"E7": copySign, "E8": wideProduct, "E9": signExtension, "E10": uniformPhi, "E11": unionOfOnes, "E12": splatOfArgument, "E14": dpp8}
# What crashes AMDGPURegBankCombiner check_programs.py itself compiles differently.
CHECKED = [f for f in COMPILER_AT_FAULT if f.kind not in WITHOUT_CRASH]


def check(session, library, fault, program, target):
    """An empty string, or what is wrong."""
    cpu, _, wave = target.partition("/")
    name = f"{fault.erratum}-{program}-{cpu}{wave}-{fault.setting}"
    flags = [session.options.clang, *DEVICE, f"-mcpu={cpu}", *(["-mwavefrontsize64"] if wave else []), "-w"]
    include = f"-I{os.path.dirname(os.path.abspath(__file__))}"
    code = session.run([*flags, "-O2", "-std=c23", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing", include, "-S", "-emit-llvm", "-o", "-",
                        str(session.write(name, [program]))]).stdout
    if "define amdgpu_kernel" not in code:
        return "" # not for this target
    other = code
    for erratum in sorted({f.erratum for f in CHECKED if program in f.programs}):
        other = OTHERWISE[erratum](other)
    if other == code:
        return f"{name}: nothing to write differently"

    def compiled(text, setting):
        (session.folder / f"{name}.ll").write_text(text)
        return session.run([*flags, *setting, "-Xclang", "-disable-llvm-passes", str(session.folder / f"{name}.ll"), "-o", str(session.folder / f"{name}.co")])
    setting = [*SETTINGS[fault.setting], *(f for kind, more in WITHOUT_CRASH.items() if compilerIsAtFault(1, program, target, fault.setting, kind) for f in more)]
    strict = [s.replace("abort=2", "abort=1") for s in setting] # no fallback to SelectionDAG, where the program as it is needs none
    result = compiled(other, strict)
    if result.returncode and strict != setting:
        if compiled(code, strict).returncode == 0:
            return f"{name}: written differently, it is not compiled by GlobalISel: {result.stdout[:300]}"
        result = compiled(other, setting)
    if result.returncode:
        return f"{name}: {result.stdout[:300]}"
    result = session.run([session.options.runner, str(library), str(session.folder / f"{name}.co")])
    return "" if result.returncode == 0 else f"{name}: {result.stdout}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--clang", required=True)
    parser.add_argument("--runner", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = types.SimpleNamespace(**vars(parser.parse_args()), seed=1, skip="")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        session = Session(options, folder)
        excused = [(f, p) for f in CHECKED for p in sorted(f.programs)]
        libraries = {p: session.host(f"host{p}", [p]) for _, p in excused}
        jobs = [pool.submit(check, session, libraries[p], f, p, t) for f, p in excused for t in TARGETS if concerns(f, t)]
        wrong = [line for j in jobs if (line := j.result())]
    print("\n".join(wrong + session.failures + [f"{len(jobs)} excuses checked, {len(wrong)} do not hold"]))
    return 1 if wrong or session.failures or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
