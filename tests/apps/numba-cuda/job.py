# SPDX-License-Identifier: Apache-2.0
"""Kernels that Numba compiles while the program runs, beside the same arithmetic that it compiles for the CPU."""
import math
import sys

import numba
import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

# Sums are taken in another order, and f32 functions are those of libdevice.
BOUNDS = {"accelerations": 1e-5, "product": 1e-12, "histogram": 0, "scan": 0, "walk": 1e-6, "ufunc": 1e-6, "sum": 1e-12, "sorted": 0}
BODIES, SIDE, VALUES, WALKERS = 256, 48, 4096, 128


@numba.njit
def attraction(x, y, z, px, py, pz, mass):
    dx, dy, dz = px - x, py - y, pz - z
    square = dx * dx + dy * dy + dz * dz + numpy.float32(1e-2)
    factor = mass / (square * math.sqrt(square))
    return factor * dx, factor * dy, factor * dz


@numba.njit
def next_state(state):
    state ^= state << numpy.uint64(13)
    state ^= state >> numpy.uint64(7)
    return state ^ (state << numpy.uint64(17))


@numba.njit
def walked(seed):
    state, x, y = numpy.uint64(seed * 2 + 1), 0.0, 0.0
    for _ in range(200):
        state = next_state(state)
        angle = float(state >> numpy.uint64(40)) * 3.7e-7
        x += math.cos(angle)
        y += math.sin(angle)
    return math.hypot(x, y)


@numba.njit
def shape(a, b):
    return math.exp(-a * a) * math.atan2(b, a) + math.erf(b)


@numba.njit
def cpu_accelerations(bodies, out):
    for i in range(len(bodies)):
        for j in range(len(bodies)):
            ax, ay, az = attraction(bodies[i, 0], bodies[i, 1], bodies[i, 2], bodies[j, 0], bodies[j, 1], bodies[j, 2], bodies[j, 3])
            out[i, 0] += ax
            out[i, 1] += ay
            out[i, 2] += az


def on_cpu(bodies, a, b, values):
    accelerations = numpy.zeros((BODIES, 3), numpy.float32)
    cpu_accelerations(bodies, accelerations)
    walk = numpy.array([walked(i) for i in range(WALKERS)])
    ufunc = numba.vectorize(["float32(float32, float32)"])(shape.py_func)(bodies[:, 0], bodies[:, 1])
    return {"accelerations": accelerations, "product": a @ b, "histogram": numpy.bincount(values % 64, minlength=64), "scan": numpy.cumsum(values),
            "walk": walk, "ufunc": ufunc, "sum": a.sum(), "sorted": numpy.sort(values[:1024])}


def on_cuda(bodies, a, b, values):
    from numba import cuda

    attract = cuda.jit(device=True)(attraction.py_func)
    step = cuda.jit(device=True)(next_state.py_func)

    @cuda.jit
    def accelerations(bodies, out):
        tile = cuda.shared.array((128, 4), numba.float32)
        i, thread = cuda.grid(1), cuda.threadIdx.x
        x = y = z = numpy.float32(0)
        for begin in range(0, bodies.shape[0], 128):
            for k in range(4):
                tile[thread, k] = bodies[begin + thread, k]
            cuda.syncthreads()
            for j in range(128):
                ax, ay, az = attract(bodies[i, 0], bodies[i, 1], bodies[i, 2], tile[j, 0], tile[j, 1], tile[j, 2], tile[j, 3])
                x += ax
                y += ay
                z += az
            cuda.syncthreads()
        out[i, 0], out[i, 1], out[i, 2] = x, y, z

    @cuda.jit
    def product(a, b, out):
        left, right = cuda.shared.array((16, 16), numba.float64), cuda.shared.array((16, 16), numba.float64)
        row, column = cuda.grid(2)
        i, j, total = cuda.threadIdx.x, cuda.threadIdx.y, 0.0
        for begin in range(0, a.shape[1], 16):
            left[i, j], right[i, j] = a[row, begin + j], b[begin + i, column]
            cuda.syncthreads()
            for k in range(16):
                total += left[i, k] * right[k, j]
            cuda.syncthreads()
        out[row, column] = total

    @cuda.jit
    def histogram(values, bins):
        counts = cuda.shared.array(64, numba.int32)
        thread = cuda.threadIdx.x
        if thread < 64:
            counts[thread] = 0
        cuda.syncthreads()
        for i in range(cuda.grid(1), values.size, cuda.gridsize(1)):
            cuda.atomic.add(counts, values[i] % 64, 1)
        cuda.syncthreads()
        if thread < 64:
            cuda.atomic.add(bins, thread, counts[thread])

    @cuda.jit
    def scan(values, out):
        """One warp: 32 values at a time."""
        lane, before = cuda.laneid, 0
        for begin in range(0, values.size, 32):
            total = values[begin + lane]
            for distance in (1, 2, 4, 8, 16):
                left = cuda.shfl_up_sync(0xFFFFFFFF, total, distance)
                if lane >= distance:
                    total += left
            out[begin + lane] = before + total
            before += cuda.shfl_sync(0xFFFFFFFF, total, 31)

    @cuda.jit
    def walk(out):
        i = cuda.grid(1)
        state, x, y = numpy.uint64(i * 2 + 1), 0.0, 0.0
        for _ in range(200):
            state = step(state)
            angle = float(state >> numpy.uint64(40)) * 3.7e-7
            x += math.cos(angle)
            y += math.sin(angle)
        out[i] = math.hypot(x, y)

    @cuda.jit
    def sort(values):
        """Bitonic, in shared memory; the size is given at the launch."""
        shared = cuda.shared.array(0, numba.int32)
        i, n = cuda.threadIdx.x, cuda.blockDim.x
        shared[i] = values[i]
        cuda.syncthreads()
        size = 2
        while size <= n:
            distance = size // 2
            while distance:
                other = i ^ distance
                if other > i and (shared[i] > shared[other]) == ((i & size) == 0):
                    shared[i], shared[other] = shared[other], shared[i]
                cuda.syncthreads()
                distance //= 2
            size *= 2
        values[i] = shared[i]

    stream = cuda.stream()
    device = cuda.to_device(bodies, stream=stream)
    out = {name: cuda.device_array(size, kind, stream=stream) for name, size, kind in
           [("accelerations", (BODIES, 3), "f4"), ("product", (SIDE, SIDE), "f8"), ("scan", VALUES, "i4"), ("walk", WALKERS, "f8")]}
    out["histogram"], out["sorted"] = cuda.to_device(numpy.zeros(64, numpy.int32)), cuda.to_device(values[:1024])
    accelerations[BODIES // 128, 128, stream](device, out["accelerations"])
    product[(SIDE // 16, SIDE // 16), (16, 16), stream](cuda.to_device(a), cuda.to_device(b), out["product"])
    histogram[4, 128, stream](cuda.to_device(values), out["histogram"])
    scan[1, 32, stream](cuda.to_device(values), out["scan"])
    walk[WALKERS // 64, 64, stream](out["walk"])
    sort[1, 1024, stream, 4096](out["sorted"])
    stream.synchronize()
    ufunc = numba.vectorize(["float32(float32, float32)"], target="cuda")(shape.py_func)
    add = cuda.reduce(lambda left, right: left + right)
    return {name: array.copy_to_host() for name, array in out.items()} | {"ufunc": ufunc(bodies[:, 0].copy(), bodies[:, 1].copy()), "sum": add(a.ravel())}


def run(backend, folder):
    draw = numpy.random.default_rng(5)
    bodies = draw.standard_normal((BODIES, 4)).astype(numpy.float32)
    a, b = draw.standard_normal((2, SIDE, SIDE))
    values = draw.integers(0, 1000, VALUES).astype(numpy.int32)
    return (on_cuda if backend == "cuda" else on_cpu)(bodies, a, b, values)


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
