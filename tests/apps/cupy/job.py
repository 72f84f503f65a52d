# SPDX-License-Identifier: Apache-2.0
"""CuPy beside NumPy: heat that spreads on a plate, by operations on arrays and by a kernel of one's own; sorts, sums along
axes, products and solutions of linear equations, Fourier transforms, sparse matrices."""
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

BOUNDS = {"heat": 1e-5, "own_kernel": 1e-5, "sorted": 0, "order": 0, "sums": 1e-5, "statistics": 1e-5, "product": 1e-5, "product_f64": 1e-12, "solution": 1e-9,
          "singular_values": 1e-10, "spectrum": 1e-5, "spectrum_2d": 1e-10, "sparse": 1e-12, "histogram": 0, "complex": 1e-5, "half": 2e-3}

STEP = r"""extern "C" __global__ void step(const float *from, float *to, int n) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= n || y >= n)
    return;
  float here = from[y * n + x];
  bool edge = !x || !y || x == n - 1 || y == n - 1;
  to[y * n + x] = edge ? here : here + 0.2f * (from[y * n + x - 1] + from[y * n + x + 1] + from[(y - 1) * n + x] + from[(y + 1) * n + x] - 4 * here);
}"""


def spread(np, plate, steps):
    for _ in range(steps):
        inner = plate[1:-1, 1:-1]
        around = plate[:-2, 1:-1] + plate[2:, 1:-1] + plate[1:-1, :-2] + plate[1:-1, 2:]
        plate = plate.copy()
        plate[1:-1, 1:-1] = inner + numpy.float32(0.2) * (around - 4 * inner)
    return plate


def run(backend, folder):
    draw = numpy.random.default_rng(3)
    if backend == "cuda":
        import cupy as np
        import cupyx.scipy.sparse as sparse
    else:
        import scipy.sparse as sparse

        np = numpy
    out = {}
    plate = np.asarray(draw.random((64, 64), numpy.float32))
    out["heat"] = spread(np, plate, 30)
    if backend == "cuda":
        step, two = np.RawKernel(STEP, "step"), [plate.copy(), plate.copy()]
        for i in range(30):
            step((4, 4), (16, 16), (two[i % 2], two[1 - i % 2], numpy.int32(64)))
        out["own_kernel"] = two[0]
    else:
        out["own_kernel"] = out["heat"]
    many = np.asarray(draw.permutation(20000).astype(numpy.int32))
    out["sorted"], out["order"] = np.sort(many), np.argsort(many)
    cube = np.asarray(draw.standard_normal((20, 30, 40)).astype(numpy.float32))
    out["sums"] = np.concatenate([cube.sum(axis=i).ravel() for i in range(3)])
    out["statistics"] = np.asarray([cube.mean(), cube.std(), cube.max(), cube.min(), np.median(cube), (cube > 0).sum()])
    out["histogram"] = np.histogram(cube, bins=32)[0]
    a, b = (np.asarray(draw.standard_normal((96, 96)).astype(numpy.float32)) for _ in range(2))
    out["product"] = a @ b
    c, d = (np.asarray(draw.standard_normal((48, 48))) for _ in range(2))
    out["product_f64"] = np.einsum("ij,jk->ik", c, d)
    out["solution"] = np.linalg.solve(c, d)
    out["singular_values"] = np.linalg.svd(c, compute_uv=False)
    out["spectrum"] = np.abs(np.fft.fft(cube.ravel()[:4096]))
    out["spectrum_2d"] = np.abs(np.fft.rfft2(c))
    rows, columns = draw.integers(0, 200, (2, 1000))
    values = draw.standard_normal(1000)
    matrix = sparse.coo_matrix((np.asarray(values), (np.asarray(rows), np.asarray(columns))), shape=(200, 200)).tocsr()
    out["sparse"] = matrix @ np.asarray(draw.standard_normal(200))
    wave = np.exp(1j * np.linspace(0, 6, 1000)).astype(numpy.complex64)
    out["complex"] = np.stack([(wave * wave).real, (wave / (wave + 2)).imag])
    out["half"] = np.tanh(cube.astype(numpy.float16)) * numpy.float16(3)
    return {name: value.get() if backend == "cuda" else value for name, value in out.items()}


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
