#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Launches kernel `k` of a PTX file with 64 threads and one buffer of 256 bytes, through libcuda.so.1.

With `reset`, another context had memory of the host before, whose address is in that buffer.

Usage: launch_ptx.py FILE [reset]
"""
import ctypes
import pathlib
import sys

cuda = ctypes.CDLL("libcuda.so.1")


def check(status):
    if status:
        sys.exit(f"status {status}")


context, module, function, buffer = (ctypes.c_void_p() for _ in range(4))
check(cuda.cuInit(0))
check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
check(cuda.cuCtxSetCurrent(context))
host = ctypes.c_void_p()
if sys.argv[2:] == ["reset"]:
    check(cuda.cuMemHostAlloc(ctypes.byref(host), ctypes.c_size_t(1 << 25), 0))
    check(cuda.cuDevicePrimaryCtxReset_v2(0))
    check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0))
    check(cuda.cuCtxSetCurrent(context))
check(cuda.cuModuleLoadData(ctypes.byref(module), ctypes.c_char_p(pathlib.Path(sys.argv[1]).read_bytes())))
check(cuda.cuModuleGetFunction(ctypes.byref(function), module, b"k"))
check(cuda.cuMemAlloc_v2(ctypes.byref(buffer), ctypes.c_size_t(256)))
check(cuda.cuMemsetD8_v2(buffer, ctypes.c_ubyte(0), ctypes.c_size_t(256)))
check(cuda.cuMemcpyHtoD_v2(buffer, ctypes.byref(host), ctypes.c_size_t(8)))
parameters = (ctypes.c_void_p * 1)(ctypes.addressof(buffer))
check(cuda.cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, None, parameters, None))
check(cuda.cuCtxSynchronize())
