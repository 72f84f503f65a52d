# SPDX-License-Identifier: Apache-2.0
"""Halide compiles pipelines while the program runs, for the CPU or, with a schedule in blocks and threads, to PTX."""
import sys

import halide as hl
import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

BOUNDS = {"blur": 1e-6, "mask": 1e-5, "product": 1e-5, "histogram": 0, "bilateral": 1e-5, "integers": 0}
SIDE = 64


def run(backend, folder):
    on_gpu = backend == "cuda"
    target = hl.get_host_target()
    if on_gpu:
        target = target.with_feature(hl.TargetFeature.CUDA).with_feature(hl.TargetFeature.CUDACapability80)
    draw = numpy.random.default_rng(29)
    x, y, xo, yo, xi, yi, c = (hl.Var(name) for name in ("x", "y", "xo", "yo", "xi", "yi", "c"))
    image = draw.random((SIDE, SIDE)).astype(numpy.float32)
    source = hl.Buffer(image)
    clamped = hl.BoundaryConditions.repeat_edge(source)
    out = {}

    def blocks(function, size=16):
        if on_gpu:
            function.gpu_tile(x, y, xo, yo, xi, yi, size, size)
        return function

    def finish(function, *shape):
        # Halide's first index is NumPy's last.
        result = function.realize(list(shape), target)
        result.copy_to_host()
        return numpy.array(result)

    across, blurred = hl.Func("across"), hl.Func("blurred")
    across[x, y] = (clamped[x - 1, y] + clamped[x, y] * 2 + clamped[x + 1, y]) / 4
    blurred[x, y] = (across[x, y - 1] + across[x, y] * 2 + across[x, y + 1]) / 4
    blocks(blurred)
    if on_gpu:
        across.compute_at(blurred, xo).gpu_threads(x, y)
    out["blur"] = finish(blurred, SIDE, SIDE)

    halved, wide, mask = hl.Func("halved"), hl.Func("wide"), hl.Func("mask")
    halved[x, y] = (clamped[2 * x, 2 * y] + clamped[2 * x + 1, 2 * y] + clamped[2 * x, 2 * y + 1] + clamped[2 * x + 1, 2 * y + 1]) / 4
    wide[x, y] = hl.sqrt(halved[x // 2, y // 2]) + hl.exp(-halved[(x + 1) // 2, (y + 1) // 2])
    mask[x, y] = hl.clamp(clamped[x, y] * 2 - wide[x, y], -1.0, 1.0)
    blocks(halved.compute_root())
    blocks(mask)
    out["mask"] = finish(mask, SIDE, SIDE)

    a, b = (hl.Buffer(draw.standard_normal((SIDE, SIDE)).astype(numpy.float32)) for _ in range(2))
    k, product = hl.RDom([(0, SIDE)]), hl.Func("product")
    product[x, y] = 0.0
    product[x, y] += a[k, y] * b[x, k]
    if on_gpu:
        made = hl.Func("made")
        made[x, y] = product[x, y]
        blocks(made, 8)
        product.compute_at(made, xi)
        product.update()
        out["product"] = finish(made, SIDE, SIDE)
    else:
        out["product"] = finish(product, SIDE, SIDE)

    bytes_ = hl.Buffer(draw.integers(0, 64, (SIDE, SIDE)).astype(numpy.uint8))
    r, histogram = hl.RDom([(0, SIDE), (0, SIDE)]), hl.Func("histogram")
    histogram[x] = hl.cast(hl.Int(32), 0)
    histogram[hl.cast(hl.Int(32), bytes_[r.x, r.y])] += 1
    if on_gpu:
        histogram.gpu_tile(x, xo, xi, 32)
        histogram.update().atomic().gpu_tile(r.x, r.y, hl.RVar("rxo"), hl.RVar("ryo"), hl.RVar("rxi"), hl.RVar("ryi"), 16, 8)
    out["histogram"] = finish(histogram, 64)

    window, weights, bilateral = hl.RDom([(-2, 5), (-2, 5)]), hl.Func("weights"), hl.Func("bilateral")
    near = clamped[x + window.x, y + window.y]
    weight = hl.exp(-(near - clamped[x, y]) * (near - clamped[x, y]) * 8 - hl.cast(hl.Float(32), window.x * window.x + window.y * window.y) * 0.2)
    bilateral[x, y] = hl.sum(weight * near) / hl.sum(weight)
    blocks(bilateral, 8)
    out["bilateral"] = finish(bilateral, SIDE, SIDE)

    whole = hl.Func("whole")
    word = hl.cast(hl.UInt(16), bytes_[x, y]) * 517 + hl.cast(hl.UInt(16), x * y)
    whole[x, y] = hl.cast(hl.Int(64), hl.absd(word, hl.cast(hl.UInt(16), 9000))) * 1000003 + hl.cast(hl.Int(64), hl.popcount(word)) - hl.cast(hl.Int(64), word // 7 % 5)
    blocks(whole)
    out["integers"] = finish(whole, SIDE, SIDE)
    return out


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
