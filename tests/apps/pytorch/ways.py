# SPDX-License-Identifier: Apache-2.0
"""Ways in which programs use PyTorch: fused attention, pinned batches, other processes, and what is an error on NVIDIA.

`ways.py NAME` does one of PROGRAMS in a process of its own and ends with 0 if all was as on NVIDIA."""
import multiprocessing
import os
import subprocess
import sys

import torch
import torch.nn.functional as F
import torch.multiprocessing
from torch.nn.attention import SDPBackend, sdpa_kernel

SECONDS = 900


def attention(backend, fused, type):
    """The result and all gradients, by one kernel on the GPU."""
    draw = torch.Generator().manual_seed(3)
    given = [torch.randn(2, 4, 64, 32, generator=draw).to(type) for _ in range(3)]
    q, k, v = given = [x.to(backend if backend == "cuda" else torch.float64).requires_grad_() for x in given]
    with sdpa_kernel(fused if backend == "cuda" else SDPBackend.MATH):
        result = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    result.double().pow(2).sum().backward()
    return torch.cat([x.detach().flatten().double() for x in (result, *(x.grad for x in given))])


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((5,), i / 7), i


def loader(backend):
    sums = []
    for x, i in torch.utils.data.DataLoader(Numbers(), 8, num_workers=2, pin_memory=backend == "cuda"):
        assert x.is_pinned() == (backend == "cuda")
        sums.append((x.to(backend, non_blocking=True) * i.to(backend, non_blocking=True)[:, None]).sum())
    return torch.stack(sums)


def add_one(given, told):
    x = given.get()
    x += 1
    told.put(x.sum().item())
    del x


def shared(backend):
    """Another process adds to this one's memory."""
    context = torch.multiprocessing.get_context("spawn")
    given, told = context.Queue(), context.Queue()
    x = torch.arange(1000.0, device=backend)
    child = context.Process(target=add_one, args=(given, told))
    child.start()
    given.put(x)
    total = told.get(timeout=SECONDS)
    child.join()
    return torch.cat([x.cpu(), torch.tensor([total])])


def too_much_memory():
    try:
        torch.empty(1 << 45, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError:
        return torch.ones(3, device="cuda").sum().item() == 3


def wrong_index():
    try:
        torch.ones(4, device="cuda")[torch.tensor([9], device="cuda")]
        torch.cuda.synchronize()
    except RuntimeError as problem:
        return "device-side assert triggered" in str(problem)


def use_in_child(told):
    try:
        told.put(str(torch.ones(1, device="cuda")))
    except RuntimeError as problem:
        told.put(str(problem))


def fork():
    torch.ones(1, device="cuda")
    context = multiprocessing.get_context("fork")
    told = context.Queue()
    child = context.Process(target=use_in_child, args=(told,))
    child.start()
    said = told.get(timeout=SECONDS)
    child.join()
    return "Cannot re-initialize CUDA in forked subprocess" in said and torch.ones(2, device="cuda").sum().item() == 2


def no_device():
    return not torch.cuda.is_available() and torch.cuda.device_count() == 0


def segments():
    parts = [torch.full((n << 18,), float(n), device="cuda") for n in (1, 5, 9)]
    del parts[1]
    torch.cuda.empty_cache()
    parts.append(torch.full((12 << 18,), 3.0, device="cuda"))
    return [part.mean().item() for part in parts] == [1, 9, 3] and all(segment["is_expandable"] for segment in torch.cuda.memory_snapshot())


def blocking():
    return (torch.arange(10.0, device="cuda") * 2).sum().item() == 90


def profiled():
    with torch.profiler.profile() as profile:
        torch.ones(50, 50, device="cuda") @ torch.ones(50, 50, device="cuda")
        torch.cuda.synchronize()
    return "aten::mm" in profile.key_averages().table()


PROGRAMS = {too_much_memory: {}, wrong_index: {}, fork: {}, no_device: {"CUDA_VISIBLE_DEVICES": ""}, segments: {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
            blocking: {"CUDA_LAUNCH_BLOCKING": "1"}, profiled: {}}


def programs(backend):
    if backend == "cuda":
        for program, settings in PROGRAMS.items():
            subprocess.run([sys.executable, __file__, program.__name__], check=True, env={**os.environ, **settings}, timeout=SECONDS)
    return torch.ones(len(PROGRAMS))


def results(backend):
    out = {f"attention_{name}": attention(backend, fused, torch.float16)
           for name, fused in (("flash", SDPBackend.FLASH_ATTENTION), ("efficient", SDPBackend.EFFICIENT_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION))}
    return {**out, "loader": loader(backend), "shared": shared(backend), "programs": programs(backend)}


if __name__ == "__main__":
    program = next(program for program in PROGRAMS if program.__name__ == sys.argv[1])
    assert program(), f"{sys.argv[1]}: not as on NVIDIA"
