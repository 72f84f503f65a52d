# SPDX-License-Identifier: Apache-2.0
"""Models that torch.compile makes faster: Inductor writes Triton's kernels while the program runs. What is compared with is
PyTorch without compilation on the CPU."""
import copy
import sys

import numpy
import torch
import torch.nn.functional as F

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

STEPS = 8
# In bf16 each of several layers rounds to 8 bits, and a fused kernel rounds less often than one for each operation.
BOUNDS = {"perceptron": 1e-5, "perceptron_gradients": 1e-5, "block": 1e-5, "block_gradients": 1e-5, "block_bf16": 2e-2, "block_bf16_gradients": 4e-2,
          "losses": 1e-5, "reductions": 1e-5, "ordered": 0, "embedding_gradient": 1e-5, "attention": 1e-5, "attention_gradients": 1e-5, "shapes": 1e-5,
          "graph": 1e-5, "bytes": 0, "fp8": 8e-3}


class Block(torch.nn.Module):
    """One layer of a transformer that sees no later token."""

    def __init__(self, width=48, heads=4):
        super().__init__()
        self.heads = heads
        self.before, self.after = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.wide, self.narrow = torch.nn.Linear(width, 4 * width), torch.nn.Linear(4 * width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.before(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(2, 3)) * (width // self.heads) ** -0.5
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        x = x + self.out((scores.masked_fill(later, float("-inf")).softmax(3) @ v).transpose(1, 2).reshape(x.shape))
        return x + self.narrow(F.gelu(self.wide(self.after(x))))


def perceptron():
    return torch.nn.Sequential(torch.nn.Linear(40, 96), torch.nn.SiLU(), torch.nn.LayerNorm(96), torch.nn.Linear(96, 10))


def forward_backward(model, x, weight):
    """The output, and the gradients of the input and of all parameters."""
    x = x.clone().requires_grad_()
    found = model(x)
    (found.float() * weight).sum().backward()
    return found.detach(), torch.cat([x.grad.flatten().float(), *(p.grad.flatten().float() for p in model.parameters())])


def losses(model, compiled, x, classes):
    """The optimizer is compiled, too: one kernel updates many parameters."""
    optimizer = torch.optim.SGD(model.parameters(), lr=torch.tensor(5e-2, device=x.device), momentum=0.9, nesterov=True)
    step = compiled(optimizer.step)
    loss_of = compiled(lambda x, classes: F.cross_entropy(model(x), classes, label_smoothing=0.1))
    found = []
    for _ in range(STEPS):
        loss = loss_of(x, classes)
        optimizer.zero_grad()
        loss.backward()
        step()
        found.append(loss.detach())
    return torch.stack(found)


def reductions(x):
    return torch.cat([part.flatten() for part in (x.cumsum(1), x.var(0), x.amax(1), x.logsumexp(1), x.norm(dim=0), (x * x.roll(3, 1)).mean(1), F.log_softmax(x, 0))])


def ordered(x):
    values, places = x.sort(1)
    return torch.cat([part.flatten().double() for part in (values, places, x.argmax(1), x.cummax(1).values, (x > 0).sum(0), x.topk(5).values)])


def embedding_gradient(table, places, weight):
    table = table.clone().requires_grad_()
    (F.embedding(places, table).tanh() * weight).sum().backward()
    return table.grad


def attention(compiled, qkv, weight):
    """A kernel of Inductor's own template, with products of tiles. On the CPU it is spelled out."""
    window = 24
    q, k, v = (x.clone().requires_grad_() for x in qkv)
    length, device = q.shape[2], q.device
    if q.is_cuda:
        from torch.nn.attention.flex_attention import create_block_mask, flex_attention

        mask = create_block_mask(lambda b, h, i, j: (i >= j) & (i - j < window), None, None, length, length, device=device)
        found = compiled(flex_attention)(q, k, v, score_mod=lambda score, b, h, i, j: score - 0.01 * (i - j), block_mask=mask)
    else:
        apart = torch.arange(length)[:, None] - torch.arange(length)[None, :]
        scores = q @ k.transpose(2, 3) * q.shape[3] ** -0.5 - 0.01 * apart
        found = scores.masked_fill((apart < 0) | (apart >= window), float("-inf")).softmax(3) @ v
    (found * weight).sum().backward()
    return found.detach(), torch.cat([x.grad.flatten() for x in (q, k, v)])


def quantised(compiled, a, b):
    """Products of bytes and of fp8, whose result is bf16. For them cuBLASLt has SASS only, but Inductor a template of its own."""
    bytes_a, bytes_b = ((x * 20).clamp(-127, 127).to(torch.int8) for x in (a, b))
    a, b, one = a.to(torch.float8_e4m3fn), b.t().contiguous().to(torch.float8_e4m3fn), torch.ones((), device=a.device)
    if not a.is_cuda:
        return bytes_a.int() @ bytes_b.int(), (a.float() @ b.float().t()).bfloat16()
    from torch._inductor import utils

    utils.is_big_gpu = lambda *index: True  # it asks for 68 multiprocessors: the emulator has fewer
    chosen = {"max_autotune_gemm": True, "max_autotune_gemm_backends": "TRITON"}
    product = compiled(lambda a, b: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True), options=chosen)
    return compiled(torch._int_mm, options=chosen)(bytes_a, bytes_b), product(a, b)


def run(backend, folder):
    torch.set_num_threads(2)
    torch.manual_seed(31)
    torch.backends.cuda.matmul.allow_tf32 = False
    draw = torch.Generator().manual_seed(30)
    gpu = backend == "cuda"

    def random(*shape):
        return torch.randn(*shape, generator=draw).to(backend)

    def compiled(function, **options):
        return torch.compile(function, fullgraph=False, **options) if gpu else function

    out = {}
    small, block = perceptron().to(backend), Block().to(backend)
    out["perceptron"], out["perceptron_gradients"] = forward_backward(compiled(small), random(24, 40), random(24, 10))
    x, weight = random(3, 32, 48), random(3, 32, 48)
    for name, kind in (("block", torch.float32), ("block_bf16", torch.bfloat16)):
        model = copy.deepcopy(block).to(kind)
        out[name], out[name + "_gradients"] = forward_backward(compiled(model), x.to(kind), weight)
    out["losses"] = losses(small, compiled, random(24, 40), torch.randint(0, 10, (24,), generator=draw).to(backend))
    out["reductions"] = compiled(reductions)(random(20, 70))
    out["ordered"] = compiled(ordered)(random(12, 50))
    out["embedding_gradient"] = compiled(embedding_gradient)(random(30, 16), torch.randint(0, 30, (80,), generator=draw).to(backend), random(80, 16))
    out["attention"], out["attention_gradients"] = attention(compiled, [random(1, 2, 128, 16) for _ in range(3)], random(1, 2, 128, 16))
    softmax = compiled(lambda x: (F.gelu(x) * 2).softmax(1), dynamic=True)
    out["shapes"] = torch.cat([softmax(random(rows, columns)).flatten() for rows, columns in ((3, 20), (7, 33), (1, 300))])
    captured = compiled(lambda x, w: (F.layer_norm(F.relu(x @ w), (32,)) * w[0]).sum(1), mode="reduce-overhead")
    a, w = random(16, 24), random(24, 32)
    for _ in range(4):  # the first ones warm up and record
        out["graph"] = captured(a, w).clone()
    out["bytes"], out["fp8"] = quantised(compiled, random(64, 64), random(64, 32))
    return {name: numpy.asarray(value.detach().cpu().double()) for name, value in out.items()}


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
