# SPDX-License-Identifier: Apache-2.0
"""What each process of job.py does, on a device of its own. On the CPU the same is done by gloo. What gloo lacks is put together
there of what it has."""
import datetime
import os

import numpy
import torch
import torch.distributed as dist
import training

COUNT = 1003
OPERATIONS = {"sum": dist.ReduceOp.SUM, "product": dist.ReduceOp.PRODUCT, "minimum": dist.ReduceOp.MIN, "maximum": dist.ReduceOp.MAX}
FLOATS = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
TYPES = {"i8": torch.int8, "u8": torch.uint8, "i32": torch.int32, "i64": torch.int64, **FLOATS}
WITHOUT = os.environ.get("WITHOUT", "").split(",")
# The first collective compiles what NCCL has.
TIMEOUT = datetime.timedelta(hours=6)


class Rank:
    def __init__(self, backend):
        self.number, self.size = dist.get_rank(), dist.get_world_size()
        self.gpu = backend == "cuda"
        self.device = torch.device("cuda", self.number) if self.gpu else torch.device("cpu")
        self.draw = torch.Generator().manual_seed(100 + self.number)

    def values(self, type, count=COUNT):
        """Other ones each time and on each rank."""
        if type.is_floating_point:
            return torch.randn(count, generator=self.draw, dtype=torch.float64).to(type).to(self.device)
        return torch.randint(0 if type == torch.uint8 else -60, 60, (count,), generator=self.draw).to(type).to(self.device)

    def empty(self, *shape, type=torch.float32):
        return torch.full(shape, 77, dtype=type, device=self.device)

    def all(self, x):
        """One row of each rank."""
        parts = [torch.empty_like(x) for _ in range(self.size)]
        dist.all_gather(parts, x)
        return torch.stack(parts)


def all_reduce(rank, type):
    results = []
    for operation in OPERATIONS.values():
        x = rank.values(type)
        dist.all_reduce(x, operation)
        results.append(x)
    return torch.cat(results)


def scaled(rank):
    """Averages, and sums with a factor: gloo has neither."""
    results = []
    for type in (torch.int32, *FLOATS.values()):
        x = rank.values(type).abs()
        if rank.gpu:
            dist.all_reduce(x, dist.ReduceOp.AVG)
        else:
            total = rank.all(x).double().sum(0) / rank.size
            x = (total if type.is_floating_point else total.floor()).to(type)
        results.append(x.double())
    for type in (torch.float16, torch.float32, torch.float64):  # PyTorch 2.6 takes factors of no others
        x = rank.values(type)
        if rank.gpu:
            dist.all_reduce(x, dist._make_nccl_premul_sum(0.25))
        else:
            x = (rank.all(x).double() * 0.25).sum(0).to(type)
        results.append(x.double())
    return torch.cat(results)


def roots(rank):
    """Each rank sends to all, and receives of all, once."""
    results = []
    for type in TYPES.values():
        for root in range(rank.size):
            x = rank.values(type)
            dist.broadcast(x, root)
            results.append(x.double())
            x = rank.values(type)
            dist.reduce(x, root)
            results.append(x.double() if rank.number == root else torch.zeros_like(x).double())  # what the others have is not said
    return torch.cat(results)


def gathers(rank):
    x = rank.values(torch.float32)
    together = rank.empty(rank.size * COUNT)
    dist.all_gather_into_tensor(together, x)
    parts = [rank.empty(COUNT) for _ in range(rank.size)] if rank.number == 0 else None
    dist.gather(x, parts, 0)
    mine = rank.empty(COUNT)
    dist.scatter(mine, [x + i for i in range(rank.size)] if rank.number == 0 else None, 0)
    return torch.cat([rank.all(x).flatten(), together, *(parts or []), mine])


def scattered(rank):
    x, y = rank.values(torch.float32, rank.size * COUNT), rank.values(torch.bfloat16, rank.size * COUNT)
    if not rank.gpu:
        dist.all_reduce(x)
        dist.all_reduce(y, dist.ReduceOp.MAX)
        return torch.cat([x.view(rank.size, COUNT)[rank.number], y.view(rank.size, COUNT)[rank.number].float()])
    sums, largest = rank.empty(COUNT), rank.empty(COUNT, type=torch.bfloat16)
    dist.reduce_scatter_tensor(sums, x)
    dist.reduce_scatter(largest, list(y.view(rank.size, COUNT)), dist.ReduceOp.MAX)
    return torch.cat([sums, largest.float()])


def exchanged(rank):
    """Rank i sends 100 * (i + 1) + j elements to rank j."""
    counts = [[100 * (i + 1) + j for j in range(rank.size)] for i in range(rank.size)]
    sent, received = counts[rank.number], [row[rank.number] for row in counts]
    x, y = rank.values(torch.float32, sum(sent)), rank.empty(sum(received))
    dist.all_to_all_single(y, x, received, sent)
    z = [rank.empty(count) for count in received]
    if rank.gpu:
        dist.all_to_all(z, list((2 * x).split(sent)))
    else:
        z = list((2 * y).split(received))
    return torch.cat([y, *z])


def sent(rank):
    """To the next rank, from the one before: by all at once, and one after the other."""
    after, before = (rank.number + 1) % rank.size, (rank.number - 1) % rank.size
    x, y, z = rank.values(torch.float32), rank.empty(COUNT), rank.empty(COUNT)
    if rank.size == 1 and not rank.gpu:
        return torch.cat([x, x])  # gloo sends nothing to itself
    operations = [dist.P2POp(dist.isend, x, after), dist.P2POp(dist.irecv, y, before)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    if rank.size == 1:
        return torch.cat([x, y])
    for number in range(rank.size):
        if number == rank.number:
            dist.send(2 * x, after)
        elif number == before:
            dist.recv(z, before)
    return torch.cat([y, z])


def objects(rank):
    everyone = [None] * rank.size
    dist.all_gather_object(everyone, {"rank": rank.number, "text": "x" * (500 + rank.number)})
    told = [rank.number, "of the last"] if rank.number == rank.size - 1 else [None, None]
    dist.broadcast_object_list(told, rank.size - 1)
    dist.barrier()
    return torch.tensor([*(entry["rank"] for entry in everyone), *(len(entry["text"]) for entry in everyone), told[0], len(told[1])])


def groups(rank):
    """Works of several groups that are waited for at the end."""
    alone = [dist.new_group([i]) for i in range(rank.size)][rank.number]
    again = dist.new_group(list(range(rank.size)))
    x, y, z = (rank.values(torch.float32) for _ in range(3))
    works = [dist.all_reduce(x, async_op=True), dist.all_reduce(y, group=again, async_op=True), dist.all_reduce(z, group=alone, async_op=True)]
    for work in works:
        work.wait()
    return torch.cat([x + 1, y + 1, z + 1])


def graph(rank):
    """A CUDA graph with a collective between two kernels, three times."""
    x = rank.values(torch.float64)

    def work():
        x.mul_(0.5)
        dist.all_reduce(x)
        x.add_(1)

    if not rank.gpu:
        for _ in range(3):
            work()
        return x
    captured = torch.cuda.CUDAGraph()
    with torch.cuda.graph(captured, capture_error_mode="thread_local"):
        work()
    for _ in range(3):
        captured.replay()
    return x


def results(rank):
    out = {f"all_reduce_{name}": all_reduce(rank, type) for name, type in TYPES.items()}
    for part in (scaled, roots, gathers, scattered, exchanged, sent, objects, groups, graph):
        if part.__name__ not in WITHOUT:
            out[part.__name__] = part(rank)
    return {**out, **training.results(rank)}


def main(number, size, backend, folder):
    """Leaves NUMBER.npz in the folder, where the processes meet."""
    torch.set_num_threads(1)
    # All that they say to each other stays on this machine.
    os.environ.update(GLOO_SOCKET_IFNAME="lo", NCCL_SOCKET_IFNAME="lo")
    if backend == "cuda":
        torch.cuda.set_device(number)
    dist.init_process_group("nccl" if backend == "cuda" else "gloo", f"file://{folder}/meeting", TIMEOUT, size, number)
    found = {name: numpy.asarray(value.detach().double().cpu()) for name, value in results(Rank(backend)).items()}
    dist.destroy_process_group()
    numpy.savez(f"{folder}/{number}.npz", **found)
