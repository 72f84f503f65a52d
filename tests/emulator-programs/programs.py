# SPDX-License-Identifier: Apache-2.0
"""Random programs: the statements of their phases, and the families that a program can be of.

Every statement carries a number, and printing leaves out those in `skip`: that is what reduce.py works with.
"""

import random
import zlib

from values import Expressions, FLOATS, INTEGERS, Scope, TYPES, VECTORS, WIDE

# family: types, statement weights, further options
FAMILIES = {
    "arithmetic": dict(types=list(INTEGERS), weights=dict(assign=10, branch=1)),
    "wide": dict(types=["i32", "u64", "i128", "u128"], weights=dict(assign=10, branch=1)),
    "floats": dict(types=["f32", "f64", "i32"], weights=dict(assign=10, branch=1)),
    "halves": dict(types=["f16", "f32", "i16", "u16"], weights=dict(assign=10, branch=1)),
    "conversions": dict(types=list(INTEGERS) + list(FLOATS), weights=dict(convert=8, assign=4)),
    "vectors": dict(types=["u32", "i16", "f16", "f32", "u64"], vectors=6, weights=dict(assign=10, element=3, branch=1)),
    "memory": dict(types=["u8", "i16", "u32", "u64", "f32", "f64"], vectors=1,
                   weights=dict(assign=3, array=5, bytes=5, fields=4, outputs=4, loop=1), tables=True),
    "control": dict(types=["i32", "u32", "u8", "i64", "f32"], weights=dict(assign=4, branch=5, loop=4, choose=2, array=1)),
    "calls": dict(types=["i32", "u64", "f32", "f64", "u8", "f16"], weights=dict(assign=3, call=8, branch=2, loop=1), functions=4),
    "atomics": dict(types=["u32", "i32", "u64", "i64", "f32"], phases=3, shared=True,
                    weights=dict(assign=3, branch=1, own=4, cell=4, globalCell=4)),
    "barriers": dict(types=["u32", "i64", "u8", "f32", "f64"], phases=5, shared=True,
                     weights=dict(assign=5, branch=2, exchange=4, loop=1, cell=1)),
    "lanes": dict(types=["u32", "i32", "u64", "f32"], phases=6, lanes=True, weights=dict(assign=5, branch=2)),
    "mixed": dict(types=["i32", "u32", "u64", "u8", "f32", "f64", "f16"], vectors=1, phases=3, shared=True, functions=2, lanes=True,
                  weights=dict(assign=6, branch=2, loop=2, choose=1, array=1, bytes=1, call=1, exchange=1, own=1, cell=1)),
}

SCOPES = ("__MEMORY_SCOPE_SYSTEM", "__MEMORY_SCOPE_DEVICE", "__MEMORY_SCOPE_WRKGRP", "__MEMORY_SCOPE_WVFRNT", "__MEMORY_SCOPE_SINGLE")
SHARING_SCOPES = SCOPES[:2]
ORDERS = ("__ATOMIC_RELAXED", "__ATOMIC_ACQUIRE", "__ATOMIC_RELEASE", "__ATOMIC_ACQ_REL", "__ATOMIC_SEQ_CST")

# What may happen to a cell that several threads change: operations that commute. The cell's index chooses.
CELL_OPERATIONS = (("add", "sub"), ("and",), ("or",), ("xor",), ("max",), ("min",), ("add",), ("or",))


class Statement:
    def __init__(self, number, head, body=(), tail=""):
        self.number, self.head, self.body, self.tail = number, head, list(body), tail

    def print(self, skip, indent):
        if self.number in skip:
            return ""
        space = "  " * indent
        text = f"{space}{self.head}\n" if self.head else ""
        for s in self.body:
            text += s.print(skip, indent + 1)
        if self.tail:
            text += f"{space}{self.tail}\n"
        return text


class Program:
    """One program. Its text depends on the family, the seed and the index only."""

    def __init__(self, seed, index, family=None):
        self.random = random.Random(zlib.crc32(f"{seed}/{index}".encode()))
        self.family = family or list(FAMILIES)[index % len(FAMILIES)]
        self.name = f"p{index}_{self.family}"
        options = FAMILIES[self.family]
        names = list(options["types"])
        names += self.random.sample(sorted(VECTORS), options.get("vectors", 0))
        self.types = [TYPES[n] for n in names]
        self.values = Expressions(self.random, self.types)
        self.weights = options["weights"]
        self.shared = options.get("shared", False)
        self.lanes = options.get("lanes", False)
        self.phaseCount = options.get("phases", 1)
        self.block = self.random.choice((64, 128, 192) if self.lanes else (33, 64, 100, 128, 192))
        self.counter = 0
        self.temporaries = 0
        self.depth = 4 if self.family in ("arithmetic", "floats", "halves", "wide") else 3
        self.functions = []
        self.definitions = []
        self.scope = Scope()
        self.members = []
        self.makeState()
        for i in range(options.get("functions", 0)):
            self.makeFunction(i)
        self.makeTable()
        self.phases = [self.makePhase(i) for i in range(self.phaseCount)]
        self.schedule = self.makeSchedule()

    # ---- names and numbers ----

    def number(self):
        self.counter += 1
        return self.counter

    def temporary(self):
        self.temporaries += 1
        return f"x{self.temporaries}"

    def pick(self, items):
        return self.random.choice(items)

    def statement(self, head, body=(), tail=""):
        return Statement(self.number(), head, body, tail)

    # ---- declarations ----

    def makeState(self):
        each = max(1, 12 // len(self.types)) if not self.lanes else 2
        for t in self.types:
            for i in range(min(each, 3)):
                name = f"{t.name}_{i}"
                self.members.append((t, name))
                self.scope.add(t, f"s->{name}")
        self.members = self.members[:22]

    def makeTable(self):
        self.tables = []
        if not FAMILIES[self.family].get("tables"):
            return
        for t in self.random.sample([x for x in self.types if not x.vector], 3):
            values = ", ".join(self.values.constant(t) for _ in range(16))
            self.definitions.append(f"static const {t.name} CONSTANT {self.name}_{t.name}[16] = {{{values}}};")
            self.tables.append(t.name)

    def makeFunction(self, index):
        """A function that is not inlined: straight, recursive, through a table of pointers, or with a structure by value."""
        name = f"{self.name}_f{index}"
        scalars = [t for t in self.types if not t.vector]
        result = self.pick(scalars)
        kind = ("plain", "recursive", "pointers", "many", "structure")[index % 5 if self.random.random() < 0.5 else self.random.randrange(5)]
        count = {"many": 28, "structure": 3}.get(kind, self.random.randrange(1, 6))
        parameters = [(self.pick(scalars), f"q{i}") for i in range(count)]
        scope = Scope(arguments=False)
        for t, n in parameters:
            scope.add(t, n)
        saved, self.weights = self.weights, dict(assign=5, branch=2, early=2)
        kindOfReturn = result.name
        signature = ", ".join(f"{t.name} {n}" for t, n in parameters)
        if kind == "pointers":
            lines = []
            for i in range(3):
                body = self.block_(scope.child(), 3, 0)
                value = self.values.expression(scope, result, 2)
                lines.append((f"static NOINLINE {kindOfReturn} {name}_{i}({signature}) {{", body, f"  return {value};", "}"))
            types = ", ".join(t.name for t, _ in parameters)
            table = f"static {kindOfReturn} (*const {name}_table[4])({types}) = {{{name}_0, {name}_1, {name}_2, {name}_0}};"
            self.functions.append((lines, table))
            call = lambda arguments, selector: f"{name}_table[{selector} & 3]({arguments})"
        elif kind == "structure":
            members = [(self.pick(scalars), f"m{i}") for i in range(self.random.randrange(2, 9))]
            struct = f"struct {name}_s {{ {' '.join(f'{t.name} {n};' for t, n in members)} }};"
            inner = scope.child()
            for t, n in members:
                inner.add(t, f"v.{n}")
            body = self.block_(inner, 5, 0)
            field = {n: self.values.expression(scope, t, 1) for t, n in members}
            value = self.values.expression(inner, result, 2)
            lines = [(f"static NOINLINE struct {name}_s {name}_g({signature}, struct {name}_s v) {{", body, "  return v;", "}"),
                     (f"static NOINLINE {kindOfReturn} {name}({signature}) {{", [],
                      f"  struct {name}_s v = {{{', '.join(field[n] for _, n in members)}}};\n"
                      f"  v = {name}_g({', '.join(n for _, n in parameters)}, v);\n  return {value};", "}")]
            self.functions.append((lines, None, struct))
            call = lambda arguments, selector: f"{name}({arguments})"
        else:
            inner = scope.child()
            if kind == "recursive":
                before = self.block_(inner, 2, 0)
                arguments = lambda: ", ".join(self.values.expression(scope, t, 1) for t, _ in parameters)
                twice = f"  if ({self.values.condition(scope, 1)})\n    r = ({kindOfReturn})(r + {name}_r(n - 1, {arguments()}));\n"
                text = (f"  if (n == 0)\n    return {self.values.expression(scope, result, 1)};\n"
                        f"  {kindOfReturn} r = {name}_r(n - 1, {arguments()});\n{twice}"
                        f"  return ({kindOfReturn})(r + {self.values.expression(scope, result, 1)});")
                lines = [(f"static NOINLINE {kindOfReturn} {name}_r(u32 n, {signature}) {{", before, text, "}")]
                call = lambda arguments, selector: f"{name}_r({selector} & 3, {arguments})"
            else:
                body = self.block_(inner, 5, 0, result=result)
                lines = [(f"static NOINLINE {kindOfReturn} {name}({signature}) {{", body, f"  return {self.values.expression(inner, result, 2)};", "}")]
                call = lambda arguments, selector: f"{name}({arguments})"
            self.functions.append((lines, None))
        self.weights = saved
        self.scope.calls.append((result, [t for t, _ in parameters], call))

    # ---- statements ----

    def block_(self, scope, count, level, result=None):
        return [self.anyStatement(scope, level, result) for _ in range(count)]

    def anyStatement(self, scope, level, result=None):
        weights = {k: v for k, v in self.weights.items()
                   if not (k in ("loop", "branch", "choose") and level >= 3) and not (k == "call" and (level >= 2 or not scope.calls))
                   and not (k == "early" and result is None)}
        kind = self.random.choices(list(weights), list(weights.values()))[0]
        return getattr(self, "make" + kind[0].upper() + kind[1:])(scope, level) if kind != "early" else self.makeEarly(scope, result)

    def target(self, scope, predicate=lambda t: True):
        names = [n for n in scope.writable if predicate(TYPES[n])]
        t = TYPES[self.pick(names)]
        return t, self.pick(scope.writable[t.name])

    def makeAssign(self, scope, level):
        t, name = self.target(scope)
        return self.statement(f"{name} = {self.values.expression(scope, t, self.depth)};")

    def makeConvert(self, scope, level):
        t, name = self.target(scope)
        return self.statement(f"{name} = {self.values.fromOther(scope, t, 1)};")

    def makeEarly(self, scope, result):
        return self.statement(f"if ({self.values.condition(scope, 2)}) return {self.values.expression(scope, result, 1)};")

    def makeElement(self, scope, level):
        t, name = self.target(scope, lambda t: t.vector)
        index = f"(u32){self.values.leaf(scope, self.values.countType())} % {t.elements}"
        return self.statement(f"{name}[{index}] = {self.values.expression(scope, t.element, 2)};")

    def makeBranch(self, scope, level):
        condition = self.values.condition(scope, 2)
        if self.random.random() < 0.5:
            return self.statement(f"if ({condition}) {{", self.block_(scope, 2, level + 1), "}")
        other = self.statement("} else {", self.block_(scope, 2, level + 1))
        first = self.block_(scope, 2, level + 1)
        return Statement(self.number(), f"if ({condition}) {{", first + [Dedent(other)], "}")

    def makeLoop(self, scope, level):
        i = self.temporary()
        trips = self.pick((2, 3, 5)) if level else self.pick((3, 8, 17))
        uniform = self.random.random() < 0.3
        limit = str(trips) if uniform else f"(u32){self.values.expression(scope, self.values.countType(), 1)} % {trips + 1}"
        inner = scope.child()
        if "u32" in scope.variables:
            inner.add(TYPES["u32"], i, writable=False)
        body = self.block_(inner, self.random.randrange(1, 4), level + 1)
        if self.random.random() < 0.4:
            body.insert(self.random.randrange(len(body) + 1),
                        self.statement(f"if ({self.values.condition(inner, 1)}) {self.pick(('break', 'continue'))};"))
        if self.random.random() < 0.3: # a do loop; `continue` goes to its condition
            return self.statement(f"{{ u32 {i} = 0, {i}n = {limit}; do {{", body, f"}} while (++{i} < {i}n); }}")
        return self.statement(f"for (u32 {i} = 0, {i}n = {limit}; {i} < {i}n; ++{i}) {{", body, "}")

    def makeChoose(self, scope, level):
        cases = self.random.randrange(3, 8)
        body = []
        for c in range(cases):
            end = "break;" if self.random.random() < 0.7 else "__attribute__((fallthrough));"
            label = f"case {c if self.random.random() < 0.9 else c + 100}: {{"
            body.append(self.statement(label, self.block_(scope, self.random.randrange(1, 3), level + 1), f"}} {end if c < cases - 1 else 'break;'}"))
        value = f"(u32){self.values.expression(scope, self.values.countType(), 2)} % {cases + 1}"
        return self.statement(f"switch ({value}) {{", body, "default: break; }")

    def makeArray(self, scope, level):
        """A private array that is written and read at computed places."""
        t, name = self.target(scope)
        array, i, size = self.temporary(), self.temporary(), self.pick((4, 8, 16, 24))
        index = lambda: f"(u32){self.values.expression(scope, self.values.countType(), 1)} % {size}"
        lines = [f"{t.name} {array}[{size}];",
                 f"for (u32 {i} = 0; {i} < {size}; ++{i}) {array}[{i}] = {self.values.leaf(scope, t)};"]
        for _ in range(3):
            lines.append(f"{array}[{index()}] = {self.values.expression(scope, t, 1)};")
        lines.append(f"{name} = {array}[{index()}];")
        return self.statement("{ " + " ".join(lines) + " }")

    def makeBytes(self, scope, level):
        """Typed copies in and out of bytes at any alignment, and block copies and fills."""
        t, name = self.target(scope)
        u, other = self.target(scope)
        buffer, size = self.temporary(), self.pick((24, 40, 64))
        place = lambda bytes_: f"(u32){self.values.expression(scope, self.values.countType(), 1)} % {size - bytes_ + 1}"
        count = self.random.randrange(1, 17)
        lines = [f"u8 {buffer}[{size}];", f"__builtin_memset({buffer}, {self.random.randrange(256)}, {size});",
                 f"{{ {self.stored(u, self.values.leaf(scope, u))} __builtin_memcpy({buffer} + {place(self.bytesOf(u))}, &v, sizeof(v)); }}"]
        if self.random.random() < 0.6:
            lines.append(f"__builtin_memcpy({buffer} + {place(24) if size > 24 else 0}, (const u8 *)a->in + {self.random.randrange(4000)}, {count});")
        if self.random.random() < 0.3:
            lines.append(f"__builtin_memmove({buffer} + {self.random.randrange(8)}, {buffer} + {self.random.randrange(8)}, {min(count, size - 8)});")
        lines.append(f"{{ u8 *from = {buffer} + {place(self.bytesOf(t))}; {self.readBack(t, name, 'from')} }}")
        return self.statement("{ " + " ".join(lines) + " }")

    @staticmethod
    def stored(t, value):
        """Declares `v` with the bytes of a value that may be read as another type: no bits of NaNs."""
        if not t.floating:
            return f"{t.name} v = {value};"
        if not t.vector:
            return f"u{t.width} v = bits_{t.name}({value});"
        parts = ", ".join(f"bits_{t.element.name}(x[{i}])" for i in range(t.elements))
        return f"{t.name} x = {value}; u{t.width} v[{t.elements}] = {{{parts}}};"

    @staticmethod
    def bytesOf(t):
        return t.width // 8 * (4 if t.elements == 3 else t.elements)

    def readBack(self, t, name, pointer):
        if t.floating and not t.vector:
            return f"u{t.width} w; __builtin_memcpy(&w, {pointer}, sizeof(w)); {name} = from_{t.name}(w);"
        if t.floating:
            parts = ", ".join(f"from_{t.element.name}(w[{i}])" for i in range(t.elements))
            return f"u{t.width} w[{t.elements}]; __builtin_memcpy(w, {pointer}, sizeof(w)); {name} = ({t.name}){{{parts}}};"
        return f"{t.name} w; __builtin_memcpy(&w, {pointer}, sizeof(w)); {name} = w;"

    def makeFields(self, scope, level):
        """A packed structure: fields at odd offsets and bit fields."""
        fields = [self.target(scope, lambda t: not t.vector) for _ in range(self.random.randrange(2, 5))]
        value = self.temporary()
        width = self.random.randrange(1, 31)
        members = "u8 first; " + " ".join(f"{t.name} m{i};" for i, (t, _) in enumerate(fields)) + f" u32 b0 : {width}; i32 b1 : {self.random.randrange(2, 31)}; u64 b2 : {self.random.randrange(1, 60)};"
        lines = [f"struct PACKED {{ {members} }} {value} = {{1}};"]
        for i, (t, n) in enumerate(fields):
            lines.append(f"{value}.m{i} = {self.values.expression(scope, t, 1)};")
        count = lambda: self.values.expression(scope, self.values.countType(), 1)
        lines.append(f"{value}.b0 = (u32){count()}; {value}.b1 = (i32){count()}; {value}.b2 = (u64){count()};")
        lines.append(f"if ({self.values.condition(scope, 1)}) {{ {value}.b1 += (i32){value}.b0; {value}.b2 ^= (u64){value}.first; }}")
        for i, (t, n) in enumerate(fields):
            lines.append(f"{n} = {value}.m{i};")
        t, n = self.target(scope, lambda t: not t.vector and not t.floating)
        lines.append(f"{n} ^= ({t.name})({value}.b0 + {value}.b1 + {value}.b2);")
        return self.statement("{ " + " ".join(lines) + " }")

    def makeOutputs(self, scope, level):
        """The thread's part of global memory, as a scratchpad of all widths, also unaligned."""
        t, name = self.target(scope, lambda t: not t.vector)
        u, _ = self.target(scope, lambda t: not t.vector)
        pointer = "u8" + (" GLOBAL" if self.random.random() < 0.5 else "")
        limit = "kOutputWords * 8"
        at = f"(u32){self.values.expression(scope, self.values.countType(), 1)}"
        raw = f"u{u.width}" if u.floating else u.name
        if self.random.random() < 0.5: # aligned
            place = f"*({raw}{pointer[2:]} *)(mine + {at} % ({limit} / {u.width // 8}) * {u.width // 8})"
            write = f"{{ {self.stored(u, self.values.expression(scope, u, 1))} {place} = v; }}"
        else:
            place = f"((struct unaligned{pointer[2:]} *)(mine + {at} % ({limit} - {u.width // 8} + 1)))->v"
            write = f"struct PACKED unaligned {{ {raw} v; }}; {{ {self.stored(u, self.values.expression(scope, u, 1))} {place} = v; }}"
        x = f"u{t.width}"
        read = f"{x} w = *({x}{pointer[2:]} *)(mine + {at} % ({limit} / {t.width // 8}) * {t.width // 8});"
        value = f"from_{t.name}(w)" if t.floating else f"({t.name})w"
        return self.statement(f"{{ {pointer} *mine = ({pointer} *)(a->out + (t.group * t.block + t.id) * kOutputWords); {write} {read} {name} = {value}; }}")

    def makeCall(self, scope, level):
        result, parameters, call = self.pick(scope.calls)
        arguments = ", ".join(self.values.expression(scope, t, 1) for t in parameters)
        selector = f"(u32){self.values.leaf(scope, self.values.countType())}"
        t, name = self.target(scope, lambda t: not t.vector and t.name == result.name)
        return self.statement(f"{name} = {call(arguments, selector)};")

    # ---- shared memory and atomics: only within phases ----

    def makeExchange(self, scope, level):
        """Another use of the slots that other threads wrote in the phase before."""
        t, name = self.target(scope, lambda t: t.name in ("u32", "u64", "i64", "f32", "f64", "u8"))
        array = {8: "bytes", 32: "words", 64: "wide"}[t.width]
        index = f"(u32){self.values.expression(scope, self.values.countType(), 1)} % t.block"
        place = f"l->{array}[{self.phase & 1 ^ 1}][{index}]"
        if self.random.random() < 0.3:
            place = f"*(u{t.width} *)&{place}" # a flat access
        if array == "words" and self.random.random() < 0.2: # LDS or global memory, lane by lane
            place = f"*({self.values.condition(scope, 1)} ? (u32 *)&l->words[{self.phase & 1 ^ 1}][{index}] : (u32 *)a->in + {index})"
        value = f"from_{t.name}({place})" if t.floating else f"({t.name}){place}"
        own = f"l->{array}[{self.phase & 1}][own]"
        back = f"(u{t.width})bits_{t.name}({name})" if t.floating else f"(u{t.width}){name}"
        if self.random.random() < 0.3:
            own = f"*(u{t.width} *)&{own}"
        return self.statement(f"{name} = {value}; {own} = {back};")

    def makeOwn(self, scope, level):
        """Atomics on memory of this thread only: results are determined."""
        t, name = self.target(scope, lambda t: not t.floating and not t.vector and 32 <= t.width <= 64)
        u = f"u{t.width}" if self.random.random() < 0.5 else t.name
        where = self.random.random()
        if where < 0.4:
            space, place = " LOCAL", f"&l->{'words' if t.width == 32 else 'wide'}[{self.phase & 1}][own]"
        else:
            space, place = " GLOBAL", f"a->out + (t.group * t.block + t.id) * kOutputWords + {self.random.randrange(20)}"
        if self.random.random() < 0.25:
            space = ""
        pointer = f"({u}{space} *)({place})"
        scope_, order = self.pick(SCOPES), self.pick(ORDERS)
        value = self.values.expression(scope, t, 1)
        operation = self.pick(("fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor", "fetch_min", "fetch_max", "exchange_n", "compare", "load", "float"))
        if operation == "compare":
            expected = f"__scoped_atomic_load_n({pointer}, __ATOMIC_RELAXED, {scope_})" if self.random.random() < 0.6 else value
            failure = self.pick(("__ATOMIC_RELAXED", "__ATOMIC_ACQUIRE", "__ATOMIC_SEQ_CST"))
            text = (f"{{ {u} e = ({u}){expected}; if (__scoped_atomic_compare_exchange_n({pointer}, &e, ({u}){value}, 0, {order}, {failure}, {scope_})) "
                    f"{name} = ({t.name})({name} + 1); else {name} = ({t.name})e; }}")
        elif operation == "load":
            stored = self.pick(("__ATOMIC_RELAXED", "__ATOMIC_RELEASE", "__ATOMIC_SEQ_CST"))
            loaded = self.pick(("__ATOMIC_RELAXED", "__ATOMIC_ACQUIRE", "__ATOMIC_SEQ_CST"))
            text = (f"__scoped_atomic_store_n({pointer}, ({u}){value}, {stored}, {scope_}); "
                    f"{name} = ({t.name})__scoped_atomic_load_n({pointer}, {loaded}, {scope_});")
        elif operation == "float": # floats that add up exactly: the start is a small whole number
            f = f"f{t.width}"
            change = self.pick(("add", "sub", "min", "max"))
            text = (f"{{ {f}{space} *p = ({f}{space} *)({place}); *p = ({f})((i32){name} % 1000); "
                    f"{name} = ({t.name})(i32)__scoped_atomic_fetch_{change}(p, ({f})((i32){value} % 1000), {order}, {scope_}); "
                    f"{name} ^= ({t.name})bits_{f}(*p + 0); }}")
        else:
            text = f"{name} = ({t.name})__scoped_atomic_{operation}({pointer}, ({u}){value}, {order}, {scope_});"
        return self.statement(text)

    def cellUpdate(self, pointer, index, width, scope, value, names):
        """One of the operations that commute on cell `index`, by its index."""
        operation = self.pick(CELL_OPERATIONS[index % len(CELL_OPERATIONS)])
        if operation in ("max", "min"):
            u = self.pick(("i", "u") if False else (("u",) if index & 8 else ("i",))) + str(width)
        else:
            u = f"u{width}"
        order = self.pick(ORDERS)
        typed = f"({u}{pointer[0]} *)({pointer[1]})"
        scope_ = self.pick(names)
        if self.random.random() < 0.25 and operation in ("add", "xor", "max"):
            change = {"add": "e + v", "xor": "e ^ v", "max": "e > v ? e : v"}[operation]
            return (f"{{ {u} v = ({u}){value}, e = __scoped_atomic_load_n({typed}, __ATOMIC_RELAXED, {scope_}); "
                    f"while (!__scoped_atomic_compare_exchange_n({typed}, &e, ({u})({change}), 0, {order}, __ATOMIC_RELAXED, {scope_})) ; }}")
        return f"__scoped_atomic_fetch_{operation}({typed}, ({u}){value}, {order}, {scope_});"

    def makeCell(self, scope, level):
        """A cell of LDS that the whole workgroup changes, and one of the phase before that it reads."""
        width = self.pick((32, 64))
        index = self.random.randrange(16)
        array = f"cells{width}"
        space = " LOCAL" if self.random.random() < 0.7 else ""
        t = TYPES[f"u{width}"] if f"u{width}" in scope.variables else TYPES["u32"]
        value = self.values.expression(scope, t, 1)
        update = self.cellUpdate((space, f"&l->{array}[{self.phase & 1}][{index}]"), index, width, scope, value, SCOPES[:3])
        name = self.pick(scope.writable[t.name])
        return self.statement(f"{update} {name} ^= ({t.name})l->{array}[{self.phase & 1 ^ 1}][{self.random.randrange(16)}];")

    def makeGlobalCell(self, scope, level):
        width = self.pick((32, 64))
        index = self.random.randrange(kCells // 2) + (kCells // 2 if width == 64 else 0)
        t = TYPES[f"u{width}"]
        space = " GLOBAL" if self.random.random() < 0.7 else ""
        value = self.values.expression(scope, t, 1)
        return self.statement(self.cellUpdate((space, f"a->cells + {index}"), index, width, scope, value, SHARING_SCOPES))

    # ---- phases ----

    def makePhase(self, index):
        self.phase = index
        scope = self.scope.child()
        statements = []
        scope.extra = self.inputs()
        if self.shared:
            shift = self.random.randrange(256)
            lines = [f"const u32 own = (t.id + {shift}) % t.block; (void)own;",
                     f"l->words[{index & 1}][own] = (u32){self.values.leaf(self.scope, TYPES['u32'])};",
                     f"l->wide[{index & 1}][own] = (u64){self.values.leaf(self.scope, TYPES['u32'])} * 0x123456789abcull;",
                     f"l->bytes[{index & 1}][own] = (u8){self.values.leaf(self.scope, TYPES['u32'])};"]
            statements.append(Statement(0, None, [Statement(0, line) for line in lines]))
        count = max(4, 24 // self.phaseCount) if self.depth == 3 else 14
        statements += self.block_(scope, count, 0)
        return statements

    def inputs(self):
        def read(t):
            def expression():
                index = f"(u32)({self.values.leaf(Scope(), TYPES['u32'])} + {self.random.randrange(512)}u)"
                if t.name in self.tables and self.random.random() < 0.5:
                    return f"{self.name}_{t.name}[{index} % 16]"
                return f"from_{t.name}(INPUT(u{t.width}, {index}))" if t.floating else f"INPUT({t.name}, {index})"
            return expression
        return {t.name: [read(t)] for t in self.types if not t.vector and t.width <= 64}

    def initialisation(self):
        for i, (t, name) in enumerate(self.members):
            base = f"(t.group * t.block + t.id) * {len(self.members)} + {i}"
            e = t.element if t.vector else t
            def value(k):
                if e.width == 128:
                    return f"((({e.name})INPUT(u64, {base}) << 64) ^ ({e.name})INPUT(u64, {base} * 7 + 3))"
                read = f"INPUT({'u' + str(e.width) if e.floating else e.name}, ({base}) * {t.elements} + {k})"
                return f"from_{e.name}({read})" if e.floating else read
            yield f"s->{name} = " + (f"({t.name}){{{', '.join(value(k) for k in range(t.elements))}}};" if t.vector else value(0) + ";")
        if self.shared:
            yield "if (t.id < 16)"
            yield "  for (u32 i = 0; i < 2; ++i) { l->cells32[i][t.id] = t.id * 0x01010101u; l->cells64[i][t.id] = t.id * 0x0101010101010101ull; }"
            yield "for (u32 i = 0; i < 2; ++i) { l->words[i][t.id] = t.id; l->wide[i][t.id] = t.id; l->bytes[i][t.id] = (u8)t.id; }"

    # ---- between the phases ----

    def crossing(self):
        r = self.random
        u32s = [n for t, n in self.members if t.name == "u32"]
        target = self.pick(u32s)
        x, y = self.pick(u32s), self.pick(u32s)
        rows = 0xf if r.random() < 0.6 else r.randrange(1, 16)
        banks = 0xf if r.random() < 0.6 else r.randrange(1, 16)
        bound = r.randrange(2)
        dpp = lambda control: control | rows << 12 | banks << 16 | bound << 20
        common = [lambda: r.randrange(256), lambda: 0x100 + r.randrange(1, 16), lambda: 0x110 + r.randrange(1, 16),
                  lambda: 0x120 + r.randrange(1, 16), lambda: 0x140, lambda: 0x141]
        kinds = [("bpermute", r.randrange(3)), ("bpermute", 0), ("permute", r.choice((1, 2, 7, 16, 21, 31))),
                 ("readFirstLane", 0), ("ballot", 1 << r.randrange(32)), ("countBelow", 0),
                 ("swizzle", 0x8000 | r.randrange(256)), ("swizzle", r.randrange(0x8000)),
                 ("dpp", dpp(self.pick(common)())), ("dpp", dpp(self.pick(common)())), ("dpp", dpp(self.pick(common)()))]
        # Where LLVM leaves open what an inactive lane gives: only with all lanes active.
        uniform = [("readLane", r.randrange(32))]
        special = [("dppRdna", dpp(r.choice((0x150, 0x160)) + r.randrange(16)), "RDNA"), ("dppCdna", dpp(r.choice((0x130, 0x134, 0x138, 0x13c, 0x142, 0x143, 0x150 + r.randrange(16)))), "CDNA"),
                   ("dpp8", r.randrange(1 << 24), "RDNA"), ("permlane16", r.getrandbits(32), "RDNA"), ("permlanex16", r.getrandbits(32), "RDNA")]
        mask, value = (0, 0) if r.random() < 0.5 else self.pick(((1, 1), (3, 2), (4, 0), (0xf, 5)))
        pool = kinds + (uniform if mask == 0 else [])
        if self.side:
            pool += [s[:2] for s in special if s[2] == self.side and not (s[0] in ("dpp8", "permlane16", "permlanex16") and mask)] * 3
        kind, k = self.pick(pool)
        if kind == "ballot":
            target = self.pick([n for t, n in self.members if t.name == "u64"])
        return f"CROSS({target}, {kind}, {x}, {y}, {k}u, {mask}u, {value}u);"

    def makeSchedule(self):
        """The kernel's own text: phases, barriers, loops of phases, operations across lanes."""
        self.side = self.pick((None, "RDNA", "CDNA")) if self.lanes else None
        lines = []
        lines.append(Statement(0, f"PHASE({self.name}_start);"))
        for i in range(self.phaseCount):
            lines += [Statement(0, "SYNC();")] if self.shared else []
            if i:
                if self.lanes:
                    lines += [Statement(0, f"PHASE({self.name}_guard);")]
                    lines += [self.statement(self.crossing()) for _ in range(2)]
            lines.append(Statement(0, f"PHASE({self.name}_{i});"))
        if self.shared and self.phaseCount > 2 and self.random.random() < 0.5:
            # The first two phases after the initial one again, in a loop: two, so that the buffers keep their turns.
            loop = [Statement(0, "SYNC();"), Statement(0, f"PHASE({self.name}_{self.again(1)});"), Statement(0, "SYNC();"), Statement(0, f"PHASE({self.name}_{self.again(0)});")]
            lines.append(Statement(0, f"for (u32 round = 0; round < {self.random.randrange(1, 4)}; ++round) {{", loop, "}"))
        return lines

    def again(self, parity):
        """A phase that may follow the last one: of the other buffer."""
        last = self.phaseCount - 1
        wanted = (last + 1) & 1 if parity else last & 1
        return next(i for i in (1, 2) if i & 1 == wanted)

    # ---- text ----

    def text(self, skip=frozenset()):
        n = self.name
        out = [f"// ---- {n} ----"]
        members = " ".join(f"{t.name} {name};" for t, name in self.members)
        out.append(f"struct {n}_state {{ {members} u32 guard; }};")
        shared = ("u32 words[2][kMaxThreads]; u64 wide[2][kMaxThreads]; u8 bytes[2][kMaxThreads]; u32 cells32[2][16]; u64 cells64[2][16];"
                  if self.shared else "u32 nothing;")
        out.append(f"struct {n}_shared {{ {shared} }};")
        out += self.definitions
        for lines, table, *struct in self.functions:
            out += struct
            for head, body, *tail in lines:
                out.append(head + "\n" + "".join(s.print(skip, 1) for s in body) + "\n".join(tail))
            if table:
                out.append(table)
        parameters = f"struct {n}_state *s, const struct Arguments *a, const struct Thread t, LOCAL struct {n}_shared *l"
        out.append(f"static INLINE void {n}_start({parameters}) {{\n  " + "\n  ".join(self.initialisation()) + "\n}")
        for i, phase in enumerate(self.phases):
            out.append(f"static INLINE void {n}_{i}({parameters}) {{\n" + "".join(s.print(skip, 1) for s in phase) + "}")
        out.append(f"static INLINE void {n}_end({parameters}) {{\n{self.results()}}}")
        if self.lanes:
            out.append(f"static INLINE void {n}_guard({parameters}) {{\n  s->guard = s->{next(m for t, m in self.members if t.name == 'u32')} ^ t.id;\n}}")
        if self.side:
            out.append(f"#if !DEVICE || {'!' if self.side == 'RDNA' else ''}defined(__GFX9__)")
        out.append(f"PROGRAM({n})\n" + "".join(s.print(skip, 1) for s in self.schedule) + f"  PHASE({n}_end);\nEND")
        if self.side:
            out.append("#endif")
        return "\n".join(out) + "\n"

    def results(self):
        lines = ["  u64 GLOBAL *result = a->out + (t.group * t.block + t.id) * kOutputWords;"]
        for i, (t, name) in enumerate(self.members):
            lines.append(f"  result[{i}] = {self.values.asWord(t, f's->{name}')};")
        lines.append(f"  for (u32 i = {len(self.members)}; i < kOutputWords; ++i) result[i] = i;")
        return "\n".join(lines) + "\n"


class Dedent:
    """Prints a statement one level further out: `} else {`."""

    def __init__(self, statement):
        self.inner = statement

    def print(self, skip, indent):
        return self.inner.print(skip, indent - 1)


kCells = 64


def translationUnit(programs, skip=frozenset()):
    vectors = "".join(f"typedef {t.element.name} {t.name} __attribute__((ext_vector_type({t.elements})));\n" for t in VECTORS.values())
    table = "".join(f'  {{"{p.name}", {p.name}, {p.block}}},\n' for p in programs)
    return ('#include "Program.h"\n' + vectors + "\n" + "\n".join(p.text(skip) for p in programs) +
            "\n#if !DEVICE\nconst struct { const char *name; void (*group)(const struct Arguments *, u32, u32, u32, u32); u32 block; } programs[] = {\n"
            + table + f"}};\nconst u32 programCount = {len(programs)};\n#endif\n")
