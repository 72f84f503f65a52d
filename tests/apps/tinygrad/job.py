# SPDX-License-Identifier: Apache-2.0
"""tinygrad writes C++ for each fused kernel and compiles it by NVRTC: training, attention, gradients, types. The CPU's side is its
own interpreter of such kernels."""
import os
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

# Sums of f32 are taken in another order.
BOUNDS = {"losses": 1e-4, "weights": 1e-3, "attention": 1e-5, "gradients": 1e-4, "half": 2e-3, "sums": 1e-5, "random": 1e-6, "sorted": 0, "integers": 0}


def run(backend, folder):
    os.environ["DEV"] = "CUDA" if backend == "cuda" else "PYTHON"
    os.environ["CACHEDB"] = str(folder / f"tinygrad.{backend}.db")
    from tinygrad import Context, Device, Tensor, dtypes, nn

    assert Device.DEFAULT == os.environ["DEV"], Device.DEFAULT
    draw = numpy.random.default_rng(17)

    def drawn(*shape):
        return Tensor(draw.standard_normal(shape).astype(numpy.float32) * numpy.float32(0.2))

    out = {}
    images = draw.standard_normal((8, 1, 8, 8)).astype(numpy.float32)
    labels = (images.mean((1, 2, 3)) > 0).astype(numpy.int32)
    filters, dense = drawn(4, 1, 3, 3), drawn(36, 2)
    for weights in (filters, dense):
        weights.requires_grad = True
    optimiser, losses = nn.optim.Adam([filters, dense], lr=0.01), []
    with Context(TRAINING=1):
        for _ in range(6):
            guess = Tensor(images).conv2d(filters).relu().max_pool2d((2, 2)).flatten(1) @ dense
            loss = guess.sparse_categorical_crossentropy(Tensor(labels))
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            losses.append(loss.item())
    out["losses"], out["weights"] = losses, numpy.concatenate([filters.numpy().ravel(), dense.numpy().ravel()])

    query, key, value = (drawn(1, 2, 12, 8) for _ in range(3))
    for each in (query, key, value):
        each.requires_grad = True
    attended = query.scaled_dot_product_attention(key, value, is_causal=True)
    (attended * attended).sum().backward()
    out["attention"] = attended.numpy()
    out["gradients"] = numpy.stack([each.grad.numpy() for each in (query, key, value)])

    a, b = drawn(16, 24).cast(dtypes.float16), drawn(24, 16).cast(dtypes.float16)
    out["half"] = (a @ b).float().numpy()
    cube = drawn(6, 10, 14)
    out["sums"] = numpy.concatenate([cube.sum(axis=i).numpy().ravel() for i in range(3)] + [cube.exp().mean().numpy().ravel(), cube.std((0, 2)).numpy()])
    Tensor.manual_seed(3)
    out["random"] = Tensor.rand(64).numpy()
    out["sorted"] = Tensor(draw.permutation(64).astype(numpy.int32)).sort()[0].numpy()
    whole = Tensor(draw.integers(0, 2**31, 100).astype(numpy.int64))
    out["integers"] = ((whole * 3) % 1000 ^ (whole // 7)).cumsum().numpy()
    return out


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
