#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""generate.py FOLDER: kernels of products of matrices and of what moves matrices, as templates for
rubia-golden: every form of mma, mma.sp, wmma, wgmma, ldmatrix, stmatrix and movmatrix that sm_90 has.

A kernel has four warps, each with a tile of its own, and one instruction of interest. Its name ends
with what the factors are: normal, exact, denormal, cancelling, huge, infinite, nan (MatrixInputs.h).
"""
import os
import sys

from warpgroups import warpgroups

FLOAT_KINDS = ("normal", "exact", "denormal", "cancelling", "huge", "infinite", "nan")
INTEGER_KINDS = ("normal", "extreme")
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8,
        "s4": 4, "u4": 4, "b1": 1, "s32": 32}
INTEGERS = ("s8", "u8", "s4", "u4", "b1")
WARPS = 4
THREADS = 32 * WARPS


def kinds_of(factor):
    return INTEGER_KINDS if factor in INTEGERS else FLOAT_KINDS


def rule_of_b(factor, kind):
    return f"{factor}/" + ("same" if kind == "cancelling" else kind)


def rule_of_c(factor, summand, kind):
    """A summand of the products' size."""
    narrow = factor in ("f16", "e4m3", "e5m2") and summand == "f32"
    if kind == "cancelling" or (kind == "huge" and narrow) or (kind == "denormal" and narrow):
        kind = "normal"
    return f"{summand}/{kind}"


class Kernel:
    def __init__(self, name, target="9.0 sm_90"):
        self.header = [f"//! kernel {name}", f"//! target {target}", f"//! launch grid=1 block={THREADS}"]
        self.body = []

    def buffer(self, direction, name, size, rule):
        self.header.append(f"//! {direction} {name} {size} {rule}".rstrip())

    def line(self, text):
        self.body.append("  " + text)

    def text(self):
        return "\n".join(self.header + ["//! body"] + self.body) + "\n\n"


def register(kind, n):
    return {"f32": "f", "f64": "e"}.get(kind, "r") + str(n)


def braces(registers):
    return "{" + ", ".join(registers) + "}"


def load_fragment(kernel, name, held, count, first, rule):
    """Registers of a fragment from a buffer in which neighbouring lanes have neighbouring words."""
    size = 8 if held == "f64" else 4
    kernel.buffer("in", name, count * THREADS * size, rule)
    kernel.line(f"mad.wide.u32 d0, tid, {size}, {name};")
    registers = [register(held, first + i) for i in range(count)]
    for i, reg in enumerate(registers):
        kernel.line(f"ld.global.{held if held != 's32' else 'b32'} {reg}, [d0+{i * THREADS * size}];")
    return registers


def held_as(kind):
    return kind if kind in ("f32", "f64") else "b32"


def count_of(elements, kind):
    return max(1, elements * BITS[kind] // 32 // (64 if kind == "f64" else 32))


def first_of_d(kind):
    """There are 64 registers of f32 and f64."""
    return 0 if held_as(kind) != "b32" else 64


def store_results(kernel, registers, held):
    size = 8 if held == "f64" else 4
    for reg in registers:
        kernel.line(f"st.global.{held} [o+${{slot{size}}}], {reg};")


def product(spelling, m, n, k, a, b, c, d, kind, sparse=None, products=1, suffix=""):
    """One mma or mma.sp. `sparse`: the selector."""
    name = spelling.replace(".sync.aligned", "").replace("::", ".") + suffix + "." + kind
    kernel = Kernel(name)
    if d == "f64":
        kernel.header.append("//! nan f64")
    stored = k // 2 if sparse is not None else k
    a_registers = load_fragment(kernel, "a", held_as(a), count_of(m * stored * products, a), 16, f"{a}/{kind}")
    b_registers = load_fragment(kernel, "b", held_as(b), count_of(n * k * products, b), 32, rule_of_b(b, kind))
    c_registers = load_fragment(kernel, "c", held_as(c), count_of(m * n * products, c), 48, rule_of_c(a, c, kind))
    d_registers = [register(held_as(d), first_of_d(d) + i) for i in range(count_of(m * n * products, d))]
    operands = [braces(d_registers), braces(a_registers), braces(b_registers), braces(c_registers)]
    if sparse is not None:
        rule = "metadata-tf32/ordered" if a == "tf32" else "metadata/ordered"
        operands += [load_fragment(kernel, "e", "b32", 1, 80, rule)[0], str(sparse)]
    kernel.line(f"{spelling} {', '.join(operands)};")
    store_results(kernel, d_registers, held_as(d))
    return kernel.text()


FP8 = [(a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
SIGNS8 = [(a, b) for a in ("s8", "u8") for b in ("s8", "u8")]
SIGNS4 = [(a, b) for a in ("s4", "u4") for b in ("s4", "u4")]


def dense():
    def mma(shape, layout, middle, types, tail="", products=1):
        m, n, k = shape
        d, a, b, c = types
        spelling = f"mma.sync.aligned.m{m}n{n}k{k}.{layout}{middle}.{d}.{a}.{b}.{c}{tail}"
        for kind in kinds_of(a):
            yield product(spelling, m, n, k, a, b, c, d, kind, products=products)

    for la in ("row", "col"):
        for lb in ("row", "col"):
            for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32")):
                yield from mma((8, 8, 4), f"{la}.{lb}", "", (d, "f16", "f16", c), products=4)
    for k in (8, 16):
        yield from mma((16, 8, k), "row.col", "", ("f16", "f16", "f16", "f16"))
        yield from mma((16, 8, k), "row.col", "", ("f32", "f16", "f16", "f32"))
        yield from mma((16, 8, k), "row.col", "", ("f32", "bf16", "bf16", "f32"))
        yield from mma((16, 8, k // 2), "row.col", "", ("f32", "tf32", "tf32", "f32"))
        for a, b in FP8:
            yield from mma((16, 8, 2 * k), "row.col", "", ("f32", a, b, "f32"))
            yield from mma((16, 8, 2 * k), "row.col", "", ("f16", a, b, "f16"))
    for shape in ((8, 8, 4), (16, 8, 4), (16, 8, 8), (16, 8, 16)):
        for rounding in ("", ".rn", ".rz", ".rm", ".rp"):
            yield from mma(shape, "row.col", rounding, ("f64",) * 4)
    for saturate in ("", ".satfinite"):
        for a, b in SIGNS8:
            for shape in ((8, 8, 16), (16, 8, 16), (16, 8, 32)):
                yield from mma(shape, "row.col", saturate, ("s32", a, b, "s32"))
        for a, b in SIGNS4:
            for shape in ((8, 8, 32), (16, 8, 32), (16, 8, 64)):
                yield from mma(shape, "row.col", saturate, ("s32", a, b, "s32"))
    for operation in ("xor", "and"):
        for shape in ((8, 8, 128), (16, 8, 128), (16, 8, 256)):
            yield from mma(shape, "row.col", "", ("s32", "b1", "b1", "s32"), f".{operation}.popc")


def sparse():
    def mma(k, selectors, middle, types, orders=("", "::ordered_metadata")):
        d, a, b, c = types
        for order in orders:
            spelling = f"mma.sp{order}.sync.aligned.m16n8k{k}.row.col{middle}.{d}.{a}.{b}.{c}"
            for selector in range(selectors):
                for kind in kinds_of(a):
                    # Selectors differ in where the metadata are, whatever the numbers.
                    if selector == 0 or kind == kinds_of(a)[0]:
                        yield product(spelling, 16, 8, k, a, b, c, d, kind, selector, suffix=f".{selector}")

    for k, selectors in ((16, 4), (32, 2)):
        yield from mma(k, selectors, "", ("f16", "f16", "f16", "f16"))
        yield from mma(k, selectors, "", ("f32", "f16", "f16", "f32"))
        yield from mma(k, selectors, "", ("f32", "bf16", "bf16", "f32"))
        yield from mma(k // 2, selectors, "", ("f32", "tf32", "tf32", "f32"))
    for a, b in FP8:
        yield from mma(64, 1, "", ("f32", a, b, "f32"))
    for saturate in ("", ".satfinite"):
        for a, b in SIGNS8:
            yield from mma(32, 2, saturate, ("s32", a, b, "s32"))
            yield from mma(64, 1, saturate, ("s32", a, b, "s32"))
        for a, b in SIGNS4:
            yield from mma(64, 2, saturate, ("s32", a, b, "s32"))
            yield from mma(128, 1, saturate, ("s32", a, b, "s32"))


def whole(shape, a, c, d, layouts, kind, middle="", space="global", padding=0, types=None, operation=""):
    """wmma: three loads, the product, a store. `padding`: of the strides, in units of 16 bytes."""
    m, n, k = shape
    la, lb, lc, ld = layouts
    types = types or f"{d}.{a}.{a}.{c}"
    saturates = ".satfinite" if middle == ".satfinite" else ""
    rounding = middle if not saturates else ""
    spelled = f"wmma.mma{operation}.sync.aligned.{la}.{lb}.m{m}n{n}k{k}{rounding}.{types}{saturates}"
    name = spelled.replace(".sync.aligned", "") + f".{lc}.{ld}.{space}" + (".padded" if padding else "") + "." + kind
    kernel = Kernel(name)
    if d == "f64":
        kernel.header.append("//! nan f64")
    shape_name = f".m{m}n{n}k{k}"
    sizes, strides, offset = {}, {}, {}
    for x, rows, columns, layout, element in (("a", m, k, la, a), ("b", k, n, lb, a), ("c", m, n, lc, c), ("d", m, n, ld, d)):
        unit = 128 // BITS[element]
        stride = (columns if layout == "row" else rows) + padding * unit
        strides[x] = stride
        sizes[x] = ((rows if layout == "row" else columns) * stride * BITS[element] // 8 + 255) // 256 * 256
    kernel.buffer("in", "a", WARPS * sizes["a"], f"{a}/{kind}")
    kernel.buffer("in", "b", WARPS * sizes["b"], rule_of_b(a, kind))
    kernel.buffer("in", "c", WARPS * sizes["c"], rule_of_c(a, c, kind))
    kernel.buffer("out", "d", WARPS * sizes["d"], "")
    address, at = {}, 0
    for x in "abcd":
        offset[x] = at
        at += sizes[x] * WARPS
    kernel.line("shr.u32 r10, tid, 5;")
    if space != "global":
        kernel.line(f".shared .align 256 .b8 tiles[{at}];")
        kernel.line("mov.u64 d40, tiles;")
        kernel.line("mad.wide.u32 d1, tid, 4, d40;")
        for x in "abc":
            kernel.line(f"mad.wide.u32 d0, tid, 4, {x};")
            for i in range(0, sizes[x] * WARPS, 4 * THREADS):
                kernel.line(f"ld.global.b32 r11, [d0+{i}];")
                kernel.line(f"st.shared.b32 [d1+{offset[x] + i}], r11;")
        for i in range(0, sizes["d"] * WARPS, 4 * THREADS):  # what is not written stays the same
            kernel.line(f"mov.b32 r11, 0xa5a5a5a5; st.shared.b32 [d1+{offset['d'] + i}], r11;")
        kernel.line("bar.sync 0;")
        if space == "generic":
            kernel.line("cvta.shared.u64 d40, d40;")
    for i, x in enumerate("abcd"):
        address[x] = f"d{20 + i}"
        if space == "global":
            kernel.line(f"mad.wide.u32 {address[x]}, r10, {sizes[x]}, {x};")
        else:
            kernel.line(f"mad.wide.u32 {address[x]}, r10, {sizes[x]}, d40;")
            kernel.line(f"add.u64 {address[x]}, {address[x]}, {offset[x]};")
    dotted = "" if space == "generic" else f".{space}"

    def registers_of(x, element, rows, columns, first):
        if x in "ab" and element == "f16":
            count = 8
        else:
            count = count_of(rows * columns, element)
        return [register(held_as(element), first + i) for i in range(count)]

    fragments = {"a": registers_of("a", a, m, k, 16), "b": registers_of("b", a, k, n, 32),
                 "c": registers_of("c", c, m, n, 48), "d": registers_of("d", d, m, n, first_of_d(d))}
    layouts_of = dict(zip("abcd", (la, lb, lc, ld)))
    elements = {"a": a, "b": a, "c": c, "d": d}

    def stride_of(x):
        if not padding and x in "ac":
            return ""  # the default
        kernel.line(f"mov.u32 r12, {strides[x]};")
        return ", r12"

    for x in "abc":
        stride = stride_of(x)
        kernel.line(f"wmma.load.{x}.sync.aligned.{layouts_of[x]}{shape_name}{dotted}.{elements[x]} "
                    f"{braces(fragments[x])}, [{address[x]}]{stride};")
    kernel.line(f"{spelled} {', '.join(braces(fragments[x]) for x in 'dabc')};")
    stride = stride_of("d")
    kernel.line(f"wmma.store.d.sync.aligned.{ld}{shape_name}{dotted}.{d} [{address['d']}], {braces(fragments['d'])}{stride};")
    if space != "global":
        kernel.line("bar.sync 0;")
        kernel.line("mad.wide.u32 d0, tid, 4, d;")
        for i in range(0, sizes["d"] * WARPS, 4 * THREADS):
            kernel.line(f"ld.shared.b32 r11, [d1+{offset['d'] + i}];")
            kernel.line(f"st.global.b32 [d0+{i}], r11;")
    return kernel.text()


def wmma():
    shapes = ((16, 16, 16), (8, 32, 16), (32, 8, 16))
    spaces = ("global", "shared", "generic")
    number = 0
    for la in ("row", "col"):
        for lb in ("row", "col"):
            for shape in shapes:
                for d in ("f16", "f32"):
                    for c in ("f16", "f32"):
                        for kind in FLOAT_KINDS if (la, lb) == ("row", "col") else ("normal", "exact"):
                            number += 1
                            yield whole(shape, "f16", c, d, (la, lb, ("row", "col")[number % 2], ("row", "col")[number // 2 % 2]),
                                        kind, space=spaces[number % 3], padding=number // 3 % 2, types=f"{d}.{c}")
                for kind in FLOAT_KINDS if (la, lb) == ("row", "col") else ("normal", "exact"):
                    number += 1
                    yield whole(shape, "bf16", "f32", "f32", (la, lb, ("row", "col")[number % 2], ("row", "col")[number // 2 % 2]),
                                kind, space=spaces[number % 3], padding=number // 3 % 2)
                for a in ("s8", "u8"):
                    for saturate in ("", ".satfinite"):
                        for kind in INTEGER_KINDS:
                            number += 1
                            yield whole(shape, a, "s32", "s32", (la, lb, ("row", "col")[number % 2], ("row", "col")[number // 2 % 2]),
                                        kind, saturate, spaces[number % 3], number // 3 % 2)
            for kind in FLOAT_KINDS:
                number += 1
                yield whole((16, 16, 8), "tf32", "f32", "f32", (la, lb, ("row", "col")[number % 2], ("row", "col")[number // 2 % 2]),
                            kind, space=spaces[number % 3], padding=number // 3 % 2)
                for rounding in ("", ".rn", ".rz", ".rm", ".rp"):
                    number += 1
                    if kind in ("normal", "exact") or (la, lb) == ("row", "col"):
                        yield whole((8, 8, 4), "f64", "f64", "f64", (la, lb, ("row", "col")[number % 2], ("row", "col")[number // 2 % 2]),
                                    kind, rounding, spaces[number % 3], number // 3 % 2)
    for lc in ("row", "col"):
        for kind in INTEGER_KINDS:
            for a in ("s4", "u4"):
                for saturate in ("", ".satfinite"):
                    number += 1
                    yield whole((8, 8, 32), a, "s32", "s32", ("row", "col", lc, "row"), kind, saturate, spaces[number % 3], number % 2)
            for operation in ("xor", "and"):
                number += 1
                yield whole((8, 8, 128), "b1", "s32", "s32", ("row", "col", "row", lc), kind, "", spaces[number % 3], number % 2,
                            operation=f".{operation}.popc")


def moves():
    """ldmatrix, stmatrix, movmatrix."""
    tile = 512 * WARPS
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            for space in ("shared", "generic"):
                dotted = ".shared" if space == "shared" else ""
                # Each lane's row: in the usual order, and any order.
                for order, factor, add in (("straight", 1, 0), ("shuffled", 11, 5)):
                    for op in ("ldmatrix", "stmatrix"):
                        kernel = Kernel(f"{op}.x{count}{trans}.{space}.{order}")
                        kernel.line(f".shared .align 128 .b8 rows[{tile}];")
                        kernel.line("mov.u64 d40, rows;")
                        kernel.line("mad.wide.u32 d1, tid, 4, d40;")
                        kernel.buffer("in", "a", tile, "random")
                        kernel.line("mad.wide.u32 d0, tid, 4, a;")
                        for i in range(0, tile, 4 * THREADS):
                            kernel.line(f"ld.global.b32 r11, [d0+{i}];")
                            kernel.line(f"st.shared.b32 [d1+{i}], r11;")
                        kernel.line("bar.sync 0;")
                        if space == "generic":
                            kernel.line("cvta.shared.u64 d41, d40;")
                        else:
                            kernel.line("mov.u64 d41, d40;")
                        kernel.line("shr.u32 r10, tid, 5;")
                        kernel.line(f"mad.lo.u32 r12, lane, {factor}, {add};")
                        kernel.line("and.b32 r12, r12, 31;")
                        kernel.line("mad.wide.u32 d41, r10, 512, d41;")
                        kernel.line("mad.wide.u32 d41, r12, 16, d41;")
                        registers = [f"r{16 + i}" for i in range(count)]
                        if op == "ldmatrix":
                            kernel.line(f"ldmatrix.sync.aligned.m8n8.x{count}{trans}{dotted}.b16 {braces(registers)}, [d41];")
                            store_results(kernel, registers, "b32")
                        else:
                            kernel.buffer("out", "d", tile, "")
                            registers = load_fragment(kernel, "b", "b32", count, 16, "random")
                            kernel.line(f"stmatrix.sync.aligned.m8n8.x{count}{trans}{dotted}.b16 [d41], {braces(registers)};")
                            kernel.line("bar.sync 0;")
                            kernel.line("mad.wide.u32 d0, tid, 4, d;")
                            for i in range(0, tile, 4 * THREADS):
                                kernel.line(f"ld.shared.b32 r11, [d1+{i}];")
                                kernel.line(f"st.global.b32 [d0+{i}], r11;")
                        yield kernel.text()
    kernel = Kernel("movmatrix")
    registers = load_fragment(kernel, "a", "b32", 1, 16, "random")
    kernel.line(f"movmatrix.sync.aligned.m8n8.trans.b16 r20, {registers[0]};")
    store_results(kernel, ["r20"], "b32")
    yield kernel.text()


def main(folder):
    os.makedirs(folder, exist_ok=True)
    for name, kernels in (("mma", dense()), ("mma_sp", sparse()), ("wmma", wmma()), ("wgmma", warpgroups()), ("moves", moves())):
        kernels = list(kernels)
        with open(os.path.join(folder, name + ".kernels"), "w") as file:
            file.write("".join(kernels))
        print(name, len(kernels), file=sys.stderr)


main(sys.argv[1])
