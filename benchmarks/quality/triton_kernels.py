# SPDX-License-Identifier: Apache-2.0
"""What triton_tutorials.py compiles: a kernel of the kind of each tutorial that does not need capability 9.0, and NumPy's results."""
import dataclasses

import numpy

import triton
import triton.language as tl


@dataclasses.dataclass
class Case:
    name: str
    kernel: object
    arguments: list  # arrays and whole numbers
    constants: dict
    grid: int
    written: set  # which arguments
    expected: list


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = places < n
    tl.store(out + places, tl.load(x + places, mask=inside) + tl.load(y + places, mask=inside), mask=inside)


@triton.jit
def softmax(x, out, columns, rows, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    for row in range(tl.program_id(0), rows, tl.num_programs(0)):
        values = tl.load(x + row * columns + places, mask=places < columns, other=-float("inf"))
        powers = tl.exp(values - tl.max(values, 0))
        tl.store(out + row * columns + places, powers / tl.sum(powers, 0), mask=places < columns)


@triton.jit
def tile(a, b, row, column, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """A tile of a product: a has rows of k, b too (it is transposed)."""
    rows, columns, inner = row * M + tl.arange(0, M), column * N + tl.arange(0, N), tl.arange(0, K)
    left, right = a + rows[:, None] * k + inner[None, :], b + columns[None, :] * k + inner[:, None]
    sums = tl.zeros((M, N), dtype=tl.float32)
    for _ in range(0, k, K):
        sums = tl.dot(tl.load(left), tl.load(right), sums)
        left += K
        right += K
    return sums


@triton.jit
def store_tile(out, row, column, n, sums, M: tl.constexpr, N: tl.constexpr):
    rows, columns = row * M + tl.arange(0, M), column * N + tl.arange(0, N)
    tl.store(out + rows[:, None] * n + columns[None, :], sums.to(out.dtype.element_ty))


@triton.jit
def product(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, GROUP: tl.constexpr):
    program, across = tl.program_id(0), n // N
    first = program // (GROUP * across) * GROUP  # of rows of tiles that share columns in the cache
    height = min(m // M - first, GROUP)
    row, column = first + program % (GROUP * across) % height, program % (GROUP * across) // height
    store_tile(out, row, column, n, tile(a, b, row, column, k, M, N, K), M, N)


@triton.jit
def dropout(x, out, n, seed, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + places, mask=places < n)
    tl.store(out + places, tl.where(tl.rand(seed, places) > 0.3, values / 0.7, 0.0), mask=places < n)


@triton.jit
def norm(x, weight, bias, out, mean, scale, columns, BLOCK: tl.constexpr):
    row, places = tl.program_id(0), tl.arange(0, BLOCK)
    inside = places < columns
    values = tl.load(x + row * columns + places, mask=inside, other=0.0)
    middle = tl.sum(values, 0) / columns
    apart = tl.where(inside, values - middle, 0.0)
    factor = 1 / tl.sqrt(tl.sum(apart * apart, 0) / columns + 1e-5)
    tl.store(mean + row, middle)
    tl.store(scale + row, factor)
    result = apart * factor * tl.load(weight + places, mask=inside) + tl.load(bias + places, mask=inside)
    tl.store(out + row * columns + places, result, mask=inside)


@triton.jit
def norm_gradient(x, weight, mean, scale, given, out, columns, BLOCK: tl.constexpr):
    row, places = tl.program_id(0), tl.arange(0, BLOCK)
    inside = places < columns
    factor = tl.load(scale + row)
    normal = tl.where(inside, (tl.load(x + row * columns + places, mask=inside, other=0.0) - tl.load(mean + row)) * factor, 0.0)
    weighted = tl.load(given + row * columns + places, mask=inside, other=0.0) * tl.load(weight + places, mask=inside, other=0.0)
    along, middle = tl.sum(normal * weighted, 0) / columns, tl.sum(weighted, 0) / columns
    tl.store(out + row * columns + places, (weighted - normal * along - middle) * factor, mask=inside)


@triton.jit
def attention(q, k, v, out, length, M: tl.constexpr, N: tl.constexpr, D: tl.constexpr):
    begin, head = tl.program_id(0) % (length // M) * M, tl.program_id(0) // (length // M) * length * D
    rows, depth = begin + tl.arange(0, M), tl.arange(0, D)
    queries = tl.load(q + head + rows[:, None] * D + depth[None, :])
    most, weight, sums = tl.full((M,), -float("inf"), tl.float32), tl.zeros((M,), tl.float32), tl.zeros((M, D), tl.float32)
    for first in range(0, begin + M, N):
        columns = first + tl.arange(0, N)
        keys = tl.load(k + head + columns[None, :] * D + depth[:, None])
        scores = tl.where(rows[:, None] >= columns[None, :], tl.dot(queries, keys) * (1.44269504 * D**-0.5), -float("inf"))
        higher = tl.maximum(most, tl.max(scores, 1))
        powers, less = tl.exp2(scores - higher[:, None]), tl.exp2(most - higher)
        values = tl.load(v + head + columns[:, None] * D + depth[None, :])
        weight, sums, most = weight * less + tl.sum(powers, 1), tl.dot(powers.to(tl.float16), values, sums * less[:, None]), higher
    tl.store(out + head + rows[:, None] * D + depth[None, :], (sums / weight[:, None]).to(tl.float16))


@triton.jit
def grouped(a, b, out, sizes, count, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Several products of different sizes: rows, columns and depth of each."""
    at, begin = tl.program_id(0), 0  # the next tile of this program; the first tile of the product
    a_begin, b_begin, out_begin = 0, 0, 0
    for i in range(count):
        m, n, k = tl.load(sizes + 3 * i), tl.load(sizes + 3 * i + 1), tl.load(sizes + 3 * i + 2)
        tiles = (m // M) * (n // N)
        while at < begin + tiles:
            row, column = (at - begin) // (n // N), (at - begin) % (n // N)
            store_tile(out + out_begin, row, column, n, tile(a + a_begin, b + b_begin, row, column, k, M, N, K), M, N)
            at += tl.num_programs(0)
        begin += tiles
        a_begin, b_begin, out_begin = a_begin + m * k, b_begin + n * k, out_begin + m * n


@triton.jit
def persistent(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    for at in range(tl.program_id(0), (m // M) * (n // N), tl.num_programs(0)):
        row, column = at // (n // N), at % (n // N)
        store_tile(out, row, column, n, tile(a, b, row, column, k, M, N, K), M, N)


@triton.jit
def scaled(a, a_scale, b, b_scale, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    """Elements of e5m2 with a power of two for each 32 of them (e8m0)."""
    row, column = tl.program_id(0) // (n // N), tl.program_id(0) % (n // N)
    rows, columns, inner, blocks = row * M + tl.arange(0, M), column * N + tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    sums = tl.zeros((M, N), dtype=tl.float32)
    for first in range(0, k, K):
        left = tl.load(a + rows[:, None] * k + first + inner[None, :])
        right = tl.load(b + columns[None, :] * k + first + inner[:, None])
        left_scale = tl.load(a_scale + rows[:, None] * (k // 32) + first // 32 + blocks[None, :])
        right_scale = tl.load(b_scale + columns[:, None] * (k // 32) + first // 32 + blocks[None, :])
        sums = tl.dot_scaled(left, left_scale, "e5m2", right, right_scale, "e5m2", sums)
    store_tile(out, row, column, n, sums, M, N)


def from_e5m2(bits):
    return (bits.astype(numpy.uint16) << 8).view(numpy.float16).astype(numpy.float64)


def cases():
    draw = numpy.random.default_rng(1)

    def normal(*shape, kind=numpy.float32):
        return draw.standard_normal(shape, numpy.float32).astype(kind)

    def wide(array):
        return array.astype(numpy.float64)

    x, y = normal(5000), normal(5000)
    yield Case("01 sum", add, [x, y, numpy.zeros_like(x), x.size], {"BLOCK": 1024}, 5, {2}, [x + y])

    x = normal(24, 781)
    power = numpy.exp(wide(x) - x.max(1, keepdims=True))
    yield Case("02 softmax", softmax, [x, numpy.zeros_like(x), 781, 24], {"BLOCK": 1024}, 8, {1}, [power / power.sum(1, keepdims=True)])

    m, n, k = 256, 192, 128
    a, b, tiles = normal(m, k, kind=numpy.float16), normal(n, k, kind=numpy.float16), {"M": 64, "N": 64, "K": 32}
    expected = wide(a) @ wide(b).T
    yield Case("03 product", product, [a, b, numpy.zeros((m, n), numpy.float16), m, n, k], tiles | {"GROUP": 2}, 12, {2}, [expected])

    x = normal(5000)
    yield Case("04 dropout", dropout, [x, numpy.zeros_like(x), x.size, 1234], {"BLOCK": 1024}, 5, {1}, [dropped(x, 1234)])

    x, weight, bias, given = normal(16, 1000), normal(1000), normal(1000), normal(16, 1000)
    mean, deviation = wide(x).mean(1, keepdims=True), numpy.sqrt(wide(x).var(1, keepdims=True) + 1e-5)
    rows = [numpy.zeros(16, numpy.float32) for _ in range(2)]
    unit = (wide(x) - mean) / deviation
    yield Case("05 norm", norm, [x, weight, bias, numpy.zeros_like(x), *rows, 1000], {"BLOCK": 1024}, 16, {3, 4, 5},
               [unit * weight + bias, mean[:, 0], 1 / deviation[:, 0]])
    weighted = wide(given) * weight
    gradient = (weighted - unit * (unit * weighted).mean(1, keepdims=True) - weighted.mean(1, keepdims=True)) / deviation
    measured = [array[:, 0].astype(numpy.float32) for array in (mean, 1 / deviation)]
    yield Case("05 gradient", norm_gradient, [x, weight, *measured, given, numpy.zeros_like(x), 1000], {"BLOCK": 1024}, 16, {5}, [gradient])

    q, k_, v = (normal(2, 256, 64, kind=numpy.float16) for _ in range(3))
    scores = wide(q) @ wide(k_).transpose(0, 2, 1) / 8
    scores[:, ~numpy.tri(256, dtype=bool)] = -numpy.inf
    power = numpy.exp(scores - scores.max(2, keepdims=True))
    yield Case("06 attention", attention, [q, k_, v, numpy.zeros_like(q), 256], {"M": 64, "N": 32, "D": 64}, 8, {3},
               [power / power.sum(2, keepdims=True) @ wide(v)])

    sizes = numpy.array([[128, 128, 64], [64, 192, 128], [192, 64, 96]], numpy.int32)
    lefts, rights = [[normal(row[i], row[2], kind=numpy.float16) for row in sizes] for i in (0, 1)]
    products = [wide(left) @ wide(right).T for left, right in zip(lefts, rights)]
    flat = [numpy.concatenate([array.ravel() for array in arrays]) for arrays in (lefts, rights, products)]
    yield Case("08 grouped", grouped, [*flat[:2], numpy.zeros(flat[2].size, numpy.float16), sizes, len(sizes)], tiles, 4, {2}, [flat[2]])

    yield Case("09 persistent", persistent, [a, b, numpy.zeros((m, n), numpy.float16), m, n, k], tiles, 4, {2}, [expected])

    m, n, k = 128, 128, 128
    sides = [draw.integers(0, 128, (size, k), numpy.uint8) % 0x78 | draw.integers(0, 2, (size, k), numpy.uint8) << 7 for size in (m, n)]
    scales = [draw.integers(124, 130, (size, k // 32), numpy.uint8) for size in (m, n)]
    left, right = (from_e5m2(side) * numpy.repeat(2.0 ** (scale.astype(int) - 127), 32, 1) for side, scale in zip(sides, scales))
    yield Case("10 scaled", scaled, [sides[0], scales[0], sides[1], scales[1], numpy.zeros((m, n), numpy.float32), m, n, k],
               {"M": 64, "N": 64, "K": 64}, 4, {4}, [left @ right.T])


def dropped(x, seed):
    """Philox of ten rounds, of which the first word is the random number."""
    words = [numpy.arange(x.size, dtype=numpy.uint64), *(numpy.zeros(x.size, numpy.uint64) for _ in range(3))]
    low, key = numpy.uint64(0xFFFFFFFF), [numpy.uint64(seed), numpy.uint64(0)]
    shift = numpy.uint64(32)
    for _ in range(10):
        first, second = numpy.uint64(0xD2511F53) * words[0], numpy.uint64(0xCD9E8D57) * words[2]
        words = [(second >> shift) ^ words[1] ^ key[0], second & low, (first >> shift) ^ words[3] ^ key[1], first & low]
        key = [(key[0] + numpy.uint64(0x9E3779B9)) & low, (key[1] + numpy.uint64(0xBB67AE85)) & low]
    signed = words[0].astype(numpy.uint32).view(numpy.int32)
    number = numpy.where(signed < 0, -signed - 1, signed).astype(numpy.float32) * numpy.float32(4.6566127342e-10)
    return numpy.where(number > numpy.float32(0.3), x / numpy.float32(0.7), 0)
