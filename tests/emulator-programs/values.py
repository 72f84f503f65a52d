# SPDX-License-Identifier: Apache-2.0
"""The types of generated programs and random expressions over them.

An expression is a C text of exactly its type, free of side effects and of anything that C leaves open (Program.h guards it).
"""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Type:
    name: str
    width: int  # in bits, of one element
    signed: bool = False
    floating: bool = False
    elements: int = 1
    element: "Type" = None

    @property
    def vector(self):
        return self.elements > 1


def scalar(name, floating=False):
    return Type(name, int(name[1:]), name[0] == "i", floating)


INTEGERS = {n: scalar(n) for n in ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")}
WIDE = {n: scalar(n) for n in ("i128", "u128")}
FLOATS = {n: scalar(n, True) for n in ("f16", "f32", "f64")}
SCALARS = INTEGERS | WIDE | FLOATS


def vectorOf(name, n):
    e = SCALARS[name]
    return Type(f"{name}x{n}", e.width, e.signed, e.floating, n, e)


VECTORS = {t.name: t for t in (vectorOf(e, n) for e, n in (
    ("u8", 4), ("i16", 2), ("u16", 2), ("u16", 4), ("i32", 2), ("u32", 3), ("u32", 4), ("i64", 2),
    ("f16", 2), ("f16", 4), ("f32", 2), ("f32", 4), ("f64", 2)))}
TYPES = SCALARS | VECTORS

FLOAT_CONSTANTS = {
    "f16": ("0x1p-24", "0x1p-14", "0x1.ffcp15", "0x1.ffcp-1", "0x1.004p0", "0x1.8p3", "-0x1.8p-20"),
    "f32": ("0x1p-149", "0x1p-126", "0x1.fffffep127", "0x1.fffffep-1", "0x1.000002p0", "0x1p24", "0x1.5p-140", "-0x1p64"),
    "f64": ("0x1p-1074", "0x1p-1022", "0x1.fffffffffffffp1023", "0x1.0000000000001p0", "0x1p53", "0x1.5p-1060", "-0x1p100"),
}


class Scope:
    """What an expression may use: variables by type name, and whether kernel arguments are at hand."""

    def __init__(self, arguments=True):
        self.variables = {}
        self.writable = {}
        self.extra = {}  # type name -> list of functions returning an expression
        self.arguments = arguments
        self.calls = []  # (result type, argument types, name)

    def add(self, t, name, writable=True):
        self.variables.setdefault(t.name, []).append(name)
        if writable:
            self.writable.setdefault(t.name, []).append(name)

    def child(self):
        copy = Scope(self.arguments)
        copy.variables = {k: list(v) for k, v in self.variables.items()}
        copy.writable = {k: list(v) for k, v in self.writable.items()}
        copy.extra = dict(self.extra)
        copy.calls = list(self.calls)
        return copy


ARGUMENTS = {"u8": ["a->k8", "a->pair.small"], "i16": ["a->k16", "a->pair.middle"], "u32": ["a->k32", "t.id", "t.group", "t.block"],
             "i64": ["a->k64"], "f16": ["a->half"], "f32": ["a->single", "a->pair.value"], "f64": ["a->wide"]}


class Expressions:
    def __init__(self, random, types):
        self.random = random
        self.types = types  # the Types in play

    def pick(self, items):
        return self.random.choice(items)

    def chance(self, p):
        return self.random.random() < p

    # ---- leaves ----

    def constant(self, t):
        r = self.random
        if t.vector:
            return f"({t.name}){{{', '.join(self.constant(t.element) for _ in range(t.elements))}}}"
        if t.floating:
            value = r.choice(FLOAT_CONSTANTS[t.name]) if self.chance(0.4) else r.choice(
                ("0.0", "-0.0", "1.0", "-1.0", "0.5", "2.0", "-4.0", "3.0", "0.1", "-7.25", "100.0", "0.15915494"))
            return f"(({t.name}){value})"
        w = min(t.width, 64)
        value = r.choice((0, 1, -1, 2, 3, 7, 16, 63, 64, 65, -16, -17, 1 << (w - 1), (1 << (w - 1)) - 1, 0xff, 0xffff,
                          r.getrandbits(w), r.getrandbits(min(w, 16)), -r.getrandbits(w // 2)))
        return f"(({t.name})0x{value & ((1 << w) - 1):x}ull)"

    def leaf(self, scope, t):
        known = scope.variables.get(t.name, [])
        roll = self.random.random()
        if scope.arguments and roll < 0.08 and t.name in ARGUMENTS:
            return self.pick(ARGUMENTS[t.name])
        if t.name in scope.extra and roll < 0.3:
            return self.pick(scope.extra[t.name])()
        if known and roll < 0.85:
            return self.pick(known)
        if roll < 0.93:
            return self.constant(t)
        return self.fromOther(scope, t, 0)

    # ---- expressions ----

    def expression(self, scope, t, depth):
        if depth <= 0 or self.chance(0.08):
            return self.leaf(scope, t)
        roll = self.random.random()
        if roll < 0.08:
            return self.fromOther(scope, t, depth - 1)
        if roll < 0.14 and not t.vector:
            return f"({t.name})({self.condition(scope, depth - 1)} ? {self.expression(scope, t, depth - 1)} : {self.expression(scope, t, depth - 1)})"
        if t.vector:
            return self.vector(scope, t, depth)
        if t.floating:
            return self.floating(scope, t, depth)
        return self.integer(scope, t, depth)

    def condition(self, scope, depth):
        t = self.pick([x for x in self.types if not x.vector])
        left, right = self.expression(scope, t, depth), self.expression(scope, t, depth - 1)
        kind = self.random.random()
        if kind < 0.7:
            return f"({left} {self.pick(('<', '<=', '>', '>=', '==', '!='))} {right})"
        if kind < 0.85:
            return f"({self.condition(scope, depth - 1) if depth > 0 else f'({left} != {right})'} {self.pick(('&&', '||'))} ({left} < {right}))"
        if t.floating:
            return self.pick((f"({left} != {left})", f"__builtin_isinf({left})", f"__builtin_isnormal({left})",
                              f"__builtin_isfpclass({left}, 0x{self.random.getrandbits(10) & 0x3fc:x})"))
        return f"(({left} & {self.constant(t)}) != 0)"

    def integer(self, scope, t, depth):
        n, w = t.name, t.width
        e = lambda: self.expression(scope, t, depth - 1)
        count = lambda: f"(u32){self.expression(scope, self.countType(), depth - 2)}"
        if w == 128:
            return self.pick((
                lambda: f"(({n})({e()} {self.pick('+-*&|^')} {e()}))",
                lambda: f"(({n})({e()} + {e()}))",
                lambda: f"{self.pick(('shl', 'shr'))}_{n}({e()}, {count()})",
                lambda: f"{self.pick(('div', 'rem'))}_{n}({e()}, {e()})"))()
        u = "u" + n[1:]
        forms = [
            lambda: f"(({n})({e()} {self.pick('+-*')} {e()}))",
            lambda: f"(({n})({e()} {self.pick('+-*')} {e()}))",
            lambda: f"(({n})({e()} {self.pick('&|^')} {e()}))",
            lambda: f"(({n})({e()} {self.pick('&|^')} ~{e()}))",
            lambda: f"(({n})(({e()} & {e()}) | {e()}))",
            lambda: f"(({n})({e()} * {e()} + {e()}))",
            lambda: f"(({n}){self.pick('-~')}{e()})",
            lambda: f"{self.pick(('shl', 'shr'))}_{n}({e()}, {count()})",
            lambda: f"(({n})({e()} << {self.random.randrange(w)}))",
            lambda: f"(({n})(({n})({e()} << {self.random.randrange(5)}) + {e()}))",
            lambda: f"(({n})({e()} >> {self.random.randrange(w)}))",
            lambda: f"__builtin_elementwise_{self.pick(('min', 'max', 'add_sat', 'sub_sat'))}({e()}, {e()})",
            lambda: f"__builtin_elementwise_min(__builtin_elementwise_max({e()}, {e()}), {e()})",
            lambda: f"{self.pick(('addChecked', 'subChecked', 'mulChecked'))}_{n}({e()}, {e()})",
            lambda: f"{self.pick(('div', 'rem'))}_{n}({e()}, {e()})",
            lambda: f"(({n}){self.pick(('clz', 'ctz', 'popcount', 'reverse', 'swap'))}_{u}(({u}){e()}))",
            lambda: f"(({n})rotl_{u}(({u}){e()}, {count()}))",
            lambda: f"(({n})fshl_{u}(({u}){e()}, ({u}){e()}, {count()}))",
            lambda: f"(({n})field_{u}(({u}){e()}, {count()}, {count()}))",
            lambda: f"(({n}){self.condition(scope, depth - 1)})",
        ]
        if t.signed:
            forms.append(lambda: f"__builtin_elementwise_abs({e()})")
            forms.append(lambda: f"(({n})(({n})({e()} << {self.random.randrange(w)}) >> {self.random.randrange(w)}))")
        if w >= 32:
            forms.append(lambda: f"mulhi_{n}({e()}, {e()})")
        if w == 32:
            forms.append(lambda: f"mul24_{n}({e()}, {e()})")
            forms.append(lambda: f"(({n})sad_u32((u32){e()}, (u32){e()}, (u32){e()}))")
            forms.append(lambda: f"(({n})(({e()} & 0xff) << 24 | ({e()} >> 8 & 0xff00) | ({e()} & 0xff0000)))")
            forms.append(lambda: f"(({n})({e()} ^ {e()} ^ {e()}))")
        return self.pick(forms)()

    def floating(self, scope, t, depth):
        n = t.name
        e = lambda: self.expression(scope, t, depth - 1)
        whole = lambda: f"(i32){self.expression(scope, self.countType(), depth - 2)}"
        forms = [
            lambda: f"({e()} {self.pick('+-*')} {e()})",
            lambda: f"({e()} {self.pick('+-*')} {e()})",
            lambda: f"({e()} * {e()} + {e()})",
            lambda: f"fma_{n}({e()}, {e()}, {e()})",
            lambda: f"fma_{n}(-{e()}, {e()}, __builtin_elementwise_abs({e()}))",
            lambda: f"({e()} / {e()})",
            lambda: f"__builtin_elementwise_sqrt({e()})",
            lambda: f"__builtin_elementwise_{self.pick(('floor', 'ceil', 'trunc', 'roundeven', 'abs', 'canonicalize'))}({e()})",
            lambda: f"(-{e()})",
            lambda: f"sign_{n}({e()}, {e()})",
            lambda: f"{self.pick(('min', 'max'))}_{n}({e()}, {e()})",
            lambda: f"min_{n}(max_{n}({e()}, ({n})0), ({n})1)",
            lambda: f"min_{n}(max_{n}({e()}, {e()}), {e()})",
            lambda: f"(({n}){self.pick(('2.0', '4.0', '0.5'))} * {e()})",
            lambda: f"ldexp_{n}({e()}, {whole()})",
            lambda: f"mantissa_{n}({e()})",
            lambda: f"({n})exponent_{n}({e()})",
            lambda: f"({n}){self.condition(scope, depth - 1)}",
        ]
        if n != "f16":
            forms.append(lambda: f"{self.pick(('minimum', 'maximum'))}_{n}({e()}, {e()})")
        return self.pick(forms)()

    def vector(self, scope, t, depth):
        n, elements = t.name, t.elements
        e = lambda: self.expression(scope, t, depth - 1)
        forms = [
            lambda: f"({e()} {self.pick('+-*')} {e()})",
            lambda: f"({e()} * {e()} + {e()})",
            lambda: f"({n})__builtin_shufflevector({e()}, {e()}, {', '.join(str(self.random.randrange(2 * elements)) for _ in range(elements))})",
            lambda: f"({n}){{{', '.join(self.expression(scope, t.element, depth - 2) for _ in range(elements))}}}",
            lambda: f"({e()} + ({n})({self.expression(scope, t.element, depth - 2)}))",
        ]
        if t.floating:
            forms.append(lambda: f"(-{e()})")
            forms.append(lambda: f"({e()} / {e()})")
            forms.append(lambda: self.perElement(scope, t, depth, f"fma_{t.element.name}", 3))
            forms.append(lambda: self.perElement(scope, t, depth, f"{self.pick(('min', 'max'))}_{t.element.name}", 2))
        else:
            forms.append(lambda: f"({e()} {self.pick('&|^')} {e()})")
            forms.append(lambda: f"({e()} {self.pick(('<<', '>>'))} ({e()} & ({n})({t.width - 1})))")
            forms.append(lambda: f"({e()} {self.pick(('<<', '>>'))} ({n})({self.random.randrange(t.width)}))")
            forms.append(lambda: f"__builtin_elementwise_{self.pick(('min', 'max', 'add_sat', 'sub_sat'))}({e()}, {e()})")
            forms.append(lambda: f"(({n})({e()} {self.pick(('<', '>', '=='))} {e()}) & {e()})")
        return self.pick(forms)()

    def perElement(self, scope, t, depth, function, count):
        known = scope.variables.get(t.name)
        if not known:
            return self.leaf(scope, t)
        operands = [self.pick(known) for _ in range(count)]
        parts = (f"{function}({', '.join(f'{o}[{i}]' for o in operands)})" for i in range(t.elements))
        return f"({t.name}){{{', '.join(parts)}}}"

    # ---- conversions ----

    def countType(self):
        return self.pick([t for t in self.types if not t.floating and not t.vector])

    def fromOther(self, scope, t, depth):
        """A value of another type, converted."""
        sources = [x for x in self.types if x != t and x.name in scope.variables]
        if not sources:
            return self.constant(t)
        if t.vector:
            same = [x for x in sources if x.vector and x.elements == t.elements and not x.floating and not t.floating]
            if same:
                return f"__builtin_convertvector({self.expression(scope, self.pick(same), depth)}, {t.name})"
            return f"({t.name})({self.expression(scope, t.element, depth) if t.element in self.types else self.constant(t.element)})"
        s = self.pick(sources)
        value = self.expression(scope, s, depth)
        if s.vector:
            index = str(self.random.randrange(s.elements)) if self.chance(0.6) else f"(u32){self.leaf(scope, self.countType())} % {s.elements}"
            value, s = f"({value})[{index}]", s.element
        return self.convert(value, s, t)

    def convert(self, value, s, t):
        if s == t:
            return value
        if 128 in (s.width, t.width) and (s.floating or t.floating):
            if t.floating:
                return f"{t.name}_from_i64((i64){value})"
            return f"({t.name})i64_from_{s.name}({value})"
        if t.floating:
            if not s.floating and s.width == t.width and self.chance(0.3):
                return f"from_{t.name}((u{t.width}){value})"
            return f"{t.name}_from_{s.name}({value})"
        if s.floating:
            if self.chance(0.3):
                return f"(({t.name})bits_{s.name}({value}))"
            return f"{t.name}_from_{s.name}({value})"
        return f"(({t.name}){value})"

    def asWord(self, t, text):
        """A 64-bit word that shows every bit of a value (NaNs as one)."""
        if t.vector:
            result = "0ull"
            for i in range(t.elements):
                result = f"({result} * 0x9e3779b97f4a7c15ull + {self.asWord(t.element, f'{text}[{i}]')})"
            return result
        if t.floating:
            return f"(u64)bits_{t.name}({text})"
        if t.width == 128:
            return f"((u64){text} ^ rotl_u64((u64)((u128){text} >> 64), 1))"
        return f"(u64){text}"
