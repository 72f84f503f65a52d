# SPDX-License-Identifier: Apache-2.0
"""torch.distributed by NCCL on one and on two GPUs, beside gloo on the CPU: collectives of all types, messages, a CUDA graph with
a collective; a network trained by DistributedDataParallel, ZeroRedundancyOptimizer and FSDP. Each device has a process (ranks.py)."""
import sys
import tempfile

import numpy
import torch.multiprocessing

sys.path.insert(0, sys.path[0] + "/..")
import ranks
from job import main, within

SIZES = (1, 2)
EXACT = ("all_reduce_i8", "all_reduce_u8", "all_reduce_i32", "all_reduce_i64", "all_reduce_f16", "all_reduce_bf16", "all_reduce_f32", "all_reduce_f64",
         "roots", "gathers", "scattered", "exchanged", "sent", "objects", "groups", "graph")
OF_EACH = {**{name: 0 for name in EXACT}, "scaled": 0, "ddp": 1e-5, "ddp_f16": 8e-3, "zero": 1e-5, "fsdp": 1e-5, "batch_norm": 1e-5}
BOUNDS = {f"{name}_{size}": bound for name, bound in OF_EACH.items() if name not in ranks.WITHOUT for size in SIZES}


def processes(backend, size, folder):
    """What all ranks have, one after the other."""
    with tempfile.TemporaryDirectory(dir=folder) as meeting:
        torch.multiprocessing.spawn(ranks.main, (size, backend, meeting), size)
        files = [dict(numpy.load(f"{meeting}/{rank}.npz")) for rank in range(size)]
    return {f"{name}_{size}": numpy.concatenate([file[name] for file in files]) for name in files[0]}


def run(backend, folder):
    out = {}
    for size in SIZES:
        out.update(processes(backend, size, folder))
    return out


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
