# SPDX-License-Identifier: Apache-2.0
"""Dr.Jit traces arithmetic and writes PTX for CUDA. A sphere and a torus are ray-marched in a symbolic loop, gradients go
backwards through it; also scatters, prefix sums, virtual calls, textures and f64. The CPU's side is NumPy, since its own needs an installed LLVM."""
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

# The texture unit has fractions of 8 bits.
BOUNDS = {"depth": 1e-4, "gradient": 1e-4, "functions": 1e-5, "random": 1e-6, "histogram": 0, "prefix": 0, "texture": 1e-5, "f64": 1e-12, "texture_unit": 1e-2, "calls": 1e-6}
SIDE, STEPS = 24, 40


def distance(np, x, y, z, radius):
    ring = np.sqrt(x * x + z * z) - 1
    return np.minimum(np.sqrt(x * x + y * y + z * z) - radius, np.sqrt(ring * ring + y * y) - 0.25)


def on_numpy(x, y, values, bins, image, u, v):
    f = numpy.float32
    out = {}

    def march(radius):
        depth = numpy.zeros_like(x, numpy.float64)
        for _ in range(STEPS):
            depth = depth + distance(numpy, x, y, depth - 3, radius)
        return depth

    out["depth"] = march(0.7)
    out["gradient"] = numpy.array([(march(0.7 + 1e-6).sum() - march(0.7 - 1e-6).sum()) / 2e-6])
    t = values.astype(numpy.float64)
    import math

    out["functions"] = numpy.concatenate([numpy.sin(t), numpy.exp(-t * t), numpy.log(t * t + 1), numpy.arctan2(t, 2), [math.erf(a) for a in t], numpy.cbrt(t)])
    state = numpy.arange(500, dtype=numpy.uint64)
    with numpy.errstate(over="ignore"):
        state = state * numpy.uint64(6364136223846793005) + numpy.uint64(1442695040888963407)
        state ^= state >> numpy.uint64(33)
    out["random"] = (state >> numpy.uint64(40)).astype(numpy.float64) / 2**24
    out["histogram"] = numpy.bincount(bins, minlength=16)
    out["prefix"] = numpy.cumsum(bins)
    place_u, place_v = u * image.shape[1] - 0.5, v * image.shape[0] - 0.5
    left, top = numpy.floor(place_u).astype(int), numpy.floor(place_v).astype(int)
    a, b = place_u - left, place_v - top
    pick = lambda i, j: image[numpy.clip(j, 0, image.shape[0] - 1), numpy.clip(i, 0, image.shape[1] - 1)]
    out["texture"] = (1 - b) * ((1 - a) * pick(left, top) + a * pick(left + 1, top)) + b * ((1 - a) * pick(left, top + 1) + a * pick(left + 1, top + 1))
    out["texture_unit"] = out["texture"]
    out["f64"] = numpy.sqrt(t * t + 1) / (t + 10)
    out["calls"] = numpy.where(bins % 2 == 0, values[: bins.size] * f(3) + 1, numpy.sin(values[: bins.size]) * f(2))
    return out


def on_cuda(x, y, values, bins, image, u, v):
    import drjit as dr
    import drjit.cuda.ad
    from drjit.auto.ad import Bool, Float, Float64, Texture2f, TensorXf, UInt32, UInt64
    from drjit.cuda.ad import Float as CudaFloat

    assert Float is CudaFloat
    out = {}
    radius = Float(0.7)
    dr.enable_grad(radius)
    px, py = Float(x), Float(y)

    class Np:
        sqrt, minimum = dr.sqrt, dr.minimum

    def march():
        start = dr.zeros(Float, x.size), UInt32(0)
        depth, _ = dr.while_loop(start, lambda depth, i: i < STEPS, lambda depth, i: (depth + distance(Np, px, py, depth - 3, radius), i + 1),
                                 max_iterations=STEPS)
        return depth

    depth = march()
    out["depth"] = dr.detach(depth).numpy()
    dr.backward(dr.sum(depth))
    out["gradient"] = radius.grad.numpy()
    t = Float(values)
    out["functions"] = dr.concat([dr.sin(t), dr.exp(-t * t), dr.log(t * t + 1), dr.atan2(t, Float(2)), dr.erf(t), dr.cbrt(t)]).numpy()
    state = UInt64(dr.arange(UInt32, 500)) * 6364136223846793005 + 1442695040888963407
    state ^= state >> 33
    out["random"] = (Float64(state >> 40) / 2**24).numpy()
    places = UInt32(bins.astype(numpy.uint32))
    counts = dr.zeros(UInt32, 16)
    dr.scatter_reduce(dr.ReduceOp.Add, counts, UInt32(1), places)
    out["histogram"], out["prefix"] = counts.numpy(), dr.cumsum(places).numpy()
    pixels = TensorXf(numpy.ascontiguousarray(image[:, :, None], numpy.float32))
    for name, by_unit in (("texture", False), ("texture_unit", True)):
        texture = Texture2f(pixels, use_accel=by_unit, wrap_mode=dr.WrapMode.Clamp)
        out[name] = texture.eval(dr.cuda.ad.Array2f(Float(u), Float(v)))[0].numpy()
    w = Float64(values.astype(numpy.float64))
    out["f64"] = (dr.sqrt(w * w + 1) / (w + 10)).numpy()
    functions = [lambda a: a * 3 + 1, lambda a: dr.sin(a) * 2]
    out["calls"] = dr.switch(places % 2, functions, Float(values[: bins.size])).numpy()
    return out


def run(backend, folder):
    draw = numpy.random.default_rng(19)
    x, y = (a.ravel().astype(numpy.float32) for a in numpy.meshgrid(*[numpy.linspace(-0.6, 0.6, SIDE)] * 2))
    values = draw.standard_normal(400).astype(numpy.float32)
    bins, image = draw.integers(0, 16, 300), draw.random((12, 10)).astype(numpy.float32)
    u, v = draw.random((2, 200)).astype(numpy.float32)
    return (on_cuda if backend == "cuda" else on_numpy)(x, y, values, bins, image, u, v)


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
