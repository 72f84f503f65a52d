# SPDX-License-Identifier: Apache-2.0
"""bitsandbytes quantises PyTorch's tensors to 8 and 4 bits, multiplies by such weights, and keeps optimisers' state in 8 bits. Its own CPU
back end and PyTorch are what is compared with."""
import sys

import torch

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

# A value in the middle of two codes may become either; states of 8 bits are coarse.
BOUNDS = {"blockwise": 2e-2, "blockwise_f16": 2e-2, "nf4_float32": 1e-3, "nf4_float16": 2e-3, "nf4_bfloat16": 1e-2, "fp4_float32": 1e-3, "vector_float16": 5e-3,
          "linear": 5e-3, "linear_gradient": 5e-3, "adam_32": 1e-5, "adam_8": 2e-2, "lion_8": 2e-2, "momentum": 1e-5}
STEPS = 8


def optimised(made, place, start, target):
    weights = torch.nn.Parameter(start.clone().to(place))
    optimiser = made([weights])
    for _ in range(STEPS):
        optimiser.zero_grad()
        ((weights - target.to(place)) ** 2).mean().backward()
        optimiser.step()
    return weights.detach()


def run(backend, folder):
    import bitsandbytes as bnb
    from bitsandbytes import functional

    place = torch.device(backend)
    draw = torch.Generator().manual_seed(61)
    matrix, rows, start, target = (torch.randn(shape, generator=draw) for shape in ((96, 128), (5, 128), (96, 128), (96, 128)))
    out = {}
    for name, kind in (("blockwise", torch.float32), ("blockwise_f16", torch.float16)):
        codes, state = functional.quantize_blockwise(matrix.to(place, torch.float32 if backend == "cpu" else kind), blocksize=256)
        out[name] = functional.dequantize_blockwise(codes, state)
    for quantised, kind in (("nf4", torch.float32), ("nf4", torch.float16), ("nf4", torch.bfloat16), ("fp4", torch.float32)):
        codes, state = functional.quantize_4bit(matrix.to(place, kind), blocksize=64, quant_type=quantised)
        out[f"{quantised}_{str(kind)[6:]}"] = functional.dequantize_4bit(codes, state)
        if kind == torch.float16:
            # One row: a kernel of its own.
            out["vector_float16"] = bnb.matmul_4bit(rows[:1].to(place, kind), codes.t(), state)
    layer = bnb.nn.Linear4bit(128, 96, bias=False, compute_dtype=torch.float32, quant_type="nf4")
    layer.weight = bnb.nn.Params4bit(matrix, requires_grad=False, quant_type="nf4", blocksize=64)
    layer = layer.to(place)
    given = rows.clone().to(place).requires_grad_()
    made = layer(given)
    made.square().sum().backward()
    out["linear"], out["linear_gradient"] = made.detach(), given.grad
    own = backend == "cuda"
    pairs = {"adam_32": (bnb.optim.Adam32bit, torch.optim.Adam, {"lr": 0.01}), "adam_8": (bnb.optim.Adam8bit, torch.optim.Adam, {"lr": 0.01}),
             "momentum": (bnb.optim.SGD32bit, torch.optim.SGD, {"lr": 0.5, "momentum": 0.9})}
    for name, (ours, theirs, options) in pairs.items():
        out[name] = optimised(lambda weights: (ours if own else theirs)(weights, **options), place, start, target)
    if own:
        out["lion_8"] = optimised(lambda weights: bnb.optim.Lion8bit(weights, lr=0.01, betas=(0.9, 0.99)), place, start, target)
    else:
        weights, moment = start.clone(), torch.zeros_like(start)
        for _ in range(STEPS):
            gradient = 2 * (weights - target) / weights.numel()
            weights -= 0.01 * torch.sign(0.9 * moment + 0.1 * gradient)
            moment = 0.99 * moment + 0.01 * gradient
        out["lion_8"] = weights
    return {name: value.float().cpu().numpy() for name, value in out.items()}


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
