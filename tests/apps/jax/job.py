# SPDX-License-Identifier: Apache-2.0
"""JAX, which compiles by XLA and Triton while it runs, and calls cuBLAS, cuDNN, cuFFT and cuSOLVER: two small networks that are trained, and functions of
its library one by one, on the GPU beside XLA's CPU back end."""
import os
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

# Products of f32 have full precision (HIGHEST). bf16 has eight bits.
BOUNDS = {"convolution_losses": 1e-4, "convolution_weights": 1e-3, "transformer_losses": 2e-4, "transformer_losses_bf16": 3e-2, "attention": 1e-5, "product": 1e-5,
          "product_bf16": 1e-2, "scan": 1e-5, "while": 0, "sorted": 0, "order": 0, "segments": 1e-5, "uniform": 0, "normal": 1e-5, "spectrum": 1e-5, "solution": 1e-4,
          "singular_values": 1e-5, "eigenvalues": 1e-5, "hessian": 1e-5, "windows": 1e-5}
STEPS = 8


def adam(jax, jnp, loss, weights, steps):
    """Losses of each step, and the last weights."""
    zeros = jax.tree.map(jnp.zeros_like, weights)

    @jax.jit
    def step(weights, first, second, count):
        value, slope = jax.value_and_grad(loss)(weights)
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slope)
        second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, slope)
        move = jax.tree.map(lambda m, v: 0.01 * (m / (1 - 0.9**count)) / (jnp.sqrt(v / (1 - 0.99**count)) + 1e-4), first, second)
        return value, jax.tree.map(lambda w, d: w - d, weights, move), first, second

    losses, first, second = [], zeros, zeros
    for count in range(1, steps + 1):
        value, weights, first, second = step(weights, first, second, jnp.float32(count))
        losses.append(value)
    return jnp.stack(losses), weights


def convolution(jax, jnp, draw):
    pictures, labels = jnp.asarray(draw.standard_normal((16, 12, 12, 3)), jnp.float32), jnp.asarray(draw.integers(0, 5, 16))
    weights = [jnp.asarray(draw.standard_normal(shape) * 0.2, jnp.float32) for shape in ((3, 3, 3, 8), (3, 3, 8, 8), (72, 5))]

    def loss(weights):
        x = pictures
        for kernel, stride in zip(weights[:2], (1, 2)):
            x = jax.nn.relu(jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").reshape(16, -1)
        return -jnp.take_along_axis(jax.nn.log_softmax(x @ weights[2]), labels[:, None], 1).mean()

    return adam(jax, jnp, loss, weights, STEPS)


def transformer(jax, jnp, draw, kind):
    size, length, words = 32, 16, 24
    text = jnp.asarray(draw.integers(0, words, (4, length + 1)))
    shapes = {"embed": (words, size), "place": (length, size), "qkv": (size, 3 * size), "out": (size, size), "up": (size, 4 * size), "down": (4 * size, size)}
    weights = {name: jnp.asarray(draw.standard_normal(shape) * 0.1, jnp.float32) for name, shape in shapes.items()}

    def loss(weights):
        w = {name: value.astype(kind) for name, value in weights.items()}
        norm = lambda x: (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-3)
        x = w["embed"][text[:, :-1]] + w["place"]
        q, k, v = (part.reshape(4, length, 4, size // 4) for part in jnp.split(norm(x) @ w["qkv"], 3, -1))
        x = x + jax.nn.dot_product_attention(q, k, v, is_causal=True).reshape(4, length, size) @ w["out"]
        x = x + jax.nn.gelu(norm(x) @ w["up"]) @ w["down"]
        guess = jax.nn.log_softmax((norm(x) @ w["embed"].T).astype(jnp.float32))
        return -jnp.take_along_axis(guess, text[:, 1:, None], -1).mean()

    return adam(jax, jnp, loss, weights, STEPS)


def run(backend, folder):
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_platforms", "cuda" if backend == "cuda" else "cpu")
    jax.config.update("jax_default_matmul_precision", "highest")
    assert jax.devices()[0].platform == ("gpu" if backend == "cuda" else "cpu"), jax.devices()
    draw = numpy.random.default_rng(17)
    normal = lambda *shape: jnp.asarray(draw.standard_normal(shape), jnp.float32)
    out = {}
    out["convolution_losses"], weights = convolution(jax, jnp, draw)
    out["convolution_weights"] = jnp.concatenate([w.ravel() for w in weights])
    out["transformer_losses"], _ = transformer(jax, jnp, numpy.random.default_rng(5), jnp.float32)
    out["transformer_losses_bf16"], _ = transformer(jax, jnp, numpy.random.default_rng(5), jnp.bfloat16)
    q, k, v = normal(2, 24, 4, 16), normal(2, 24, 4, 16), normal(2, 24, 4, 16)
    out["attention"] = jax.jit(jax.nn.dot_product_attention)(q, k, v)
    a, b = normal(70, 90), normal(90, 50)
    out["product"] = jax.jit(jnp.matmul)(a, b)
    out["product_bf16"] = jax.jit(jnp.matmul)(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16)).astype(jnp.float32)
    out["scan"] = jax.jit(lambda x: jax.lax.scan(lambda carry, row: (0.9 * carry + row, jnp.tanh(carry)), jnp.zeros(40), x)[1])(normal(30, 40))
    collatz = lambda n: jax.lax.while_loop(lambda s: s[0] != 1, lambda s: (jnp.where(s[0] % 2, 3 * s[0] + 1, s[0] // 2), s[1] + 1), (n, 0))[1]
    out["while"] = jax.jit(jax.vmap(collatz))(jnp.arange(1, 200))
    keys = jnp.asarray(draw.integers(0, 1000, (4, 3000)))
    out["sorted"], out["order"] = jax.jit(lambda x: jnp.sort(x, axis=1))(keys), jax.jit(lambda x: jnp.argsort(x, axis=1, stable=True))(keys)
    out["segments"] = jax.jit(lambda x, at: jax.ops.segment_sum(x, at, 50))(normal(2000), jnp.asarray(draw.integers(0, 50, 2000)))
    key = jax.random.key(3)
    out["uniform"], out["normal"] = jax.random.bits(key, (1000,)), jax.random.normal(key, (1000,))
    out["spectrum"] = jnp.abs(jnp.fft.rfft2(normal(32, 48)))
    square = normal(24, 24)
    positive = square @ square.T + jnp.eye(24)
    out["solution"] = jnp.linalg.solve(positive, normal(24, 3))
    out["singular_values"] = jnp.linalg.svd(square, compute_uv=False)
    out["eigenvalues"] = jnp.linalg.eigvalsh(positive)
    out["hessian"] = jax.jit(jax.hessian(lambda x: jnp.sum(jnp.sin(x) ** 3 * jnp.roll(x, 1))))(normal(20))
    out["windows"] = jax.jit(lambda x: jax.lax.reduce_window(x, 0.0, jax.lax.add, (5, 5), (1, 1), "SAME").cumsum(0))(normal(40, 40))
    return {name: numpy.asarray(value) for name, value in out.items()}


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
