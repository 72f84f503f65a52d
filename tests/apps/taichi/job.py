# SPDX-License-Identifier: Apache-2.0
"""Taichi compiles Python functions for the CPU and for CUDA: the material point method, a Laplace equation, automatic differentiation,
a parallel sort, atomic counts and reductions. Sparse fields are left out: threads of a warp take locks there, which ends with an error that says so."""
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

# Atomic sums of f32 come in any order, and the material's steps carry that on.
BOUNDS = {"positions": 1e-4, "deformation": 1e-3, "relaxed": 1e-5, "loss": 1e-5, "gradient": 1e-5, "sorted": 0, "counts": 0}
GRAINS, GRID, STEPS = 256, 16, 20


def run(backend, folder):
    import taichi as ti

    ti.init(arch=ti.cuda if backend == "cuda" else ti.cpu, random_seed=1, offline_cache=False, cpu_max_num_threads=2)
    assert (ti.lang.impl.current_cfg().arch == ti.cuda) == (backend == "cuda")
    draw = numpy.random.default_rng(13)
    out = {}
    weights, inputs = ti.field(ti.f32, 64, needs_grad=True), ti.field(ti.f32, (128, 64))
    sums, loss = ti.field(ti.f32, 128, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    # Grains carry their deformation; a grid carries momentum.
    x, v = ti.Vector.field(2, ti.f32, GRAINS), ti.Vector.field(2, ti.f32, GRAINS)
    affine, strain = ti.Matrix.field(2, 2, ti.f32, GRAINS), ti.Matrix.field(2, 2, ti.f32, GRAINS)
    momentum, mass = ti.Vector.field(2, ti.f32, (GRID, GRID)), ti.field(ti.f32, (GRID, GRID))
    dx, dt = 1 / GRID, 2e-4
    volume = (dx / 2) ** 2

    @ti.kernel
    def step():
        for i, j in mass:
            momentum[i, j] = [0, 0]
            mass[i, j] = 0
        for p in x:
            base = ti.cast(x[p] * GRID - 0.5, ti.i32)
            place = x[p] * GRID - ti.cast(base, ti.f32)
            w = [0.5 * (1.5 - place) ** 2, 0.75 - (place - 1) ** 2, 0.5 * (place - 0.5) ** 2]
            strain[p] = (ti.Matrix.identity(ti.f32, 2) + dt * affine[p]) @ strain[p]
            u, sigma, vt = ti.svd(strain[p])
            ratio = sigma[0, 0] * sigma[1, 1]
            stiff = 100.0
            if p % 2:
                stiff = 400.0
            stress = 2 * stiff * (strain[p] - u @ vt.transpose()) @ strain[p].transpose() + ti.Matrix.identity(ti.f32, 2) * stiff * ratio * (ratio - 1)
            all_of_it = (-dt * volume * 4 * GRID * GRID) * stress + volume * affine[p]
            for i, j in ti.static(ti.ndrange(3, 3)):
                away = (ti.Vector([i, j], ti.f32) - place) * dx
                weight = w[i][0] * w[j][1]
                momentum[base + ti.Vector([i, j])] += weight * (volume * v[p] + all_of_it @ away)
                mass[base + ti.Vector([i, j])] += weight * volume
        for i, j in mass:
            if mass[i, j] > 0:
                momentum[i, j] /= mass[i, j]
                momentum[i, j][1] -= dt * 50
                if i < 3 or i > GRID - 3:
                    momentum[i, j][0] = 0
                if j < 3 or j > GRID - 3:
                    momentum[i, j][1] = 0
        for p in x:
            base = ti.cast(x[p] * GRID - 0.5, ti.i32)
            place = x[p] * GRID - ti.cast(base, ti.f32)
            w = [0.5 * (1.5 - place) ** 2, 0.75 - (place - 1) ** 2, 0.5 * (place - 0.5) ** 2]
            new_v, new_affine = ti.Vector.zero(ti.f32, 2), ti.Matrix.zero(ti.f32, 2, 2)
            for i, j in ti.static(ti.ndrange(3, 3)):
                there = momentum[base + ti.Vector([i, j])]
                weight = w[i][0] * w[j][1]
                new_v += weight * there
                new_affine += 4 * GRID * weight * there.outer_product(ti.Vector([i, j], ti.f32) - place)
            v[p], affine[p] = new_v, new_affine
            x[p] += dt * new_v

    x.from_numpy((draw.random((GRAINS, 2)) * 0.4 + 0.3).astype(numpy.float32))
    v.from_numpy(numpy.tile(numpy.float32([[0.5, -2]]), (GRAINS, 1)))
    strain.from_numpy(numpy.tile(numpy.eye(2, dtype=numpy.float32), (GRAINS, 1, 1)))
    for _ in range(STEPS):
        step()
    out["positions"], out["deformation"] = x.to_numpy(), strain.to_numpy()

    old, new = (ti.ndarray(ti.f32, (32, 32)) for _ in range(2))

    @ti.kernel
    def fill(a: ti.types.ndarray(ndim=2)):
        for i, j in a:
            a[i, j] = ti.sin(i * 0.3) + ti.cos(j * 0.2)

    @ti.kernel
    def relax(a: ti.types.ndarray(ndim=2), b: ti.types.ndarray(ndim=2)):
        ti.loop_config(block_dim=64)
        for i, j in ti.ndrange((1, 31), (1, 31)):
            b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    fill(old)
    fill(new)
    for _ in range(5):
        relax(old, new)
        relax(new, old)
    out["relaxed"] = old.to_numpy()

    @ti.kernel
    def weigh():
        for row, column in inputs:
            sums[row] += weights[column] * inputs[row, column]

    @ti.kernel
    def measure():
        for row in sums:
            loss[None] += (ti.tanh(sums[row]) - 0.25) ** 2 / 128

    weights.from_numpy(draw.standard_normal(64).astype(numpy.float32) / 8)
    inputs.from_numpy(draw.standard_normal((128, 64)).astype(numpy.float32))
    with ti.ad.Tape(loss):
        weigh()
        measure()
    out["loss"], out["gradient"] = loss.to_numpy(), weights.grad.to_numpy()

    keys = ti.field(ti.i32, 500)
    keys.from_numpy(draw.permutation(500).astype(numpy.int32))
    ti.algorithms.parallel_sort(keys)
    out["sorted"] = keys.to_numpy()

    counts, numbers = ti.field(ti.i32, 16), ti.ndarray(ti.i64, 3000)
    numbers.from_numpy(draw.integers(-(2**40), 2**40, 3000))

    @ti.kernel
    def count(values: ti.types.ndarray()):
        for i in values:
            ti.atomic_add(counts[ti.cast(values[i] & 15, ti.i32)], 1)

    count(numbers)
    out["counts"] = counts.to_numpy()
    return out


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
