#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's cuTENSOR, unmodified: contractions in three types, a permutation and a reduction are right.

Usage: cutensor.py RUBIA FOLDER
       cutensor.py --inside LIBRARY
"""
import array
import ctypes
import itertools
import math
import random
import struct
import sys
from ctypes import byref, c_float, c_double, c_int32, c_int64, c_uint64, c_void_p

from library import Device, Library, find, run

IDENTITY, ADD, DEFAULT_ALGORITHM, NO_JIT, DEFAULT_WORKSPACE = 1, 3, -1, 0, 2
# Its type, the type it is computed in, the type of its factors, and the bound, as a part of the largest result.
KINDS = {"f": (0, "32F", c_float, 2e-6), "d": (1, "64F", c_double, 1e-14), "e": (2, "32F", c_float, 1e-3)}


class Tensor:
    """Values by index, the last mode the nearest."""

    def __init__(self, kind, modes, extents, values=None):
        self.kind, self.modes, self.extents = kind, modes, [extents[mode] for mode in modes]
        count = math.prod(self.extents)
        data = struct.pack(f"{count}{kind}", *([0.0] * count if values is None else values))
        self.values, self.bytes = struct.unpack(f"{count}{kind}", data), data

    def strides(self):
        return [math.prod(self.extents[i + 1:]) for i in range(len(self.extents))]

    def at(self, place):
        return self.values[sum(place[mode] * stride for mode, stride in zip(self.modes, self.strides()))]

    def letters(self):
        return (c_int32 * len(self.modes))(*map(ord, self.modes))


def summed(factors, modes, extents):
    """The sum over all modes that are not among `modes` of the product of the factors, in f64."""
    inner = sorted({mode for factor in factors for mode in factor.modes} - set(modes))
    for outer in itertools.product(*(range(extents[mode]) for mode in modes)):
        place = dict(zip(modes, outer))
        yield math.fsum(math.prod(factor.at({**place, **dict(zip(inner, rest))}) for factor in factors)
                        for rest in itertools.product(*(range(extents[mode]) for mode in inner)))


class Cutensor(Library):
    def __init__(self, path):
        super().__init__(path)
        self.device, self.handle = Device(), c_void_p()
        self("cutensorCreate", byref(self.handle))

    def compute(self, kind):
        return c_void_p.in_dll(self.library, "CUTENSOR_COMPUTE_DESC_" + KINDS[kind][1])

    def descriptor(self, tensor):
        made, modes = c_void_p(), len(tensor.modes)
        extents, strides = (c_int64 * modes)(*tensor.extents), (c_int64 * modes)(*tensor.strides())
        self("cutensorCreateTensorDescriptor", self.handle, byref(made), modes, extents, strides, KINDS[tensor.kind][0], 128)
        return made

    def operands(self, *tensors):
        """Descriptor, modes and operator of each."""
        return [word for tensor in tensors for word in (self.descriptor(tensor), tensor.letters(), IDENTITY)]

    def plan(self, create, *arguments):
        """A plan and its workspace with the size of that."""
        operation, preference, plan, size = c_void_p(), c_void_p(), c_void_p(), c_uint64()
        self(create, self.handle, byref(operation), *arguments)
        self("cutensorCreatePlanPreference", self.handle, byref(preference), DEFAULT_ALGORITHM, NO_JIT)
        self("cutensorEstimateWorkspaceSize", self.handle, operation, preference, DEFAULT_WORKSPACE, byref(size))
        self("cutensorCreatePlan", self.handle, byref(plan), operation, preference, size)
        return plan, self.device.room(size.value), size

    def put(self, tensor):
        return self.device.put(array.array("B", tensor.bytes))

    def check(self, what, kind, pointer, wanted):
        wanted = list(wanted)
        got = struct.unpack(f"{len(wanted)}{kind}", self.device.get(pointer, len(wanted) * struct.calcsize(kind)))
        worst = max(abs(a - b) for a, b in zip(got, wanted)) / max(map(abs, wanted))
        assert worst <= KINDS[kind][3], (what, kind, worst)
        print("right:", what, kind, worst, flush=True)

    def contract(self, a, b, modes, extents):
        scale, target = KINDS[a.kind][2], Tensor(a.kind, modes, extents)
        c, letters = self.descriptor(target), target.letters()
        plan, work, size = self.plan("cutensorCreateContraction", *self.operands(a, b, target), c, letters, self.compute(a.kind))
        out = self.put(target)
        self("cutensorContract", self.handle, plan, byref(scale(1)), self.put(a), self.put(b), byref(scale(0)), out, out, work, size, None)
        self.check(f"{a.modes}, {b.modes} to {modes}", a.kind, out, summed((a, b), modes, extents))

    def permute(self, a, modes, extents):
        target = Tensor(a.kind, modes, extents)
        plan, _, _ = self.plan("cutensorCreatePermutation", *self.operands(a), self.descriptor(target), target.letters(), self.compute(a.kind))
        out = self.put(target)
        self("cutensorPermute", self.handle, plan, byref(c_float(2)), self.put(a), out, None)
        self.check(f"twice {a.modes} as {modes}", a.kind, out, (2 * value for value in summed((a,), modes, extents)))

    def reduce(self, a, modes, extents):
        target = Tensor(a.kind, modes, extents)
        plan, work, size = self.plan("cutensorCreateReduction", *self.operands(a, target), self.descriptor(target), target.letters(), ADD, self.compute(a.kind))
        out = self.put(target)
        self("cutensorReduce", self.handle, plan, byref(c_float(1)), self.put(a), byref(c_float(0)), out, out, work, size, None)
        self.check(f"{a.modes} summed to {modes}", a.kind, out, summed((a,), modes, extents))


def inside(path):
    draw, tensors = random.Random(1), Cutensor(path)
    print("handle", flush=True)
    extents = dict(zip("mhkn", (20, 24, 12, 30)))
    normal = lambda kind, modes: Tensor(kind, modes, extents, [draw.gauss(0, 1) for _ in range(math.prod(extents[mode] for mode in modes))])
    for kind in KINDS:
        tensors.contract(normal(kind, "mhk"), normal(kind, "knh"), "mn", extents)
        tensors.contract(normal(kind, "mhk"), normal(kind, "mnk"), "mhn", extents)
    tensors.permute(normal("f", "mhk"), "kmh", extents)
    tensors.reduce(normal("f", "mhk"), "h", extents)
    print("finished", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--inside":
        inside(sys.argv[2])
    else:
        sys.exit(run(sys.argv[1], __file__, find("cutensor-cu13", "cutensor/lib/libcutensor.so.2", sys.argv[2])))
