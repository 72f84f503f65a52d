#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels of frameworks that compile while they run, unmodified, under `rubia run`. 77: the framework is not installed.

Usage: frameworks.py jax|numba|triton
"""
import array
import ctypes
import importlib.util
import sys
import tempfile


def numba():
    import numpy
    from numba import cuda

    @cuda.jit
    def axpy(a, x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = a * x[i] + y[i]

    @cuda.jit
    def total(x, out):
        part = cuda.shared.array(128, numpy.float32)
        thread = cuda.threadIdx.x
        part[thread] = x[cuda.grid(1)]
        cuda.syncthreads()
        half = 64
        while half:
            if thread < half:
                part[thread] += part[thread + half]
            cuda.syncthreads()
            half //= 2
        if thread == 0:
            cuda.atomic.add(out, 0, part[0])

    x, y = numpy.arange(1000, dtype=numpy.float32), cuda.to_device(numpy.ones(1000, numpy.float32))
    axpy[8, 128](2.0, cuda.to_device(x), y)
    assert (y.copy_to_host() == 2 * x + 1).all()
    out = cuda.to_device(numpy.zeros(1, numpy.float32))
    total[8, 128](cuda.to_device(numpy.ones(1024, numpy.float32)), out)
    assert out.copy_to_host()[0] == 1024


class Driver:
    """What Triton's launcher would do; it needs PyTorch."""

    def __init__(self):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        assert code == 0, (name, code)

    def memory(self, values):
        pointer, size = ctypes.c_void_p(), ctypes.c_size_t(len(values) * values.itemsize)
        self.call("cuMemAlloc_v2", ctypes.byref(pointer), size)
        self.call("cuMemcpyHtoD_v2", pointer, values.tobytes(), size)
        return pointer

    def launch(self, cubin, name, grid, threads, shared, *arguments):
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuModuleLoadData", ctypes.byref(module), cubin)
        self.call("cuModuleGetFunction", ctypes.byref(function), module, name.encode())
        values = (ctypes.c_void_p * len(arguments))(*[ctypes.cast(ctypes.pointer(a), ctypes.c_void_p) for a in arguments])
        self.call("cuLaunchKernel", function, grid, 1, 1, threads, 1, 1, shared, None, values, None)


def triton():
    import triton
    import triton.language as tl
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    @triton.jit
    def add(x, y, out, n, BLOCK: tl.constexpr):
        places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        inside = places < n
        tl.store(out + places, tl.load(x + places, mask=inside) + 2 * tl.load(y + places, mask=inside), mask=inside)

    source = ASTSource(add, signature={"x": "*fp32", "y": "*fp32", "out": "*fp32", "n": "i32", "BLOCK": "constexpr"},
                       constexprs={"BLOCK": 256})
    kernel = triton.compile(source, target=GPUTarget("cuda", 89, 32))
    assert b".rubia.ptx" in kernel.asm["cubin"]
    driver, n = Driver(), 1000
    x, y, out = (driver.memory(array.array("f", values)) for values in (range(n), [3.0] * n, [0.0] * n))
    none = ctypes.c_void_p(0)  # the scratch memory that it may ask for
    driver.launch(kernel.asm["cubin"], kernel.metadata.name, 4, 32 * kernel.metadata.num_warps, kernel.metadata.shared, x, y, out,
                  ctypes.c_int(n), none, none)
    result = ctypes.create_string_buffer(4 * n)
    driver.call("cuMemcpyDtoH_v2", result, out, ctypes.c_size_t(4 * n))
    assert list(array.array("f", result.raw)) == [i + 6.0 for i in range(n)]


def jax():
    import jax
    import jax.numpy as jnp
    import numpy

    assert jax.devices()[0].platform == "gpu", jax.devices()
    x = numpy.random.default_rng(0).standard_normal((48, 64)).astype(numpy.float32)
    functions = {"loss": jax.grad(lambda x: jnp.sum(jax.nn.softmax(jnp.tanh(x), axis=1) * x)),
                 "sorted": lambda x: jnp.sort(x, axis=1).cumsum(0),
                 "loop": lambda x: jax.lax.fori_loop(0, 10, lambda i, y: y * 0.5 + i, x)}
    for name, function in functions.items():
        ours = numpy.asarray(jax.jit(function)(x))
        with jax.default_device(jax.devices("cpu")[0]):
            theirs = numpy.asarray(jax.jit(function)(x))
        difference = numpy.max(numpy.abs(ours - theirs)) / numpy.max(numpy.abs(theirs))
        assert difference < 1e-6, (name, difference)
    # Its profiler is refused by NVIDIA's libcupti, and the program goes on.
    with tempfile.TemporaryDirectory() as folder, jax.profiler.trace(folder):
        assert jax.jit(lambda x: (2 * x).sum())(jnp.arange(100.0)) == 9900


if __name__ == "__main__":
    if not importlib.util.find_spec(sys.argv[1]):
        print(f"{sys.argv[1]} is not installed")
        sys.exit(77)
    {"jax": jax, "numba": numba, "triton": triton}[sys.argv[1]]()
    print("PASS")
