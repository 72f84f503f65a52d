#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate.py FOLDER: kernels of products and sums, as templates for rubia-golden.

`shapes.kernels` has one question a kernel: whether a product is fused with a sum in one form of
data flow. `random.kernels` has random straight lines, 20 a kernel, and random programs with
branches and loops, one a kernel. `free.ptx` is a module of some of the straight lines, and
`rounded.ptx` the same with `.rn` wherever that has no rounding modifier.

What is generated depends on this file alone: the recording names every kernel by its digest.
"""
import os
import sys

BITS = {"f32": "b32", "f64": "b64", "f16": "b16", "bf16": "b16", "f16x2": "b32", "bf16x2": "b32"}
SIZE = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "f16x2": 4, "bf16x2": 4}
# Inputs are random bits of which these stay, plus these: numbers from 1/2 to 8 of both signs.
INPUT = {
    "f32": (0x81FFFFFF, 0x3F000000),
    "f64": (0x803FFFFFFFFFFFFF, 0x3FE0000000000000),
    "f16": (0x8FFF, 0x3800),
    "bf16": (0x81FF, 0x3F00),
    "f16x2": (0x8FFF8FFF, 0x38003800),
    "bf16x2": (0x81FF81FF, 0x3F003F00),
}
INPUTS = "abcdeg"
ALL = tuple(BITS)
WIDE = ("f32", "f64")
HALVES = ("f16", "f16x2")
FTZ = ("f32", "f16", "f16x2")


class Random:
    """Knuth's MMIX generator: the same numbers in every version of Python."""

    def __init__(self, seed):
        self.state = seed
        for _ in range(4):
            self.below(1)

    def below(self, bound):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % bound

    def chance(self, percent):
        return self.below(100) < percent

    def choice(self, values):
        return values[self.below(len(values))]

    def weighted(self, weights):
        at = self.below(sum(weights.values()))
        for value, weight in weights.items():
            at -= weight
            if at < 0:
                return value
        raise AssertionError


# ---------- PTX text


def immediate(number, kind):
    import struct

    if kind == "f64":
        return "0d%016X" % struct.unpack("<Q", struct.pack("<d", number))[0]
    return "0f%08X" % struct.unpack("<I", struct.pack("<f", number))[0]


class Body:
    """The lines of a kernel's body for one type; registers are declared as they turn up."""

    def __init__(self, kind):
        self.kind, self.lines, self.registers = kind, [], set()

    def load_inputs(self):
        bits = BITS[self.kind]
        mask, base = INPUT[self.kind]
        raw, add = {"b16": ("h9", "s16"), "b32": ("r9", "s32"), "b64": ("d9", "s64")}[bits]
        for n, name in enumerate(INPUTS):
            self.registers.add(name)
            self.lines += [f"ld.global.{bits} {raw}, [i+{8 * n}];",
                           f"and.{bits} {raw}, {raw}, {mask:#x};",
                           f"add.{add} {raw}, {raw}, {base:#x};",
                           f"mov.{bits} {name}, {raw};"]

    def instruction(self, text):
        """`op[.modifiers] d a b`, the type left out; `op:` is taken as it is, behind the colon."""
        guard = ""
        if text.startswith("@"):
            guard, text = text.split(" ", 1)
            guard += " "
        if text.startswith(":"):
            self.lines.append(guard + text[1:] + ("" if text[-1] in ":}" else ";"))
            return
        op, *operands = text.split()
        if op == "out":
            self.lines.append(
                "st.global.%s [o+${slot%d}], %s;" % (BITS[self.kind], SIZE[self.kind], operands[0]))
            return
        operands = [immediate(float(o), self.kind) if o[0] in "0123456789-" else o for o in operands]
        self.registers.update(o for o in operands if o[0].isalpha() and o not in ("odd", "never"))
        kind = BITS[self.kind] if op in ("mov", "selp") else self.kind
        self.lines.append(f"{guard}{op}.{kind} {', '.join(operands)};")

    def text(self):
        kind = BITS[self.kind] if "16" in self.kind else self.kind
        names = ", ".join(sorted(self.registers))
        return "\n".join([f"  .reg .{kind} {names};"] + ["  " + line for line in self.lines]) + "\n"


HEAD = """\
  .reg .pred odd, never;
  .reg .b32 n;
  and.b32 r0, tid, 1;
  setp.ne.u32 odd, r0, 0;
  setp.gt.u32 never, tid, 1000;
  mov.u32 n, %nctaid.x;
  add.u32 n, n, 2;
"""


def kernel(name, body, module=""):
    return (f"//! kernel {name}\n//! launch block=16\n//! per-thread 48 random\n"
            + (f"//! module\n{module}" if module else "") + f"//! body\n{HEAD}{body}\n")


# ---------- Shapes

# Name, types, instructions separated by semicolons. L and M are labels.
SHAPES = []


def shape(name, text, kinds=ALL):
    SHAPES.append((name, kinds, [part.strip() for part in text.split(";")]))


PRODUCT = "mul p a b; "
shape("sum.first", PRODUCT + "add x p c; out x")
shape("sum.second", PRODUCT + "add x c p; out x")
shape("difference.first", PRODUCT + "sub x p c; out x")
shape("difference.second", PRODUCT + "sub x c p; out x")
shape("square", "mul p a a; add x p a; out x")
for rounding in (".rn", ".rz"):
    kinds = ALL if rounding == ".rn" else WIDE
    shape("rounded.mul" + rounding, f"mul{rounding} p a b; add x p c; out x", kinds)
    shape("rounded.add" + rounding, f"mul p a b; add{rounding} x p c; out x", kinds)
shape("two.sum", PRODUCT + "mul q c d; add x p q; out x")
shape("two.sum.swapped", PRODUCT + "mul q c d; add x q p; out x")
shape("two.difference", PRODUCT + "mul q c d; sub x p q; out x")
for stored in "pq":
    shape("two.stored." + stored, PRODUCT + f"mul q c d; add x p q; out x; out {stored}")
    shape("two.added.after." + stored, PRODUCT + f"mul q c d; add x p q; add y {stored} e; out x; out y")
    shape("two.added.before." + stored, PRODUCT + f"mul q c d; add y {stored} e; add x p q; out x; out y")
shape("two.sum.and.difference", PRODUCT + "mul q c d; add x p q; sub y p q; out x; out y")
shape("two.both.differences", PRODUCT + "mul q c d; sub x p q; sub y q p; out x; out y")
shape("three", PRODUCT + "mul q c d; mul r e g; add x p q; add y x r; out y")
shape("complex.product", PRODUCT + "mul q c d; sub x p q; mul r a d; mul s c b; add y r s; out x; out y")
for uses in (2, 3, 5, 9):
    sums = "".join(f"mul.rn k{n} {INPUTS[2 + n % 4]} {INPUTS[n // 2 % 6]}; add x{n} p k{n}; out x{n}; "
                   for n in range(uses))
    shape(f"uses.{uses}", (PRODUCT + sums).rstrip("; "), ALL if uses < 5 else ("f32",))
shape("uses.sum.and.difference", PRODUCT + "add x p c; sub y d p; out x; out y")
for name, text in {
        "stored": "out p", "multiplied": "mul y p d; out y", "squared": "mul y p p; out y",
        "rounded.sum": "add.rn y p d; out y", "fma.factor": "fma.rn y p d e; out y",
        "fma.addend": "fma.rn y d e p; out y", "max": "max y p d; out y", "abs": "abs y p; out y",
        "selected": "selp y p d odd; out y", "doubled": "add y p p; out y",
        "cancelled": "sub y p p; out y", "negation.stored": "neg y p; out y",
        "dead": "mul y p d"}.items():
    shape("also." + name, PRODUCT + f"add x p c; {text}; out x")
shape("itself.sum", PRODUCT + "add x p p; add y x c; out y")
shape("itself.difference", PRODUCT + "sub x p p; out x")
shape("negated", PRODUCT + "neg q p; add x q c; out x")
shape("negated.difference", PRODUCT + "neg q p; sub x c q; out x")
shape("negated.twice", PRODUCT + "neg q p; neg r q; add x r c; out x")
shape("negated.and.itself", PRODUCT + "neg q p; add x q c; add y p d; out x; out y")
shape("negated.stored", PRODUCT + "neg q p; add x q c; out x; out q")
shape("negated.factor", "neg q a; mul p q b; add x p c; out x")
shape("negated.addend", "neg q c; mul p a b; add x p q; out x")
shape("copied", PRODUCT + "mov q p; add x q c; out x")
shape("copied.stored", PRODUCT + "mov q p; add x p c; out x; out q")
shape("magnitude", PRODUCT + "abs q p; add x q c; out x")
for factor in ("1.0", "-1.0", "2.0", "1.1"):
    shape("times." + factor, PRODUCT + f"mul q p {factor}; add x q c; out x", WIDE)
    shape("factor." + factor, f"mul p a {factor}; add x p c; out x", WIDE)
    shape("addend." + factor, PRODUCT + f"add x p {factor}; out x", WIDE)
shape("times.one.rounded", PRODUCT + "mul.rn q p 1.0; add x q c; out x", WIDE)
shape("same.product.stored", "mul p a b; mul q a b; add x p c; out x; out q")
shape("redefined", PRODUCT + "add x p c; mul p d e; add y p g; out x; out y")
shape("redefined.factor", "mov s a; mul p s b; add.rn s s d; add x p c; out x; out s")
shape("in.place", PRODUCT + "add p p c; mul p p d; add p p e; out p")
shape("horner", "mul p a b; add q p c; mul r q b; add s r d; mul u s b; add x u e; out x")
shape("ftz.both", "mul.ftz p a b; add.ftz x p c; out x", FTZ)
shape("ftz.product", "mul.ftz p a b; add x p c; out x", FTZ)
shape("ftz.sum", "mul p a b; add.ftz x p c; out x", FTZ)
shape("ftz.one.of.two.sums", "mul.ftz p a b; add.ftz x p c; add y p d; out x; out y", FTZ)
shape("ftz.negated", "mul.ftz p a b; neg.ftz q p; add.ftz x q c; out x", FTZ)
shape("ftz.negated.plainly", "mul.ftz p a b; neg q p; add.ftz x q c; out x", FTZ)
shape("ftz.negation.stored", "mul.ftz p a b; neg.ftz q p; add.ftz x q c; out x; out q", FTZ)
shape("ftz.negation.and.itself", "mul.ftz p a b; neg.ftz q p; add.ftz x p c; out x; out q", FTZ)
shape("sat.sum", PRODUCT + "add.sat x p c; out x", FTZ)
shape("sat.difference", PRODUCT + "sub.sat x c p; out x", FTZ)
shape("sat.product", "mul.sat p a b; add x p c; out x", FTZ)
for guard in ("@odd", "@!odd"):
    shape("guarded.sum." + guard.strip("@!") + str(len(guard)), PRODUCT + f"mov x d; {guard} add x p c; out x")
shape("guarded.sum.in.place", PRODUCT + "@odd add p p c; out p")
shape("guarded.accumulation", PRODUCT + "mov x c; @odd add x p x; out x")
shape("guarded.product", "mov p d; @odd mul p a b; add x p c; out x")
shape("guarded.both", "mov x d; mov p e; @odd mul p a b; @odd add x p c; out x")
shape("guarded.two.sums", PRODUCT + "@odd add x p c; @!odd add x p d; out x")

# What stands between product and sum. Of some instructions the compiler makes blocks.
BETWEEN = {
    "label": ":L:", "branch.to.next": ":bra L; :L:", "divided.branch.to.next": "@odd :bra L; :L:",
    "branch": "@odd :bra L; out d; :L:", "exit": "@never :exit", "constant.branch":
    ":setp.eq.s32 p1, 1, 2; @p1 :bra L; out d; :L:", "store": "out d", "barrier": ":bar.sync 0",
    "membar": ":membar.cta", "fence": ":fence.acq_rel.gpu", "vote": ":vote.sync.ballot.b32 r1, odd, -1",
    "div.rn": "div.rn z d e; out z", "sqrt.rn": "sqrt.rn z d; out z", "rcp.rn": "rcp.rn z d; out z",
    "guarded.store": "@odd :st.global.b32 [o+${slot4}], tid", "guarded.move": "mov z d; @odd mov z e; out z",
    "nanosleep": ":nanosleep.u32 20",
}
for name, text in BETWEEN.items():
    shape("between." + name, PRODUCT + text + "; add x p c; out x", WIDE)

COUNTED = ":mov.b32 r1, 0; :L:; {}; :add.s32 r1, r1, 1; :setp.lt.s32 p1, r1, {}; @p1 :bra L; "
shape("loop.inside", "mov x c; mov y a; " + COUNTED.format("mul p y b; add x x p; add y y d", "n") + "out x", WIDE)
shape("loop.before", PRODUCT + "mov x c; " + COUNTED.format("add x x p", "n") + "out x", WIDE)
shape("loop.behind", "mov y a; " + COUNTED.format("add y y d; mul p y b", "n") + "add x p c; out x", WIDE)
shape("branch.dominated", PRODUCT + "mov x d; @odd :bra L; add x p c; out x; :L:; out x", WIDE)
shape("branch.here.and.there",
      PRODUCT + "add y p c; mov x y; @odd :bra L; add x p d; out y; :L:; out x; out y", WIDE)
shape("branch.of.products",
      "@odd :bra L; mul p a b; out c; :bra M; :L:; mul p d e; out d; :M:; add x p c; out x", WIDE)


def shapes():
    text = ""
    for name, kinds, instructions in SHAPES:
        for kind in kinds:
            body = Body(kind)
            body.load_inputs()
            for instruction in instructions:
                body.instruction(instruction)
            text += kernel(f"contraction.{name}.{kind}", body.text())
    functions = "".join(
        f".func (.param .b32 z) {name}(.param .b32 u, .param .b32 v)\n{{\n  .reg .f32 x, y, p;\n"
        f"  ld.param.f32 x, [u];\n  ld.param.f32 y, [v];\n{code}  st.param.f32 [z], x;\n  ret;\n}}\n"
        for name, code in (("product", "  mul.f32 x, x, y;\n"), ("sum", "  add.f32 x, x, y;\n"),
                           ("both", "  mul.f32 p, x, y;\n  add.f32 x, p, y;\n")))
    call = (":{{ .param .b32 u, v, z; st.param.f32 [u], {1}; st.param.f32 [v], {2}; "
            "call.uni (z), {0}, (u, v); ld.param.f32 {3}, [z]; }}")
    for name, instructions in {
            "returned": [call.format("product", "a", "b", "p"), "add x p c", "out x"],
            "argument": ["mul p a b", call.format("sum", "p", "c", "x"), "out x"],
            "within": [call.format("both", "a", "b", "x"), "out x"],
            "between": ["mul p a b", call.format("both", "d", "e", "y"), "add x p c", "out x", "out y"]}.items():
        body = Body("f32")
        body.load_inputs()
        for instruction in instructions:
            body.instruction(instruction)
        body.registers.update("pxy")
        text += kernel(f"contraction.call.{name}", body.text(), functions)
    return text


# ---------- Random programs

PLAIN = {"mul": 45, "add": 25, "sub": 20, "neg": 10}
SIGNS = {"mul": 35, "add": 20, "sub": 15, "neg": 18, "mov": 7, "abs": 5}
MIXED = {"mul": 40, "add": 25, "sub": 18, "neg": 6, "mov": 3, "abs": 4, "fma": 6, "selp": 4}
NUMBERS = (2.0, -1.0, 0.5, 3.0, 1.1, 1.3, -0.7)
# Name: type, straight lines, how many instructions each, weights, and chances in per cent: of .rn,
# .ftz, .sat, a number for an operand, a guard.
FAMILIES = {
    "f32": ("f32", 900, (3, 12), PLAIN, {}),
    "f32.large": ("f32", 60, (13, 40), PLAIN, {}),
    "f32.mixed": ("f32", 200, (5, 16), MIXED, {}),
    "f32.signs": ("f32", 160, (4, 14), SIGNS, {}),
    "f32.rounded": ("f32", 160, (3, 12), PLAIN, {"rn": 20}),
    "f32.ftz": ("f32", 160, (3, 12), {"mul": 50, "add": 27, "sub": 23}, {"ftz": 70}),
    "f32.sat": ("f32", 80, (3, 10), PLAIN, {"sat": 20}),
    "f32.numbers": ("f32", 160, (4, 12), PLAIN, {"number": 25}),
    "f32.guarded": ("f32", 160, (5, 14), MIXED, {"guard": 25}),
    "f64": ("f64", 200, (3, 14), PLAIN, {}),
    "f16": ("f16", 200, (3, 14), SIGNS, {}),
    "f16.ftz": ("f16", 60, (3, 12), PLAIN, {"ftz": 70}),
    "f16x2": ("f16x2", 300, (3, 16), SIGNS, {}),
    "f16x2.ftz": ("f16x2", 60, (3, 12), PLAIN, {"ftz": 70}),
    "bf16": ("bf16", 160, (3, 14), SIGNS, {}),
    "bf16x2": ("bf16x2", 200, (3, 16), SIGNS, {}),
}
SOURCES = {"mul": 2, "add": 2, "sub": 2, "fma": 3, "selp": 2}


def operation(random, weights, chances, values, target):
    """One random instruction that writes `target`, or an older register under a guard."""
    op = random.weighted(weights)
    operands = [random.choice(values[-4:] if random.chance(60) else values)
                for _ in range(SOURCES.get(op, 1))]
    arithmetic = op in ("mul", "add", "sub")
    if arithmetic and random.chance(chances.get("number", 0)):
        operands[random.below(2)] = str(random.choice(NUMBERS))
    modifiers = ".rn" if op == "fma" or (arithmetic and random.chance(chances.get("rn", 0))) else ""
    if op not in ("mov", "selp") and random.chance(chances.get("ftz", 0)):
        modifiers += ".ftz"
    if arithmetic and random.chance(chances.get("sat", 0)):
        modifiers += ".sat"
    guard = ""
    older = [value for value in values if value not in INPUTS]
    if older and random.chance(chances.get("guard", 0)):
        guard, target = random.choice(("@odd ", "@!odd ")), random.choice(older)
    if op == "selp":
        operands.append("odd")
    return f"{guard}{op}{modifiers} {target} {' '.join(operands)}", target, operands


def straight_line(random, prefix, count, weights, chances):
    values, read, lines = list(INPUTS), set(), []
    for n in range(count):
        line, target, operands = operation(random, weights, chances, values, f"{prefix}{n}")
        lines.append(line)
        read.update(operands)
        if target not in values:
            values.append(target)
    # All that nothing reads is stored, half of the sums, and some of the rest.
    sums = {line.split()[-3] for line in lines if " " in line and line.split()[0][:3] in ("add", "sub")}
    for value in values[len(INPUTS):]:
        if value not in read or random.chance(50 if value in sums else 8):
            lines.append(f"out {value}")
    return lines


def straight_lines():
    """(family, type, number of the kernel, lines) of 20 programs each."""
    for number, (family, (kind, count, (least, most), weights, chances)) in enumerate(FAMILIES.items()):
        random = Random(1000 + number)
        for first in range(0, count, 20):
            lines = []
            for n in range(20):
                lines += straight_line(random, f"v{n}x", least + random.below(most - least + 1), weights, chances)
            yield family, kind, first // 20, lines


def program(random, lines, label, depth):
    """Random branches and loops over six registers."""
    registers = [f"m{n}" for n in range(6)]
    for _ in range(3 + random.below(4)):
        what = random.below(10)
        if depth < 2 and what < 2:
            end = label()
            lines.append(f"@odd :bra {end}")
            program(random, lines, label, depth + 1)
            lines.append(f":{end}:")
        elif depth < 2 and what == 2:
            start = label()
            counter = f"r{10 + int(start[1:])}"
            lines += [f":mov.b32 {counter}, 0", f":{start}:"]
            program(random, lines, label, depth + 1)
            lines += [f":add.s32 {counter}, {counter}, 1", f":setp.lt.s32 p1, {counter}, n", f"@p1 :bra {start}"]
        else:
            line, target, _ = operation(random, PLAIN, {}, registers + list(INPUTS), random.choice(registers))
            lines.append(line)
            if random.chance(25):
                lines.append(f"out {target}")


def programs():
    for number in range(120):
        random = Random(5000 + number)
        lines = [f"mov m{n} {name}" for n, name in enumerate(INPUTS)]
        labels = iter(f"L{n}" for n in range(100))
        program(random, lines, lambda: next(labels), 0)
        lines += [f"out m{n}" for n in range(6)]
        yield number, lines


def random_kernels():
    text = ""
    for family, kind, number, lines in straight_lines():
        body = Body(kind)
        body.load_inputs()
        for line in lines:
            body.instruction(line)
        text += kernel(f"contraction.random.{family}.{number}", body.text())
    for number, lines in programs():
        body = Body("f32")
        body.load_inputs()
        for line in lines:
            body.instruction(line)
        text += kernel(f"contraction.program.{number}", body.text())
    return text


def module(rounded):
    """One straight line of each family, stored element by element."""
    text = ".version 8.0\n.target sm_90\n.address_size 64\n"
    for family, kind, number, lines in straight_lines():
        if number:
            continue
        body, offset = Body(kind), 0
        body.load_inputs()
        for line in lines:
            op = line.removeprefix("@odd ").removeprefix("@!odd ").split()[0].split(".")
            if rounded and op[0] in ("mul", "add", "sub") and "rn" not in op:
                line = line.replace(op[0], op[0] + ".rn", 1)
            body.instruction(line)
        code = body.text()
        while "${slot" in code:
            before, behind = code.split("${slot", 1)
            code = before + str(offset) + behind.split("}", 1)[1]
            offset += SIZE[kind]
        text += (f".visible .entry {family.replace('.', '_')}(.param .u64 in, .param .u64 out)\n{{\n"
                 "  .reg .b16 h9;\n  .reg .b32 tid, r0, r9;\n  .reg .b64 i, o, d9;\n"
                 "  ld.param.u64 i, [in];\n  ld.param.u64 o, [out];\n  mov.u32 tid, %tid.x;\n"
                 + HEAD + code + "  ret;\n}\n")
    return text


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for name, text in (("shapes.kernels", shapes()), ("random.kernels", random_kernels()),
                       ("free.ptx", module(False)), ("rounded.ptx", module(True))):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)


if __name__ == "__main__":
    main()
