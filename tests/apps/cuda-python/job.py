# SPDX-License-Identifier: Apache-2.0
"""cuda.core compiles C++ while the program runs: templates by NVRTC to PTX and to a cubin, two sources that are linked. Memory from
the device's pool and pinned, two streams with an event between them, and a graph. The CPU's side is NumPy."""
import ctypes
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

BOUNDS = {"smooth_f32": 1e-6, "smooth_f64": 1e-14, "product": 1e-5, "linked": 1e-6, "graph": 1e-6, "matrix": 1e-3}
SIDE = 64

TEMPLATES = r"""
template <typename T> __global__ void smooth(const T *in, T *out, int n) {
  extern __shared__ unsigned char bytes[];
  T *near = reinterpret_cast<T *>(bytes);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  near[threadIdx.x + 1] = i < n ? in[i] : T(0);
  if (threadIdx.x == 0)
    near[0] = i ? in[i - 1] : T(0);
  if (threadIdx.x == blockDim.x - 1)
    near[threadIdx.x + 2] = i + 1 < n ? in[i + 1] : T(0);
  __syncthreads();
  if (i < n)
    out[i] = (near[threadIdx.x] + near[threadIdx.x + 1] * T(2) + near[threadIdx.x + 2]) / T(4);
}
template <typename T, int TILE> __global__ void product(const T *a, const T *b, T *out, int n) {
  __shared__ T left[TILE][TILE], right[TILE][TILE];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  T sum = 0;
  for (int begin = 0; begin < n; begin += TILE) {
    left[threadIdx.y][threadIdx.x] = a[row * n + begin + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[(begin + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < TILE; ++k)
      sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  out[row * n + column] = sum;
}"""

# Products of matrices by the instructions of one warp: 16 by 16 by 16, as the header of CUDA would write them.
MATRIX = r"""
extern "C" __global__ void matrix(const unsigned *a, const unsigned *b, float *out) {
  int group = threadIdx.x / 4, inside = threadIdx.x % 4;
  unsigned a0 = a[group * 8 + inside], a1 = a[(group + 8) * 8 + inside], a2 = a[group * 8 + inside + 4], a3 = a[(group + 8) * 8 + inside + 4];
  for (int half = 0; half < 2; ++half) {
    unsigned b0 = b[(group + 8 * half) * 8 + inside], b1 = b[(group + 8 * half) * 8 + inside + 4];
    float d[4] = {0, 0, 0, 0};
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    for (int i = 0; i < 4; ++i)
      out[(group + 8 * (i / 2)) * 16 + 8 * half + inside * 2 + i % 2] = d[i];
  }
}"""

CALLER = r"""
extern "C" __device__ float weigh(float value, int place);
extern "C" __global__ void linked(const float *in, float *out, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    out[i] = weigh(in[i], i) + 1;
}"""
CALLED = r"""
__constant__ float weights[4] = {1, 2, 4, 8};
extern "C" __device__ float weigh(float value, int place) { return sinf(value) * weights[place % 4]; }"""


def on_cpu(values, a, b):
    def smooth(x):
        padded = numpy.pad(x, 1)
        return (padded[:-2] + padded[1:-1] * 2 + padded[2:]) / x.dtype.type(4)

    twice = smooth(smooth(values))
    linked = numpy.sin(values) * numpy.float32([1, 2, 4, 8])[numpy.arange(values.size) % 4] + 1
    square = a[:16, :16].astype(numpy.float16).astype(numpy.float32)
    return {"smooth_f32": smooth(values), "smooth_f64": smooth(values.astype(numpy.float64)), "product": a @ b, "linked": linked, "graph": twice,
            "matrix": square @ b[:16, :16].astype(numpy.float16).astype(numpy.float32).T}


class OnDevice:
    def __init__(self):
        from cuda import core

        self.core, self.device = core, core.Device()
        self.device.set_current()
        self.stream, self.second = self.device.create_stream(), self.device.create_stream()
        self.pinned = core.LegacyPinnedMemoryResource()
        self.kept = []

    def array(self, shape, kind):
        """Pinned memory, which the device sees, too."""
        buffer = self.pinned.allocate(max(int(numpy.prod(shape)) * numpy.dtype(kind).itemsize, 1), stream=self.stream)
        self.kept.append(buffer)
        return buffer, numpy.frombuffer((ctypes.c_char * buffer.size).from_address(int(buffer.handle)), kind, int(numpy.prod(shape))).reshape(shape)

    def put(self, values):
        host, view = self.array(values.shape, values.dtype)
        view[...] = values
        device = self.device.memory_resource.allocate(host.size, stream=self.stream)
        device.copy_from(host, stream=self.stream)
        self.kept.append(device)
        return device

    def get(self, device, shape, kind):
        host, view = self.array(shape, kind)
        device.copy_to(host, stream=self.stream)
        self.stream.sync()
        return view.copy()

    def compile(self, code, kind, names=(), **options):
        wanted = self.core.ProgramOptions(std="c++17", arch=f"sm_{self.device.arch}", **options)
        return self.core.Program(code, "c++", wanted).compile(kind, name_expressions=names)

    def launch(self, stream, kernel, grid, block, *arguments, shared=0):
        self.core.launch(stream, self.core.LaunchConfig(grid=grid, block=block, shmem_size=shared), kernel, *arguments)


def on_cuda(values, a, b):
    on, n, out = OnDevice(), values.size, {}
    ptx = on.compile(TEMPLATES, "ptx", ("smooth<float>", "smooth<double>"))
    cubin = on.compile(TEMPLATES, "cubin", ("product<float, 16>",))
    grid, count = (n + 127) // 128, numpy.int32(n)
    source, target = on.put(values), on.put(numpy.zeros_like(values))
    wide, wide_target = on.put(values.astype(numpy.float64)), on.put(numpy.zeros(n))
    smooth = ptx.get_kernel("smooth<float>")
    on.launch(on.stream, smooth, grid, 128, source, target, count, shared=4 * 130)
    ready = on.stream.record()
    on.second.wait(ready)
    # The second stream reads what the first wrote.
    again = on.put(numpy.zeros_like(values))
    on.second.wait(on.stream.record())
    on.launch(on.second, smooth, grid, 128, target, again, count, shared=4 * 130)
    on.stream.wait(on.second.record())
    on.launch(on.stream, ptx.get_kernel("smooth<double>"), grid, 128, wide, wide_target, count, shared=8 * 130)
    out["smooth_f32"], out["smooth_f64"] = on.get(target, n, "f4"), on.get(wide_target, n, "f8")
    streams = on.get(again, n, "f4")
    left, right, result = on.put(a), on.put(b), on.put(numpy.zeros_like(a))
    on.launch(on.stream, cubin.get_kernel("product<float, 16>"), (SIDE // 16, SIDE // 16), (16, 16), left, right, result, numpy.int32(SIDE))
    out["product"] = on.get(result, a.shape, "f4")
    halves = [on.put(numpy.ascontiguousarray(x[:16, :16].astype(numpy.float16))) for x in (a, b)]
    tile = on.put(numpy.zeros((16, 16), numpy.float32))
    on.launch(on.stream, on.compile(MATRIX, "cubin").get_kernel("matrix"), 1, 32, *halves, tile)
    out["matrix"] = on.get(tile, (16, 16), "f4")
    parts = [on.compile(code, "ltoir", link_time_optimization=True) for code in (CALLER, CALLED)]
    linker = on.core.Linker(*parts, options=on.core.LinkerOptions(arch=f"sm_{on.device.arch}", link_time_optimization=True))
    weighed = on.put(numpy.zeros_like(values))
    on.launch(on.stream, linker.link("cubin").get_kernel("linked"), 2, 64, source, weighed, count)
    out["linked"] = on.get(weighed, n, "f4")
    builder = on.device.create_graph_builder().begin_building()
    for pair in ((source, target), (target, again)):
        on.launch(builder, smooth, grid, 128, *pair, count, shared=4 * 130)
    graph = builder.end_building().complete()
    for device in (target, again):
        device.copy_from(on.put(numpy.zeros_like(values)), stream=on.stream)
    graph.launch(on.stream)
    out["graph"] = on.get(again, n, "f4")
    assert (streams == out["graph"]).all()
    return out


def run(backend, folder):
    draw = numpy.random.default_rng(11)
    values = draw.standard_normal(1000).astype(numpy.float32)
    a, b = draw.standard_normal((2, SIDE, SIDE)).astype(numpy.float32)
    return (on_cuda if backend == "cuda" else on_cpu)(values, a, b)


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
