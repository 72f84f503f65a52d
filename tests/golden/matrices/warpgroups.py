# SPDX-License-Identifier: Apache-2.0
"""Kernels of wgmma for generate.py.

A kernel has one warpgroup, which copies A and B to shared memory as they are, so that the descriptor
says which element is where. A descriptor is the address of `tiles` in units of 16 bytes plus a
constant that holds all the rest: d50 for A, d51 for B.
"""

BITS = {"f16": 16, "bf16": 16, "tf32": 32, "e4m3": 8, "e5m2": 8, "s8": 8, "u8": 8, "b1": 1}
INTEGERS = ("s8", "u8", "b1")
FP8 = [(a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")]
FLOATS = ([("f16", "f16", "f16"), ("f32", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32")] +
          [(d, a, b) for d in ("f16", "f32") for a, b in FP8])
SIGNS = [(a, b) for a in ("s8", "u8") for b in ("s8", "u8")]
MODES = {0: 0, 128: 1, 64: 2, 32: 3}
THREADS = 128


class Layout:
    """Of a matrix in shared memory. Strides are bytes: leading and stride dimension byte offset."""

    def __init__(self, swizzle=0, major="k", leading=None, stride=None, base=0, start=0):
        self.swizzle, self.major, self.base, self.start = swizzle, major, base, start
        self.leading, self.stride = leading, stride

    def fit(self, outer, depth):
        """Strides without gaps. depth: bytes along k if k-major, else k."""
        if self.major == "k" and not self.swizzle:
            chunks = depth // 16
            default = (128, 128 * chunks)
        elif self.major == "k":
            default = (16, 8 * self.swizzle)
        elif not self.swizzle:
            default = (128, 128 * (depth // 8))
        else:
            default = (8 * self.swizzle * (depth // 8), 8 * self.swizzle)
        leading = default[0] if self.leading is None else self.leading
        stride = default[1] if self.stride is None else self.stride
        return leading, stride

    def size(self, outer, depth, bits):
        """An upper bound of the bytes in use."""
        leading, stride = self.fit(outer, depth)
        if self.major == "k":
            last = (outer - 1) // 8 * stride + (8 * self.swizzle if self.swizzle else depth // 16 * leading) + 128
        elif self.swizzle:
            last = outer * bits // 8 // self.swizzle * leading + depth // 8 * stride + 8 * self.swizzle
        else:
            last = outer * bits // 128 * stride + depth // 8 * leading + 128
        return (self.start + last + 1024 + 2047) // 2048 * 2048

    def descriptor(self, outer, depth, offset):
        leading, stride = self.fit(outer, depth)
        return ((offset + self.start) >> 4 | (leading >> 4) << 16 | (stride >> 4) << 32 | self.base << 49 |
                MODES[self.swizzle] << 62)

    def name(self):
        parts = [f"{self.major}{self.swizzle}"]
        for letter, value in (("l", self.leading), ("s", self.stride), ("b", self.base or None), ("o", self.start or None)):
            if value is not None:
                parts.append(f"{letter}{value}")
        return "_".join(parts)


def kinds_of(factor):
    return ("normal", "extreme") if factor in INTEGERS else (
        "normal", "exact", "denormal", "cancelling", "huge", "infinite", "nan")


def rule_of_c(factor, summand, kind):
    narrow = factor in ("f16", "e4m3", "e5m2") and summand == "f32"
    if kind == "cancelling" or (narrow and kind in ("huge", "denormal")):
        kind = "normal"
    return f"{summand}/{kind}"


class Kernel:
    def __init__(self, name, threads=THREADS):
        self.threads = threads
        self.header = [f"//! kernel {name}", "//! target 9.0 sm_90a", f"//! launch grid=1 block={threads}"]
        self.body = []

    def line(self, text):
        self.body.append("  " + text)

    def text(self):
        return "\n".join(self.header + ["//! body"] + self.body) + "\n\n"

    def load(self, name, count, rule, kind, first):
        """Registers in which neighbouring threads have neighbouring words of a buffer."""
        self.header.append(f"//! in {name} {count * self.threads * 4} {rule}")
        self.line(f"mad.wide.u32 d0, tid, 4, {name};")
        registers = [f"{first}{i}" for i in range(count)]
        self.line(f".reg .{kind} {first}<{count}>;")
        for i, reg in enumerate(registers):
            self.line(f"ld.global.{kind} {reg}, [d0+{i * self.threads * 4}];")
        return registers

    def copy(self, name, size, rule, offset):
        """A buffer to `tiles`."""
        self.header.append(f"//! in {name} {size} {rule}")
        self.line(f"mad.wide.u32 d0, tid, 16, {name};")
        self.line("mad.wide.u32 d1, tid, 16, d40;")
        for i in range(0, size, 2048):
            self.line(f"ld.global.v4.b32 {{r20, r21, r22, r23}}, [d0+{i}];")
            self.line(f"st.shared.v4.b32 [d1+{offset + i}], {{r20, r21, r22, r23}};")


def braces(registers):
    return "{" + ", ".join(registers) + "}"


def finish(kernel, registers, held, fold=False):
    """Stores D: every register, or one word that all of them decide."""
    if not fold:
        for reg in registers:
            kernel.line(f"st.global.{held} [o+${{slot4}}], {reg};")
        return
    kernel.line("mov.b32 r20, 0;")
    for reg in registers:
        kernel.line(f"mov.b32 r21, {reg};")
        kernel.line("mad.lo.u32 r20, r20, 0x9e3779b1, r21;")
    kernel.line("st.global.b32 [o+${slot4}], r20;")


def product(types, kind, n=8, source="s", a_layout=None, b_layout=None, scales=(1, 1), scale_d="1", sparse=None,
            tail="", fold=False, chain=1, steps=False):
    """One wgmma, or a chain of them. source: A in shared memory or registers; scale_d: the predicate
    as PTX; sparse: the selector; steps: each link has its own factors, 32 bytes further. Equal links
    with one scale_d are left out: the driver for the H100 makes one of them."""
    d, a, b = types
    a_layout, b_layout = a_layout or Layout(), b_layout or Layout()
    bits = BITS[a]
    k = 256 // bits * (1 if sparse is None else 2)
    shape = f".m64n{n}k{k}"
    middle = ".satfinite" if tail == ".satfinite" else ""
    operation = tail if tail.endswith("popc") else ""
    spelling = f"wgmma.mma_async{'.sp' if sparse is not None else ''}.sync.aligned{shape}{middle}.{d}.{a}.{b}{operation}"
    parts = [spelling.replace(".sync.aligned", ""), f"a_{a_layout.name()}" if source == "s" else "a_regs", f"b_{b_layout.name()}"]
    if sparse:
        parts.append(f"e{sparse}")
    if scales != (1, 1):
        parts.append("scales" + "".join("m" if s < 0 else "p" for s in scales))
    if scale_d != "1":
        parts.append("from0" if scale_d == "0" else "scale_" + scale_d)
    if chain > 1:
        parts.append(f"steps{chain}" if steps else f"chain{chain}")
    if fold:
        parts.append("fold")
    kernel = Kernel(".".join(parts + [kind]))
    held = "f32" if d == "f32" else "b32"
    count = n // 4 if d == "f16" else n // 2

    def depth(layout, in_bytes):
        return in_bytes if layout.major == "k" else in_bytes * 8 // bits

    depth_a, depth_b = depth(a_layout, 32), depth(b_layout, k * bits // 8)
    a_size = a_layout.size(64, depth_a, bits) if source == "s" else 0
    b_size = b_layout.size(n, depth_b, bits)
    kernel.line(f".shared .align 1024 .b8 tiles[{a_size + b_size}];")
    kernel.line("mov.u64 d40, tiles;")
    kernel.line("shr.u64 d41, d40, 4;")
    if source == "s":
        kernel.copy("a", a_size, f"{a}/{kind}", 0)
        kernel.line(f"add.s64 d50, d41, {a_layout.descriptor(64, depth_a, 0):#x};")
        of_a = "d50"
    else:
        of_a = braces(kernel.load("a", 4, f"{a}/{kind}", "b32", "ra"))
    kernel.copy("b", b_size, f"{b}/{'same' if kind == 'cancelling' else kind}", a_size)
    kernel.line(f"add.s64 d51, d41, {b_layout.descriptor(n, depth_b, a_size):#x};")
    registers = kernel.load("c", count, rule_of_c(a, d, kind), held, "w")
    operands = [braces(registers), of_a, "d51"]
    if sparse is not None:
        rule = "metadata-tf32/ordered" if a == "tf32" else "metadata/ordered"
        operands += [kernel.load("e", 1, rule, "b32", "re")[0], str(sparse)]
    predicate = scale_d
    if scale_d == "mixed":  # by chain link
        predicate = "p1"
    operands.append(predicate)
    if a not in INTEGERS:
        operands += [str(s) for s in scales]
    if bits == 16:
        if source == "s":
            operands.append("0" if a_layout.major == "k" else "1")
        operands.append("0" if b_layout.major == "k" else "1")
    kernel.line("fence.proxy.async;")
    kernel.line("bar.sync 0;")
    if scale_d == "p0":
        kernel.line("setp.lt.u32 p0, tid, 4096;")
    kernel.line("wgmma.fence.sync.aligned;")
    for link in range(chain):
        if scale_d == "mixed":
            kernel.line(f"setp.{'ge' if link % 2 == 0 else 'lt'}.u32 p1, tid, 4096;")
        if steps and link:
            kernel.line("add.s64 d50, d50, 2; add.s64 d51, d51, 2;")
        kernel.line(f"{spelling} {', '.join(operands)};")
    kernel.line("wgmma.commit_group.sync.aligned;")
    kernel.line("wgmma.wait_group.sync.aligned 0;")
    finish(kernel, registers, held, fold)
    return kernel.text()


def types_and_kinds():
    for types in FLOATS:
        for kind in kinds_of(types[1]):
            for source in "sr":
                yield product(types, kind, source=source)
    for tail in ("", ".satfinite"):
        for a, b in SIGNS:
            for kind in kinds_of(a):
                for source in "sr":
                    yield product(("s32", a, b), kind, source=source, tail=tail)
    for kind in kinds_of("b1"):
        for source in "sr":
            yield product(("s32", "b1", "b1"), kind, source=source, tail=".and.popc")


def sparse():
    for types in FLOATS:
        for kind in kinds_of(types[1]):
            for selector in range(1 if BITS[types[1]] == 8 else 2):
                for source in "sr":
                    if kind == "normal" or (source == "s" and selector == 0):
                        yield product(types, kind, source=source, sparse=selector)
    for tail in ("", ".satfinite"):
        for a, b in SIGNS:
            for kind in kinds_of(a):
                for source in "sr" if kind == "normal" else "s":
                    yield product(("s32", a, b), kind, source=source, tail=tail, sparse=0)
    for swizzle in (32, 64, 128):
        for source in "sr":
            yield product(("f32", "f16", "f16"), "exact", 24, source, Layout(swizzle), Layout(max(swizzle, 64)), sparse=0)
            yield product(("f32", "f16", "f16"), "exact", 72, source, Layout(swizzle, "mn"), Layout(swizzle, "mn"), sparse=1)
        yield product(("f32", "e4m3", "e4m3"), "exact", 24, "s", Layout(swizzle), Layout(max(swizzle, 64)), sparse=0)


def layouts():
    for types in (("f32", "f16", "f16"), ("f32", "bf16", "bf16")):
        for a_swizzle in (0, 32, 64, 128):
            for a_major in ("k", "mn"):
                b_swizzle = {0: 128, 32: 0, 64: 32, 128: 64}[a_swizzle] if types[1] == "bf16" else a_swizzle
                b_major = "k" if types[1] == "bf16" and a_major == "mn" else "mn" if types[1] == "bf16" else a_major
                yield product(types, "exact", 72, "s", Layout(a_swizzle, a_major), Layout(b_swizzle, b_major))
    for types in (("f32", "tf32", "tf32"), ("f32", "e4m3", "e5m2"), ("s32", "s8", "u8")):
        for swizzle in (32, 64, 128):
            yield product(types, "normal" if types[0] == "s32" else "exact", 24, "s", Layout(swizzle), Layout(swizzle))
    yield product(("s32", "b1", "b1"), "normal", 24, "s", Layout(128), Layout(64), tail=".and.popc")
    f16 = ("f32", "f16", "f16")
    # Parts of a row that is deeper than one instruction; other strides; rows that begin elsewhere.
    for a, b in ((Layout(128, start=32), Layout(128, start=96)), (Layout(64, start=32), Layout(64, start=32)),
                 (Layout(0, leading=2048, stride=128), Layout(0, leading=1024, stride=128)),
                 (Layout(0, leading=144, stride=432), Layout(0, leading=160, stride=352)),
                 (Layout(0, "mn", leading=1024, stride=128), Layout(0, "mn", leading=1152, stride=128)),
                 (Layout(128, stride=2048), Layout(128, stride=3072)),
                 (Layout(64, stride=1024), Layout(32, stride=512)),
                 (Layout(128, "mn", leading=4096, stride=2048), Layout(128, "mn", leading=1024, stride=4096)),
                 (Layout(64, "mn", leading=512, stride=4096), Layout(32, "mn", leading=256, stride=2048)),
                 (Layout(128, leading=512), Layout(128, leading=0)),
                 (Layout(128, start=512, base=4), Layout(128, start=128, base=1)),
                 (Layout(128, start=384, base=3), Layout(64, start=256, base=2))):
        yield product(f16, "exact", 72, "s", a, b)


def sizes():
    for n in range(8, 257, 8):
        yield product(("f32", "f16", "f16"), "exact", n, "s", Layout(128), Layout(128), fold=True)
    for n in (8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256):
        yield product(("s32", "u8", "s8"), "extreme", n, "r", Layout(), Layout(64), fold=True)
    for n in (128, 256):
        yield product(("f16", "f16", "f16"), "normal", n, "r", Layout(), Layout(128, "mn"), fold=True)
        yield product(("f32", "e4m3", "e4m3"), "normal", n, "s", Layout(64), Layout(64), fold=True)
        yield product(("f32", "tf32", "tf32"), "normal", n, "s", Layout(64), Layout(64), fold=True)


def controls():
    for types in (("f32", "f16", "f16"), ("f16", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"),
                  ("f32", "e4m3", "e5m2"), ("f16", "e5m2", "e5m2")):
        for scales in ((-1, 1), (1, -1), (-1, -1)):
            for kind in ("normal", "infinite", "nan"):
                if kind == "normal" or scales[0] == -1:
                    yield product(types, kind, scales=scales, source="r" if scales == (-1, -1) else "s")
        for scale_d in ("0", "p0", "mixed"):
            yield product(types, "normal", scale_d=scale_d, chain=4 if scale_d == "mixed" else 1)
        yield product(types, "nan", scale_d="0")
        yield product(types, "normal", chain=3, steps=True)
    for scale_d in ("0", "mixed"):
        yield product(("s32", "s8", "s8"), "extreme", scale_d=scale_d, tail=".satfinite", chain=3)
    yield product(("s32", "s8", "s8"), "extreme", scale_d="p0", tail=".satfinite", chain=3, steps=True)
    yield product(("f32", "f16", "f16"), "normal", scale_d="0", sparse=1, scales=(-1, 1))


def probe(layout, n=16, sparse_nibble=None):
    """Which 16 bits of shared memory an element of B is: element i there is i, and A has a one."""
    parts = [f"wgmma_probe.b_{layout.name()}.n{n}"] + ([f"sparse{sparse_nibble:x}"] if sparse_nibble else [])
    kernel = Kernel(".".join(parts))
    size = 32768
    depth = (64 if sparse_nibble else 32) // (1 if layout.major == "k" else 2)
    kernel.line(f".shared .align 1024 .b8 tiles[{size}];")
    kernel.line("mov.u64 d40, tiles; shr.u64 d41, d40, 4;")
    kernel.line("mad.wide.u32 d1, tid, 4, d40;")
    kernel.line("mad.lo.u32 r20, tid, 0x00020002, 0x00010000;")
    for i in range(0, size, 4 * THREADS):
        kernel.line(f"st.shared.b32 [d1+{i}], r20; add.u32 r20, r20, {2 * THREADS * 0x10001:#x};")
    kernel.line(f"add.s64 d51, d41, {layout.descriptor(n, depth, 0):#x};")
    # A[row][row % 16] = 1
    kernel.line("and.b32 r30, lane, 3; shr.u32 r31, lane, 2; shr.u32 r32, r31, 1; and.b32 r33, r31, 1;")
    kernel.line("setp.eq.u32 p1, r30, r32; setp.eq.u32 p2, r33, 1;")
    kernel.line("selp.b32 r34, 0x3c000000, 0x3c00, p2; selp.b32 r34, r34, 0, p1; mov.b32 r35, 0;")
    registers = [f"w{i}" for i in range(n // 2)]
    kernel.line(f".reg .f32 w<{n // 2}>;")
    for reg in registers:
        kernel.line(f"mov.f32 {reg}, 0f00000000;")
    kernel.line("fence.proxy.async;")
    kernel.line("bar.sync 0;")
    kernel.line("wgmma.fence.sync.aligned;")
    trans = "0" if layout.major == "k" else "1"
    if sparse_nibble:
        kernel.line(f"mov.b32 r36, 0x{sparse_nibble:x}{sparse_nibble:x}{sparse_nibble:x}{sparse_nibble:x}"
                    f"{sparse_nibble:x}{sparse_nibble:x}{sparse_nibble:x}{sparse_nibble:x};")
        kernel.line(f"wgmma.mma_async.sp.sync.aligned.m64n{n}k32.f32.f16.f16 {braces(registers)}, "
                    f"{{r34, r35, r35, r34}}, d51, r36, 0, 1, 1, 1, {trans};")
    else:
        kernel.line(f"wgmma.mma_async.sync.aligned.m64n{n}k16.f32.f16.f16 {braces(registers)}, "
                    f"{{r34, r35, r35, r34}}, d51, 1, 1, 1, {trans};")
    kernel.line("wgmma.commit_group.sync.aligned;")
    kernel.line("wgmma.wait_group.sync.aligned 0;")
    finish(kernel, registers, "f32")
    return kernel.text()


def probes():
    for base in range(8):
        yield probe(Layout(128, base=base))
        if base:
            yield probe(Layout(128, base=base, start=128 * base))
            yield probe(Layout(128, start=128 * base))
    for start in (16, 32, 48, 64, 96, 112, 160):
        yield probe(Layout(128, start=start))
    for swizzle in (64, 32, 0):
        for base, start in ((1, 0), (1, 128), (2, 256), (0, 128), (0, 256), (0, 16), (0, 32), (0, 48), (0, 80), (3, 384), (4, 512)):
            yield probe(Layout(swizzle, base=base, start=start))
    for stride in (0, 128, 512, 1152, 1040):
        yield probe(Layout(128, stride=stride))
        yield probe(Layout(64, stride=stride))
        yield probe(Layout(32, stride=stride))
    for swizzle in (32, 64, 128):
        for leading in (0, 64, 1024):
            yield probe(Layout(swizzle, leading=leading))
    for swizzle in (0, 32, 64, 128):
        for leading, stride in ((2048, 1024), (1024, 2048), (1152, 4096), (4096, 1152), (16, 32)):
            if swizzle or stride < 4096:  # else it ends beyond the memory
                yield probe(Layout(swizzle, "mn", leading, stride), 72)
        for base, start in ((1, 0), (1, 128), (0, 128), (0, 16), (0, 32), (0, 64), (4, 512), (0, 512)):
            yield probe(Layout(swizzle, "mn", base=base, start=start), 72)
    for nibble in (4, 14):
        for swizzle in (0, 32, 64, 128):
            for major in ("k", "mn"):
                yield probe(Layout(swizzle, major), 16, nibble)
            yield probe(Layout(swizzle, "k", leading=2048), 16, nibble)
            yield probe(Layout(swizzle, "k", start=32), 16, nibble)
            yield probe(Layout(swizzle, "k", start=64), 16, nibble)


def groups():
    """Two warpgroups with tiles of their own, two products in flight, and a wait for the first."""
    kernel = Kernel("wgmma_groups", 256)
    kernel.line(".shared .align 1024 .b8 tiles[16384];")
    kernel.line("mov.u64 d40, tiles; shr.u64 d41, d40, 4;")
    kernel.header.append("//! in a 16384 f16/exact")
    kernel.line("mad.wide.u32 d0, tid, 16, a; mad.wide.u32 d1, tid, 16, d40;")
    for i in range(0, 16384, 4096):
        kernel.line(f"ld.global.v4.b32 {{r20, r21, r22, r23}}, [d0+{i}];")
        kernel.line(f"st.shared.v4.b32 [d1+{i}], {{r20, r21, r22, r23}};")
    kernel.line("shr.u32 r10, tid, 7; mad.wide.u32 d50, r10, 128, d41;")  # 2 KB of A for each
    kernel.line(f"add.s64 d50, d50, {Layout().descriptor(64, 32, 0):#x};")
    for i in range(2):
        kernel.line(f"mad.wide.u32 d{51 + i}, r10, 64, d41;")
        kernel.line(f"add.s64 d{51 + i}, d{51 + i}, {Layout().descriptor(16, 32, 8192 + 4096 * i):#x};")
    first, second = [f"w{i}" for i in range(8)], [f"w{8 + i}" for i in range(8)]
    kernel.line(".reg .f32 w<16>;")
    for reg in first + second:
        kernel.line(f"mov.f32 {reg}, 0f3f800000;")
    kernel.line("fence.proxy.async;")
    kernel.line("bar.sync 0;")
    kernel.line("wgmma.fence.sync.aligned;")
    for registers, descriptor in ((first, "d51"), (second, "d52")):
        kernel.line(f"wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {braces(registers)}, d50, {descriptor}, 1, 1, 1, 0, 0;")
        kernel.line("wgmma.commit_group.sync.aligned;")
    kernel.line("wgmma.wait_group.sync.aligned 1;")
    finish(kernel, first, "f32")
    kernel.line("wgmma.wait_group.sync.aligned 0;")
    finish(kernel, second, "f32")
    return [kernel.text()]


def warpgroups():
    for part in (types_and_kinds, sparse, layouts, sizes, controls, probes, groups):
        yield from dict.fromkeys(part())  # each once
