#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's cuBLAS, unmodified, with one handle on ten streams: products whose kernels share semaphores in the handle's workspace.

The library is that of RUBIA_CUBLAS_LIBRARY, else one that is installed, else one of the Python package index. 77: there is none.

Usage: streams.py RUBIA FOLDER
       streams.py LIBRARY        under `rubia run`
"""
import array
import ctypes
import glob
import os
import pathlib
import subprocess
import sys
import time
import zipfile

STREAMS, ROUNDS = 10, 2
M, N, K = 64, 64, 2048  # few tiles and a long sum, which several CTAs share


def find(folder):
    for path in (os.environ.get("RUBIA_CUBLAS_LIBRARY"), *glob.glob("/usr/local/cuda/lib64/libcublas.so.1?")):
        if path and os.path.exists(path):
            return path
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if not list(folder.glob("*.whl")):
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "nvidia-cublas-cu12"])
    for wheel in folder.glob("*.whl"):
        with zipfile.ZipFile(wheel) as opened:
            opened.extractall(folder, [name for name in opened.namelist() if ".so." in name])
    found = list(folder.rglob("libcublas.so.1?"))
    if not found:
        print("no libcublas.so, and none can be downloaded")
        sys.exit(77)
    return str(found[0])


class Library:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)

    def __getattr__(self, name):
        def call(*arguments):
            code = getattr(self.library, name)(*arguments)
            if code:
                sys.exit(f"{name}: {code}")
        return call


def multiply(path):
    ctypes.CDLL(str(next(pathlib.Path(path).parent.glob("libcublasLt.so.1?"))), ctypes.RTLD_GLOBAL)
    cuda, blas = Library("libcuda.so.1"), Library(path)
    context, handle = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.cuInit(0)
    cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    cuda.cuCtxSetCurrent(context)
    blas.cublasCreate_v2(ctypes.byref(handle))

    def memory(values):
        address, data = ctypes.c_void_p(), array.array("f", values)
        cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * len(data)))
        cuda.cuMemcpyHtoD_v2(address, data.tobytes(), ctypes.c_size_t(4 * len(data)))
        return address

    # Small integers, so that sums are exact in any order.
    left = [(7 * i + i // M) % 5 - 2 for i in range(M * K)]
    right = [(3 * i + i // K) % 7 - 3 for i in range(K * N)]
    wanted = [sum(left[k * M + i] * right[j * K + k] for k in range(K)) for j in range(N) for i in range(M)]
    a, b, one, zero = memory(left), memory(right), ctypes.c_float(1), ctypes.c_float(0)
    streams, results = [], []
    for _ in range(STREAMS):
        stream = ctypes.c_void_p()
        cuda.cuStreamCreate(ctypes.byref(stream), 1)
        streams.append(stream)
        results.append(memory([0.0] * (M * N)))
    begin = time.time()
    for _ in range(ROUNDS):
        for stream, result in zip(streams, results):
            blas.cublasSetStream_v2(handle, stream)
            blas.cublasSgemm_v2(handle, 0, 0, M, N, K, ctypes.byref(one), a, M, b, K, ctypes.byref(zero), result, M)
    cuda.cuCtxSynchronize()
    for number, result in enumerate(results):
        got = (ctypes.c_float * (M * N))()
        cuda.cuMemcpyDtoH_v2(got, result, ctypes.c_size_t(ctypes.sizeof(got)))
        if list(got) != wanted:
            sys.exit(f"stream {number}: {sum(x != y for x, y in zip(got, wanted))} of {M * N} are wrong")
    print(f"{STREAMS * ROUNDS} products on {STREAMS} streams: {time.time() - begin:.1f} s")


def main():
    if len(sys.argv) == 2:
        return multiply(sys.argv[1])
    rubia, folder = sys.argv[1:]
    library = find(folder)
    environment = dict(os.environ, RUBIA_DEVICE="emulator", RUBIA_ARCH="gfx1100")
    ran = subprocess.run([rubia, "run", "--", sys.executable, "-B", __file__, library], env=environment, timeout=1500)
    sys.exit(ran.returncode)


main()
