# SPDX-License-Identifier: Apache-2.0
"""Triton compiles kernels while the program runs; PyTorch holds the tensors. What is compared with is PyTorch on the CPU."""
import sys

import numpy
import torch

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

# Products of halves are summed in f32, and rounded once.
BOUNDS = {"softmax": 1e-6, "product_f16": 2e-3, "product_bf16": 1e-2, "product_f32": 1e-5, "product_s8": 0, "norm": 1e-5, "norm_gradient": 1e-5,
          "norm_weight_gradient": 1e-5, "attention": 5e-3, "attention_causal": 5e-3, "dropout": 1e-6, "scan": 1e-5, "sorted": 0, "histogram": 0,
          "sums": 1e-5}


def kernels():
    import triton
    import triton.language as tl

    @triton.jit
    def softmax(x, out, columns, BLOCK: tl.constexpr):
        row, places = tl.program_id(0), tl.arange(0, BLOCK)
        values = tl.load(x + row * columns + places, mask=places < columns, other=-float("inf"))
        power = tl.exp(values - tl.max(values, 0))
        tl.store(out + row * columns + places, power / tl.sum(power, 0), mask=places < columns)

    @triton.autotune([triton.Config({"M": 32, "N": 32, "K": 32}, num_warps=2, num_stages=3)], key=["m", "n", "k"])
    @triton.jit
    def product(a, b, out, m, n, k, ACTIVATE: tl.constexpr, ACCUMULATOR: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
        rows = tl.program_id(0) * M + tl.arange(0, M)
        columns = tl.program_id(1) * N + tl.arange(0, N)
        inner = tl.arange(0, K)
        total = tl.zeros((M, N), dtype=ACCUMULATOR)
        for begin in range(0, k, K):
            left = tl.load(a + rows[:, None] * k + begin + inner[None, :], mask=(rows[:, None] < m) & (begin + inner[None, :] < k), other=0)
            right = tl.load(b + (begin + inner[:, None]) * n + columns[None, :], mask=(begin + inner[:, None] < k) & (columns[None, :] < n), other=0)
            total = tl.dot(left, right, total, input_precision="ieee", out_dtype=ACCUMULATOR)
        if ACTIVATE:
            total = tl.where(total >= 0, total, 0.01 * total)
        tl.store(out + rows[:, None] * n + columns[None, :], total.to(out.dtype.element_ty), mask=(rows[:, None] < m) & (columns[None, :] < n))

    @triton.jit
    def norm(x, weight, bias, out, mean, scale, columns, BLOCK: tl.constexpr):
        row, places = tl.program_id(0), tl.arange(0, BLOCK)
        inside = places < columns
        values = tl.load(x + row * columns + places, mask=inside, other=0.0)
        middle = tl.sum(values, 0) / columns
        apart = tl.where(inside, values - middle, 0.0)
        factor = tl.rsqrt(tl.sum(apart * apart, 0) / columns + 1e-5)
        tl.store(mean + row, middle)
        tl.store(scale + row, factor)
        result = apart * factor * tl.load(weight + places, mask=inside) + tl.load(bias + places, mask=inside)
        tl.store(out + row * columns + places, result, mask=inside)

    @triton.jit
    def norm_backward(x, weight, mean, scale, given, out, weight_out, columns, BLOCK: tl.constexpr):
        row, places = tl.program_id(0), tl.arange(0, BLOCK)
        inside = places < columns
        factor = tl.load(scale + row)
        normal = tl.where(inside, (tl.load(x + row * columns + places, mask=inside, other=0.0) - tl.load(mean + row)) * factor, 0.0)
        came = tl.load(given + row * columns + places, mask=inside, other=0.0)
        weighed = came * tl.load(weight + places, mask=inside, other=0.0)
        along, middle = tl.sum(normal * weighed, 0) / columns, tl.sum(weighed, 0) / columns
        tl.store(out + row * columns + places, (weighed - normal * along - middle) * factor, mask=inside)
        tl.atomic_add(weight_out + places, came * normal, mask=inside)

    @triton.jit
    def attention(query, key, value, out, size, scale, CAUSAL: tl.constexpr, WIDTH: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
        start = tl.program_id(1) * size * WIDTH
        rows, width, columns = tl.program_id(0) * M + tl.arange(0, M), tl.arange(0, WIDTH), tl.arange(0, N)
        q = tl.load(query + start + rows[:, None] * WIDTH + width[None, :], mask=rows[:, None] < size, other=0.0)
        most = tl.full((M,), -float("inf"), tl.float32)
        total, sums = tl.zeros((M,), tl.float32), tl.zeros((M, WIDTH), tl.float32)
        end = tl.minimum((tl.program_id(0) + 1) * M, size) if CAUSAL else size
        for begin in range(0, end, N):
            here = begin + columns
            k = tl.load(key + start + here[None, :] * WIDTH + width[:, None], mask=here[None, :] < size, other=0.0)
            weights = tl.dot(q, k) * scale * 1.4426950408889634
            allowed = here[None, :] < size
            if CAUSAL:
                allowed = allowed & (rows[:, None] >= here[None, :])
            weights = tl.where(allowed, weights, -float("inf"))
            new_most = tl.maximum(most, tl.max(weights, 1))
            power, less = tl.exp2(weights - new_most[:, None]), tl.exp2(most - new_most)
            total = total * less + tl.sum(power, 1)
            v = tl.load(value + start + here[:, None] * WIDTH + width[None, :], mask=here[:, None] < size, other=0.0)
            sums = sums * less[:, None] + tl.dot(power.to(v.dtype), v)
            most = new_most
        tl.store(out + start + rows[:, None] * WIDTH + width[None, :], (sums / total[:, None]).to(out.dtype.element_ty), mask=rows[:, None] < size)

    @triton.jit
    def dropout(x, out, n, share, seed, BLOCK: tl.constexpr):
        places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        keep = tl.rand(seed, places) > share
        tl.store(out + places, tl.where(keep, tl.load(x + places, mask=places < n) / (1 - share), 0.0), mask=places < n)

    @triton.jit
    def collect(x, whole, scanned, ordered, counts, sums, BLOCK: tl.constexpr):
        places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        values = tl.load(x + places)
        numbers = tl.load(whole + places)
        tl.store(scanned + places, tl.cumsum(values, 0))
        tl.store(ordered + places, tl.sort(numbers))
        tl.atomic_add(counts + tl.arange(0, 32), tl.histogram(numbers % 32, 32))
        tl.atomic_add(sums, tl.sum(values, 0))

    return {name: kernel for name, kernel in locals().items() if name not in ("triton", "tl")} | {"tl": tl}


def inputs():
    draw = torch.Generator().manual_seed(59)
    f32 = lambda *shape: torch.randn(shape, generator=draw)
    return {"rows": f32(20, 90), "a": f32(70, 100), "b": f32(100, 50), "sa": torch.randint(-9, 9, (64, 64), generator=draw, dtype=torch.int8),
            "sb": torch.randint(-9, 9, (64, 64), generator=draw, dtype=torch.int8), "weight": f32(90), "bias": f32(90), "came": f32(20, 90),
            "qkv": [f32(3, 75, 32).half() for _ in range(3)], "many": f32(512), "whole": torch.randint(0, 10000, (512,), generator=draw, dtype=torch.int32)}


def philox(seed, places):
    """What tl.rand() gives: the first word of Philox 4x32 with ten rounds, below 1."""
    c = [places.astype(numpy.uint64)] + [numpy.zeros(len(places), numpy.uint64)] * 3
    keys, low = [numpy.uint64(seed), numpy.uint64(0)], numpy.uint64(0xFFFFFFFF)
    for _ in range(10):
        a, b = c[0] * numpy.uint64(0xD2511F53), c[2] * numpy.uint64(0xCD9E8D57)
        c = [(b >> numpy.uint64(32)) ^ c[1] ^ keys[0], b & low, (a >> numpy.uint64(32)) ^ c[3] ^ keys[1], a & low]
        keys = [(keys[0] + numpy.uint64(0x9E3779B9)) & low, (keys[1] + numpy.uint64(0xBB67AE85)) & low]
    word = c[0].astype(numpy.uint32).view(numpy.int32)
    return numpy.where(word < 0, -word - 1, word) * 4.6566127342e-10


def on_cpu(g):
    out = {"softmax": g["rows"].softmax(1)}
    leaky = torch.nn.functional.leaky_relu
    for name, kind in (("f16", torch.float16), ("bf16", torch.bfloat16), ("f32", torch.float32)):
        made = g["a"].to(kind).float() @ g["b"].to(kind).float()
        out[f"product_{name}"] = leaky(made) if name == "f16" else made
    out["product_s8"] = g["sa"].int() @ g["sb"].int()
    rows, weight, bias = (g[name].clone().requires_grad_() for name in ("rows", "weight", "bias"))
    made = torch.nn.functional.layer_norm(rows, (90,), weight, bias)
    made.backward(g["came"])
    out["norm"], out["norm_gradient"], out["norm_weight_gradient"] = made.detach(), rows.grad, weight.grad
    q, k, v = (x.float() for x in g["qkv"])
    for name, causal in (("attention", False), ("attention_causal", True)):
        out[name] = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    out["dropout"] = torch.from_numpy(numpy.where(philox(7, numpy.arange(2048)) > 0.25, 1 / 0.75, 0))
    blocks = g["many"].reshape(4, 128)
    out["scan"], out["sorted"] = blocks.cumsum(1).flatten(), g["whole"].reshape(4, 128).sort(1).values.flatten()
    out["histogram"], out["sums"] = torch.bincount(g["whole"] % 32, minlength=32), g["many"].sum().reshape(1)
    return out


def on_cuda(g):
    made = kernels()
    put = lambda x: x.contiguous().cuda()
    room = lambda *shape, kind=torch.float32: torch.zeros(shape, dtype=kind).cuda()
    out = {"softmax": room(20, 90)}
    rows = put(g["rows"])
    made["softmax"][(20,)](rows, out["softmax"], 90, BLOCK=128)
    tl = made["tl"]
    for name, kind in (("f16", torch.float16), ("bf16", torch.bfloat16), ("f32", torch.float32)):
        out[f"product_{name}"] = room(70, 50, kind=kind)
        grid = lambda options: (-(-70 // options["M"]), -(-50 // options["N"]))
        made["product"][grid](put(g["a"].to(kind)), put(g["b"].to(kind)), out[f"product_{name}"], 70, 50, 100, ACTIVATE=name == "f16", ACCUMULATOR=tl.float32)
    out["product_s8"] = room(64, 64, kind=torch.int32)
    made["product"][(2, 2)](put(g["sa"]), put(g["sb"]), out["product_s8"], 64, 64, 64, ACTIVATE=False, ACCUMULATOR=tl.int32)
    weight, mean, scale = put(g["weight"]), room(20), room(20)
    out["norm"], out["norm_gradient"], out["norm_weight_gradient"] = room(20, 90), room(20, 90), room(90)
    made["norm"][(20,)](rows, weight, put(g["bias"]), out["norm"], mean, scale, 90, BLOCK=128)
    made["norm_backward"][(20,)](rows, weight, mean, scale, put(g["came"]), out["norm_gradient"], out["norm_weight_gradient"], 90, BLOCK=128)
    parts = [put(x) for x in g["qkv"]]
    for name, causal in (("attention", False), ("attention_causal", True)):
        out[name] = room(3, 75, 32, kind=torch.float16)
        made["attention"][(3, 3)](*parts, out[name], 75, 32**-0.5, CAUSAL=causal, WIDTH=32, M=32, N=32)
    out["dropout"] = room(2048)
    made["dropout"][(16,)](put(torch.ones(2048)), out["dropout"], 2048, 0.25, 7, BLOCK=128)
    out["scan"], out["sorted"], out["histogram"], out["sums"] = room(512), room(512, kind=torch.int32), room(32, kind=torch.int32), room(1)
    made["collect"][(4,)](put(g["many"]), put(g["whole"]), out["scan"], out["sorted"], out["histogram"], out["sums"], BLOCK=128)
    torch.cuda.synchronize()
    return out


def run(backend, folder):
    found = (on_cuda if backend == "cuda" else on_cpu)(inputs())
    return {name: (value.cpu().float() if value.dtype in (torch.float16, torch.bfloat16) else value.cpu()).numpy() for name, value in found.items()}


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
