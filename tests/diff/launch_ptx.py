#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches kernel `k` of a PTX file with 64 threads and one buffer of 256 bytes, through libcuda.so.1.

reset: another context had memory of the host before, whose address is in that buffer.
wait: the buffer is memory of the host, in which a word is set once the launch has returned.
large: the buffer has 20 MiB and some bytes, word i of which is i; the kernel is launched twice.
fork: a child comes and goes before the launch.
calls: calls a function that fails, one that cuGetProcAddress gives, and one with a floating-point number.
full: launches once more, and behind the first launch files may not grow by more than 100 bytes beyond what the capsule has.

Usage: launch_ptx.py FILE [reset|wait|wait-twice|capturing|large|fork|calls|full [CAPSULE]]
"""
import array
import ctypes
import os
import pathlib
import resource
import sys

cuda = ctypes.CDLL("libcuda.so.1")
mode = sys.argv[2] if len(sys.argv) > 2 else ""


def check(status):
    if status:
        sys.exit(f"status {status}")


context, module, function, buffer = (ctypes.c_void_p() for _ in range(4))
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
host = ctypes.c_void_p()
if mode == "reset":
    check(cuda.cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(1 << 25), 0))
    check(cuda.cuDevicePrimaryCtxReset_v2(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(pathlib.Path(sys.argv[1]).read_bytes())))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k"))
if mode.startswith("wait"):
    check(cuda.cuMemHostAlloc(ctypes.byref(buffer), ctypes.c_size_t(256), 0))
    ctypes.memset(buffer, 0, 256)
elif mode == "large":
    numbers = array.array("I", range((20 << 20) // 4 + 5))
    words = (ctypes.c_uint32 * len(numbers)).from_buffer(numbers)
    check(cuda.cuMemAlloc_v2(ctypes.byref(buffer), ctypes.c_size_t(ctypes.sizeof(words))))
    check(cuda.cuMemcpyHtoD_v2(buffer, words, ctypes.c_size_t(ctypes.sizeof(words))))
else:
    check(cuda.cuMemAlloc_v2(ctypes.byref(buffer), ctypes.c_size_t(256)))
    check(cuda.cuMemsetD8_v2(buffer, ctypes.c_ubyte(0), ctypes.c_size_t(256)))
    check(cuda.cuMemcpyHtoD_v2(buffer, ctypes.byref(host), ctypes.c_size_t(8)))
if mode == "calls":
    other, status = ctypes.c_void_p(), ctypes.c_int()
    assert cuda.cuMemAlloc_v2(ctypes.byref(other), ctypes.c_size_t(0)) == 1
    found = ctypes.c_void_p()
    check(cuda.cuGetProcAddress_v2(b"cuMemAlloc", ctypes.byref(found), 12000, ctypes.c_uint64(0), ctypes.byref(status)))
    allocate = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)(found.value)
    check(allocate(ctypes.addressof(other), 4096))
    check(cuda.cuTexRefCreate(ctypes.byref(other)))
    check(cuda.cuTexRefSetMipmapLevelBias(other, ctypes.c_float(1.5)))
if mode == "fork":
    child = os.fork()
    if not child:
        sys.exit()
    os.waitpid(child, 0)
if mode == "capturing":
    stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
    for end in ("destroyed", "unknown to it"):
        check(cuda.cuStreamCreate(ctypes.byref(stream), 1))
        check(cuda.cuStreamBeginCapture_v2(stream, 2))
        if end == "destroyed":
            cuda.cuStreamDestroy_v2(stream)
        else:
            # Another stream's end, which is refused, is not the end of this capture.
            other = ctypes.c_void_p()
            check(cuda.cuStreamCreate(ctypes.byref(other), 1))
            for _ in range(2):
                assert cuda.cuStreamEndCapture(other, ctypes.byref(graph))
    in_capture = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, in_capture, None))
    check(cuda.cuStreamEndCapture(stream, ctypes.byref(graph)))
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
for number in range(2 if mode in ("full", "large", "wait-twice") else 1):
    check(cuda.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, parameters, None))
    if mode == "full":
        limit = os.stat(sys.argv[3]).st_size + 100
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))  # Python ignores the signal
if mode.startswith("wait"):
    ctypes.memset(buffer, 1, 1)
check(cuda.cuCtxSynchronize())
print("done")
