# SPDX-License-Identifier: Apache-2.0
"""PyCUDA on the GPU beside NumPy: nvcc compiles each kernel while the program runs, also those of array operations."""
import os
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

# Sums of f32 have another order.
BOUNDS = {"heat": 1e-5, "product": 1e-5, "histogram": 0, "bodies": 1e-12, "expression": 1e-5, "elementwise": 1e-6, "complex": 1e-5, "reductions": 1e-5,
          "scans": 0, "integers": 0, "streams": 0}
SIDE, STEPS, BODIES = 66, 24, 96

KERNELS = r"""
template <class T, int N> __device__ T rowTimesColumn(const T (&row)[N][N], const T (&column)[N][N]) {
  T sum = 0;
  for (int k = 0; k < N; ++k)
    sum += row[threadIdx.y][k] * column[k][threadIdx.x];
  return sum;
}

extern "C" {
__global__ void heat(const float *from, float *to, int side) {
  __shared__ float tile[18][18];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  for (int j = threadIdx.y; j < 18; j += 16)
    for (int i = threadIdx.x; i < 18; i += 16)
      tile[j][i] = from[(blockIdx.y * 16 + j) * side + blockIdx.x * 16 + i];
  __syncthreads();
  const int i = threadIdx.x + 1, j = threadIdx.y + 1;
  to[(y + 1) * side + x + 1] = 0.25f * (tile[j][i - 1] + tile[j][i + 1] + tile[j - 1][i] + tile[j + 1][i]);
}

__global__ void product(const float *a, const float *b, float *c, int n) {
  __shared__ float as[16][16], bs[16][16];
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  float sum = 0;
  for (int tile = 0; tile < n; tile += 16) {
    as[threadIdx.y][threadIdx.x] = a[y * n + tile + threadIdx.x];
    bs[threadIdx.y][threadIdx.x] = b[(tile + threadIdx.y) * n + x];
    __syncthreads();
    sum += rowTimesColumn(as, bs);
    __syncthreads();
  }
  c[y * n + x] = sum;
}

__constant__ int bounds[2];
__device__ unsigned outside;

__global__ void histogram(const int *values, unsigned *counts, int n) {
  __shared__ unsigned own[64];
  if (threadIdx.x < 64)
    own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (values[i] < bounds[0] || values[i] >= bounds[1])
      atomicAdd(&outside, 1u);
    else
      atomicAdd(&own[values[i] & 63], 1u);
  }
  __syncthreads();
  if (threadIdx.x < 64)
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

__global__ void bodies(const double *places, double *forces, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double sum[3] = {};
  for (int j = 0; j < n; ++j) {
    double d[3], square = 1e-3;
    for (int k = 0; k < 3; ++k) {
      d[k] = places[j * 3 + k] - places[i * 3 + k];
      square += d[k] * d[k];
    }
    for (int k = 0; k < 3; ++k)
      sum[k] += d[k] / (square * sqrt(square));
  }
  for (int k = 0; k < 3; ++k)
    forces[i * 3 + k] = sum[k];
}
}
"""


def inputs():
    generator = numpy.random.default_rng(31)
    return {"plate": generator.random((SIDE, SIDE), numpy.float32), "a": generator.standard_normal((64, 64), numpy.float32),
            "b": generator.standard_normal((64, 64), numpy.float32), "values": generator.integers(-9, 70, 5000, dtype=numpy.int32),
            "places": generator.random((BODIES, 3)), "x": generator.standard_normal(3000, numpy.float32),
            "z": (generator.standard_normal(700) + 1j * generator.standard_normal(700)).astype(numpy.complex64)}


def on_cpu(given):
    plate = given["plate"].copy()
    for _ in range(STEPS):
        plate[1:-1, 1:-1] = numpy.float32(0.25) * (plate[1:-1, :-2] + plate[1:-1, 2:] + plate[:-2, 1:-1] + plate[2:, 1:-1])
    values, x, z = given["values"], given["x"], given["z"]
    inside = (values >= 0) & (values < 64)
    apart = given["places"][None] - given["places"][:, None]
    square = (apart**2).sum(2) + 1e-3
    return {"heat": plate, "product": given["a"] @ given["b"], "histogram": numpy.append(numpy.bincount(values[inside], minlength=64), (~inside).sum()),
            "bodies": (apart / (square * numpy.sqrt(square))[..., None]).sum(1), "expression": 2 * x + numpy.exp(-abs(x)) * numpy.sin(x),
            "elementwise": numpy.where(x > 0, x * x, numpy.float32(-0.5) * x), "complex": (1 + z * (2 + z * (3 + z * 4))).view(numpy.float32),
            "reductions": numpy.array([(x * x).sum(), x.max(), x.min(), abs(x).sum()], numpy.float64),
            "scans": numpy.concatenate([numpy.cumsum(values), numpy.maximum.accumulate(values)]), "integers": numpy.concatenate([values * 3 + 1, values[::-1], abs(values)[1000:2000]]),
            "streams": numpy.concatenate([values[:2500] * 2, values[2500:] * 3])}


def streams(drv, gpuarray, values):
    """Halves of an array in two streams, from and to pinned memory; the second waits for the first."""
    halves = [drv.pagelocked_empty(2500, numpy.int32) for _ in range(2)]
    halves[0][:], halves[1][:] = values[:2500], values[2500:]
    queues, done = [drv.Stream() for _ in range(2)], drv.Event()
    arrays = [gpuarray.to_gpu_async(half, stream=queue) for half, queue in zip(halves, queues)]
    results = [arrays[0]._axpbz(2, 0, gpuarray.empty_like(arrays[0]), stream=queues[0])]
    done.record(queues[0])
    queues[1].wait_for_event(done)
    results.append(arrays[1]._axpbz(3, 0, gpuarray.empty_like(arrays[1]), stream=queues[1]))
    for result, half, queue in zip(results, halves, queues):
        drv.memcpy_dtoh_async(half, result.gpudata, queue)
        queue.synchronize()
    return numpy.concatenate(halves)


def on_gpu(given):
    os.environ["PYCUDA_DISABLE_CACHE"] = "1"  # or the second run is another one
    import pycuda.autoinit  # noqa: F401
    import pycuda.driver as drv
    from pycuda import cumath, gpuarray
    from pycuda.compiler import SourceModule
    from pycuda.elementwise import ElementwiseKernel
    from pycuda.reduction import ReductionKernel
    from pycuda.scan import InclusiveScanKernel

    module, out = SourceModule(KERNELS, no_extern_c=True), {}
    heat = module.get_function("heat").prepare("PPi")
    plates = [drv.to_device(given["plate"]) for _ in range(2)]
    for step in range(STEPS):
        heat.prepared_call((4, 4), (16, 16, 1), plates[step % 2], plates[1 - step % 2], SIDE)
    out["heat"] = drv.from_device_like(plates[STEPS % 2], given["plate"])
    out["product"] = numpy.empty_like(given["a"])
    module.get_function("product")(drv.In(given["a"]), drv.In(given["b"]), drv.Out(out["product"]), numpy.int32(64), block=(16, 16, 1), grid=(4, 4))
    counts, outside = numpy.zeros(64, numpy.uint32), numpy.zeros(1, numpy.uint32)
    drv.memcpy_htod(module.get_global("bounds")[0], numpy.array([0, 64], numpy.int32))
    drv.memcpy_htod(module.get_global("outside")[0], outside)
    module.get_function("histogram")(drv.In(given["values"]), drv.InOut(counts), numpy.int32(5000), block=(128, 1, 1), grid=(6, 1))
    drv.memcpy_dtoh(outside, module.get_global("outside")[0])
    out["histogram"] = numpy.append(counts, outside)
    out["bodies"] = numpy.empty_like(given["places"])
    module.get_function("bodies")(drv.In(given["places"]), drv.Out(out["bodies"]), numpy.int32(BODIES), block=(64, 1, 1), grid=(2, 1))

    x, z, values = (gpuarray.to_gpu(given[name]) for name in ("x", "z", "values"))
    out["expression"] = (2 * x + cumath.exp(-abs(x)) * cumath.sin(x)).get()
    out["elementwise"] = gpuarray.if_positive(x, x * x, numpy.float32(-0.5) * x).get()
    horner, polynomial = ElementwiseKernel("pycuda::complex<float> *z, pycuda::complex<float> *out", "out[i] = 1.0f + z[i] * (2.0f + z[i] * (3.0f + z[i] * 4.0f))",
                                           "horner"), gpuarray.empty_like(z)
    horner(z, polynomial)
    out["complex"] = polynomial.get().view(numpy.float32)
    sizes = ReductionKernel(numpy.float32, neutral="0", reduce_expr="a + b", map_expr="fabsf(x[i])", arguments="const float *x")
    out["reductions"] = numpy.array([gpuarray.dot(x, x).get(), gpuarray.max(x).get(), gpuarray.min(x).get(), sizes(x).get()], numpy.float64)
    scans = [InclusiveScanKernel(numpy.int32, operation)(values.copy()).get() for operation in ("a + b", "a > b ? a : b")]
    out["scans"] = numpy.concatenate(scans)
    out["integers"] = numpy.concatenate([(values * 3 + 1).get(), values.reverse().get(), abs(values)[1000:2000].get()])
    out["streams"] = streams(drv, gpuarray, given["values"])
    return out


if __name__ == "__main__":
    main(lambda backend, folder: on_gpu(inputs()) if backend == "cuda" else on_cpu(inputs()), lambda cpu, cuda: within(BOUNDS, cpu, cuda))
