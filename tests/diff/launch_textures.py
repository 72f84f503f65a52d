#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches kernel `k` of a PTX file with textures and a surface, through libcuda.so.1, and looks at what comes of it.

Its parameters: a texture of an array of 16 x 8 numbers, one of linear memory, a surface of another array, memory for results. The module
may have a reference `t`, which is bound to the first array. k writes the sum of both textures to the surface, and to memory what it likes.
memory: the three handles lie in memory instead, whose address is the first parameter, and a 1 behind them.
structure: they lie in a structure that is the first parameter, with a 1 behind them.
filtered: the first texture is read between texels, which have both signs.
mipmapped: the first texture has two levels, of which the second is read where x is odd. Its coordinates are normalized.
pitched: the first texture is of memory with a pitch.

Usage: launch_textures.py FILE [memory|structure|mipmapped|pitched] [filtered]
"""
import ctypes
import pathlib
import sys

cuda = ctypes.CDLL("libcuda.so.1")
mode = sys.argv[2] if len(sys.argv) > 2 else ""
is_filtered = "filtered" in sys.argv[2:]
WIDTH, HEIGHT = 16, 8
COUNT = WIDTH * HEIGHT
FLOAT, HOST, ARRAY, SURFACE = 0x20, 1, 3, 2


def check(status):
    if status:
        raise SystemExit(f"status {status}")


class Shape(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("width", "height", "depth")] + \
               [("format", ctypes.c_int), ("channels", ctypes.c_uint), ("flags", ctypes.c_uint)]


class Side(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("x", "y", "z", "level")] + \
               [("kind", ctypes.c_int)] + [(name, ctypes.c_void_p) for name in ("host", "device", "array", "reserved")] + \
               [("pitch", ctypes.c_size_t), ("height", ctypes.c_size_t)]


class Copy(ctypes.Structure):
    _fields_ = [("source", Side), ("target", Side)] + [(name, ctypes.c_size_t) for name in ("width", "height", "depth")]


class OfArray(ctypes.Structure):
    _fields_ = [("array", ctypes.c_void_p)]


class Linear(ctypes.Structure):
    _fields_ = [("address", ctypes.c_void_p), ("format", ctypes.c_int), ("channels", ctypes.c_uint), ("bytes", ctypes.c_size_t)]


class Pitched(ctypes.Structure):
    _fields_ = Linear._fields_[:3] + [(name, ctypes.c_size_t) for name in ("width", "height", "pitch")]


class Either(ctypes.Union):
    _fields_ = [("of_array", OfArray), ("linear", Linear), ("pitched", Pitched), ("words", ctypes.c_int * 32)]


class Resource(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int), ("what", Either), ("flags", ctypes.c_uint)]


class Sampler(ctypes.Structure):
    _fields_ = [("modes", ctypes.c_int * 3), ("filter", ctypes.c_int), ("flags", ctypes.c_uint), ("anisotropy", ctypes.c_uint),
                ("mipmap_filter", ctypes.c_int)] + [(name, ctypes.c_float) for name in ("bias", "least_level", "most_level")] + \
               [("rest", ctypes.c_uint * 16)]


def copy(array, numbers, is_to_array, width=WIDTH, height=HEIGHT):
    moved = Copy(width=width * 4, height=height, depth=1)
    memory, texels = (moved.source, moved.target) if is_to_array else (moved.target, moved.source)
    memory.kind, memory.host, memory.pitch, memory.height = HOST, ctypes.addressof(numbers), width * 4, height
    texels.kind, texels.array = ARRAY, array
    check(cuda.cuMemcpy3D_v2(ctypes.byref(moved)))


def make_array(flags):
    array = ctypes.c_void_p()
    check(cuda.cuArray3DCreate_v2(ctypes.byref(array), ctypes.byref(Shape(WIDTH, HEIGHT, 0, FLOAT, 1, flags))))
    return array


def mipmapped(numbers):
    """A resource of two levels, the second of the quarter of numbers, each larger by 500."""
    array, level = ctypes.c_void_p(), ctypes.c_void_p()
    check(cuda.cuMipmappedArrayCreate(ctypes.byref(array), ctypes.byref(Shape(WIDTH, HEIGHT, 0, FLOAT, 1, 0)), 2))
    for i in range(2):
        check(cuda.cuMipmappedArrayGetLevel(ctypes.byref(level), array, i))
        count = COUNT >> 2 * i
        copy(level, (ctypes.c_float * count)(*(numbers[j] + 500 * i for j in range(count))), True, WIDTH >> i, HEIGHT >> i)
    resource = Resource(kind=1)
    resource.what.of_array.array = array
    return resource


def pitched(numbers):
    """A resource of rows that lie apart."""
    memory, pitch = ctypes.c_void_p(), ctypes.c_size_t()
    check(cuda.cuMemAllocPitch_v2(ctypes.byref(memory), ctypes.byref(pitch), ctypes.c_size_t(WIDTH * 4), ctypes.c_size_t(HEIGHT), 4))
    check(cuda.cuMemsetD8_v2(memory, ctypes.c_ubyte(0x3f), ctypes.c_size_t(pitch.value * HEIGHT)))
    for y in range(HEIGHT):
        row = (ctypes.c_float * WIDTH)(*numbers[y * WIDTH:(y + 1) * WIDTH])
        check(cuda.cuMemcpyHtoD_v2(ctypes.c_void_p(memory.value + y * pitch.value), row, ctypes.c_size_t(WIDTH * 4)))
    resource = Resource(kind=3)
    resource.what.pitched = Pitched(memory, FLOAT, 1, WIDTH, HEIGHT, pitch)
    return resource


context, module, function, linear, out, table, reference = (ctypes.c_void_p() for _ in range(7))
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
text = pathlib.Path(sys.argv[1]).read_bytes()
check(cuda.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(text)))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k"))
first, second = make_array(0), make_array(SURFACE)
numbers = (ctypes.c_float * COUNT)(*(i * 0.5 for i in range(COUNT)))
expected = list(numbers)
if is_filtered:
    numbers[:] = [(100 + i * 0.5) * (-1) ** i for i in range(COUNT)]
others = (ctypes.c_float * COUNT)(*(1000.0 + i for i in range(COUNT)))
copy(first, numbers, True)
copy(second, (ctypes.c_float * COUNT)(), True)
for buffer in (linear, out, table):
    check(cuda.cuMemAlloc_v2(ctypes.byref(buffer), ctypes.c_size_t(COUNT * 4)))
    check(cuda.cuMemsetD8_v2(buffer, ctypes.c_ubyte(0), ctypes.c_size_t(COUNT * 4)))
check(cuda.cuMemcpyHtoD_v2(linear, others, ctypes.c_size_t(COUNT * 4)))

handles = (ctypes.c_uint64 * 3)()
place = [ctypes.byref(handles, 8 * i) for i in range(3)]
of_array = Resource(kind=0)
of_array.what.of_array.array = first
sampler = Sampler(filter=int(is_filtered))
of_first = of_array
if mode == "mipmapped":
    of_first = mipmapped(numbers)
    sampler = Sampler(flags=2, most_level=1)
    expected = [numbers[i] if i % 2 == 0 else numbers[i // WIDTH // 2 * (WIDTH // 2) + i % WIDTH // 2] + 500 for i in range(COUNT)]
if mode == "pitched":
    of_first = pitched(numbers)
check(cuda.cuTexObjectCreate(place[0], ctypes.byref(of_first), ctypes.byref(sampler), None))
of_memory = Resource(kind=2)
of_memory.what.linear = Linear(linear, FLOAT, 1, COUNT * 4)
check(cuda.cuTexObjectCreate(place[1], ctypes.byref(of_memory), ctypes.byref(Sampler()), None))
of_array.what.of_array.array = second
check(cuda.cuSurfObjectCreate(place[2], ctypes.byref(of_array)))
if b".texref" in text:
    check(cuda.cuModuleGetTexRef(ctypes.byref(reference), module, b"t"))
    check(cuda.cuTexRefSetArray(reference, first, 1))

values = [ctypes.c_uint64(handle) for handle in handles] + [ctypes.c_uint64(out.value)]
with_a_one = (ctypes.c_uint64 * 4)(*handles, 1)
if mode == "memory":
    check(cuda.cuMemcpyHtoD_v2(table, with_a_one, ctypes.c_size_t(32)))
    values[0] = ctypes.c_uint64(table.value)
if mode == "structure":
    values[0] = with_a_one
parameters = (ctypes.c_void_p * 4)(*map(ctypes.addressof, values))
check(cuda.cuLaunchKernel(function, HEIGHT, 1, 1, WIDTH, 1, 1, 0, None, parameters, None))
check(cuda.cuCtxSynchronize())
got = (ctypes.c_float * COUNT)()
copy(second, got, False)
if not is_filtered:
    assert list(got) == [a + b for a, b in zip(expected, others)], list(got)
print("done")
