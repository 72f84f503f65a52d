# SPDX-License-Identifier: Apache-2.0
"""Warp compiles Python functions for the CPU and for CUDA, and brings kernels of its own: hash grids, hierarchies of boxes for
meshes, marching cubes, radix sorts, scans, sparse matrices. Tiles are products in shared memory."""
import sys

import numpy
import warp as wp

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

# Its compiler is inside of it, and makes machine code of NVIDIA's GPUs if it is not told otherwise. From version 1.11 on, it makes that of
# PTX, too: it was built with a newer CUDA than our driver's, and does not leave PTX to older drivers.
wp.config.cuda_output = "ptx"

# Atomic sums of f32 come in any order.
BOUNDS = {"density": 1e-5, "hits": 1e-4, "closest": 1e-3, "cloth": 1e-4, "gradient": 1e-4, "surface": 1e-5, "tile_sums": 1e-5, "tiles": 1e-6, "keys": 0, "order": 0, "scan": 0,
          "sparse": 1e-5, "random": 1e-6}
POINTS, CLOTH, STEPS, TILE = 400, 12, 20, 16


@wp.kernel
def density(grid: wp.uint64, points: wp.array(dtype=wp.vec3), radius: float, out: wp.array(dtype=float)):
    i = wp.hash_grid_point_id(grid, wp.tid())
    total = float(0.0)
    for j in wp.hash_grid_query(grid, points[i], radius):
        away = wp.length(points[i] - points[j])
        if away < radius:
            total += (1.0 - away / radius) * (1.0 - away / radius)
    out[i] = total


@wp.kernel
def cast(mesh: wp.uint64, side: int, hits: wp.array(dtype=wp.vec4)):
    i, j = wp.tid()
    start = wp.vec3(float(i) / float(side) * 2.0 - 0.97, float(j) / float(side) * 2.0 - 0.97, 3.0)
    query = wp.mesh_query_ray(mesh, start, wp.vec3(0.0, 0.0, -1.0), 10.0)
    if query.result:
        hits[i * side + j] = wp.vec4(query.t, query.normal[0], query.normal[1], query.normal[2])


@wp.kernel
def nearest(mesh: wp.uint64, points: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    query = wp.mesh_query_point_sign_normal(mesh, points[i], 5.0)
    if query.result:
        out[i] = wp.mesh_eval_position(mesh, query.face, query.u, query.v) * query.sign


@wp.kernel
def pull(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), springs: wp.array2d(dtype=int), rest: wp.array(dtype=float), f: wp.array(dtype=wp.vec3)):
    s = wp.tid()
    i, j = springs[s, 0], springs[s, 1]
    along = x[i] - x[j]
    size = wp.length(along)
    direction = along / size
    force = direction * (60.0 * (size - rest[s]) + 0.5 * wp.dot(direction, v[i] - v[j]))
    wp.atomic_sub(f, i, force)
    wp.atomic_add(f, j, force)


@wp.kernel
def move(x: wp.array(dtype=wp.vec3), v: wp.array(dtype=wp.vec3), f: wp.array(dtype=wp.vec3), free: wp.array(dtype=float), gravity: wp.array(dtype=float),
         new_x: wp.array(dtype=wp.vec3), new_v: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    new_v[i] = v[i] + (f[i] + wp.vec3(0.0, gravity[0], 0.0)) * 0.01 * free[i]
    new_x[i] = x[i] + new_v[i] * 0.01


@wp.kernel
def height(x: wp.array(dtype=wp.vec3), out: wp.array(dtype=float)):
    wp.atomic_add(out, 0, x[wp.tid()][1])


@wp.kernel
def field(out: wp.array3d(dtype=float)):
    i, j, k = wp.tid()
    out[i, j, k] = wp.length(wp.vec3(float(i) - 5.5, float(j) - 5.4, float(k) - 5.3)) - 3.7 + 0.3 * wp.sin(float(i))


@wp.kernel
def tiles(a: wp.array2d(dtype=float), sums: wp.array2d(dtype=float), scaled: wp.array2d(dtype=float)):
    """Sums of blocks, and blocks transposed; products of tiles would need NVIDIA's library that makes machine code."""
    i, j = wp.tid()
    block = wp.tile_load(a, shape=(TILE, TILE), offset=(i * TILE, j * TILE))
    wp.tile_store(sums, wp.tile_broadcast(wp.tile_sum(block * 2.0), shape=(1, 1)), offset=(i, j))
    wp.tile_store(scaled, wp.tile_transpose(wp.tile_map(wp.sin, block)), offset=(j * TILE, i * TILE))


@wp.kernel
def noise(out: wp.array(dtype=float)):
    i = wp.tid()
    state = wp.rand_init(42, i)
    out[i] = wp.randf(state) + wp.randn(state) + wp.noise(state, wp.vec2(float(i) * 0.1, 0.5))


def sphere():
    """An octahedron, divided."""
    points = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
    faces = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    points = [numpy.array(p, float) for p in points]
    for _ in range(3):
        divided, middles = [], {}

        def middle(a, b):
            key = (min(a, b), max(a, b))
            if key not in middles:
                p = points[a] + points[b]
                points.append(p / numpy.linalg.norm(p))
                middles[key] = len(points) - 1
            return middles[key]

        for a, b, c in faces:
            ab, bc, ca = middle(a, b), middle(b, c), middle(c, a)
            divided += [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        faces = divided
    return numpy.array(points, numpy.float32), numpy.array(faces, numpy.int32).ravel()


def cloth():
    place = lambda i, j: i * CLOTH + j
    x = numpy.array([(i * 0.1, 0, j * 0.1) for i in range(CLOTH) for j in range(CLOTH)], numpy.float32)
    pairs = [(place(i, j), place(i + a, j + b)) for i in range(CLOTH) for j in range(CLOTH) for a, b in ((0, 1), (1, 0), (1, 1)) if i + a < CLOTH and j + b < CLOTH]
    springs = numpy.array(pairs, numpy.int32)
    rest = numpy.linalg.norm(x[springs[:, 0]] - x[springs[:, 1]], axis=1).astype(numpy.float32)
    free = numpy.ones(len(x), numpy.float32)
    free[[place(0, 0), place(0, CLOTH - 1)]] = 0
    return x, springs, rest, free


def run(backend, folder):
    import warp.sparse

    wp.config.kernel_cache_dir = str(folder / f"warp.{backend}")
    wp.init()
    wp.set_device("cuda:0" if backend == "cuda" else "cpu")
    draw = numpy.random.default_rng(23)
    out = {}
    points = wp.array(draw.random((POINTS, 3)).astype(numpy.float32), dtype=wp.vec3)
    grid, dense = wp.HashGrid(16, 16, 16), wp.zeros(POINTS, dtype=float)
    grid.build(points, 0.15)
    wp.launch(density, POINTS, [grid.id, points, 0.15, dense])
    out["density"] = dense.numpy()

    vertices, faces = sphere()
    mesh = wp.Mesh(wp.array(vertices, dtype=wp.vec3), wp.array(faces, dtype=int))
    hits, close = wp.zeros(400, dtype=wp.vec4), wp.zeros(POINTS, dtype=wp.vec3)
    wp.launch(cast, (20, 20), [mesh.id, 20, hits])
    wp.launch(nearest, POINTS, [mesh.id, points, close])
    out["hits"], out["closest"] = hits.numpy(), close.numpy()

    x, springs, rest, free = cloth()
    fixed = [wp.array(springs, dtype=int), wp.array(rest, dtype=float)]
    gravity, free = wp.array([-9.8], dtype=float, requires_grad=True), wp.array(free, dtype=float)
    places = [wp.array(x, dtype=wp.vec3, requires_grad=True)] + [wp.zeros(len(x), dtype=wp.vec3, requires_grad=True) for _ in range(STEPS)]
    speeds = [wp.zeros(len(x), dtype=wp.vec3, requires_grad=True) for _ in range(STEPS + 1)]
    forces = [wp.zeros(len(x), dtype=wp.vec3, requires_grad=True) for _ in range(STEPS)]
    loss = wp.zeros(1, dtype=float, requires_grad=True)
    with wp.Tape() as tape:
        for i in range(STEPS):
            wp.launch(pull, len(springs), [places[i], speeds[i], *fixed, forces[i]])
            wp.launch(move, len(x), [places[i], speeds[i], forces[i], free, gravity, places[i + 1], speeds[i + 1]])
        wp.launch(height, len(x), [places[STEPS], loss])
    tape.backward(loss)
    out["cloth"], out["gradient"] = places[STEPS].numpy(), gravity.grad.numpy()

    values = wp.zeros((12, 12, 12), dtype=float)
    wp.launch(field, values.shape, [values])
    cubes = wp.MarchingCubes(12, 12, 12)
    cubes.surface(values, 0.0)
    found = cubes.verts.numpy()
    # Their order is that in which threads came.
    out["surface"] = found[numpy.lexsort(numpy.round(found, 3).T)]

    a = wp.array(draw.standard_normal((48, 48)).astype(numpy.float32))
    sums, scaled = wp.zeros((3, 3), dtype=float), wp.zeros((48, 48), dtype=float)
    wp.launch_tiled(tiles, dim=(3, 3), inputs=[a, sums, scaled], block_dim=64)
    out["tile_sums"], out["tiles"] = sums.numpy(), scaled.numpy()

    keys = wp.zeros(2000, dtype=int)
    keys.assign(numpy.concatenate([draw.permutation(1000), numpy.zeros(1000)]).astype(numpy.int32))
    order = wp.array(numpy.arange(2000, dtype=numpy.int32))
    wp.utils.radix_sort_pairs(keys, order, 1000)
    out["keys"], out["order"] = keys.numpy()[:1000], order.numpy()[:1000]
    sums = wp.zeros(1000, dtype=int)
    wp.utils.array_scan(wp.array(draw.integers(0, 9, 1000).astype(numpy.int32)), sums, inclusive=False)
    out["scan"] = sums.numpy()

    rows, columns = (wp.array(draw.integers(0, 40, 300).astype(numpy.int32)) for _ in range(2))
    matrix = wp.sparse.bsr_from_triplets(40, 40, rows, columns, wp.array(draw.standard_normal(300).astype(numpy.float32)))
    square = wp.sparse.bsr_mm(matrix, matrix)
    out["sparse"] = wp.sparse.bsr_mv(square, wp.array(draw.standard_normal(40).astype(numpy.float32))).numpy()
    many = wp.zeros(500, dtype=float)
    wp.launch(noise, 500, [many])
    out["random"] = many.numpy()
    return out


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
