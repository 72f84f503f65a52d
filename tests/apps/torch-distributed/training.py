# SPDX-License-Identifier: Apache-2.0
"""A small network, trained by all ranks together. Each has its part of the batch."""
import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel

STEPS, BATCH, BUCKET_MB = 6, 12, 0.01


def network(norm=False):
    """Of several buckets, beginning with other weights on each rank: the first one's count."""
    torch.manual_seed(20 + dist.get_rank())
    return nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6) if norm else nn.Identity(), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
                         nn.Linear(96, 40), nn.Tanh(), nn.Linear(40, 5))


def data(step):
    """The whole batch."""
    draw = torch.Generator().manual_seed(30 + step)
    images = torch.randn(BATCH, 1, 8, 8, generator=draw)
    return images, images.mean((1, 2, 3)).mul(40).long().remainder(5)


def train(rank, model, optimizer):
    """The loss of each step, of the whole batch."""
    losses, part = [], BATCH // rank.size
    for step in range(STEPS):
        images, classes = (x[rank.number * part:][:part].to(rank.device) for x in data(step))
        loss = F.cross_entropy(model(images), classes)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return rank.all(torch.stack(losses)).mean(0)


def weights(model):
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def parallel(rank, model):
    return DistributedDataParallel(model.to(rank.device), device_ids=[rank.number] if rank.gpu else None, bucket_cap_mb=BUCKET_MB)


def adam(model):
    return torch.optim.AdamW(model.parameters(), lr=1e-2)


def replicated(rank, hook=None):
    model = parallel(rank, network())
    if hook:
        model.register_comm_hook(None, hook)
    return torch.cat([train(rank, model, adam(model)), weights(model)])


def zero(rank):
    """The optimizer's state is divided."""
    model = parallel(rank, network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, lr=1e-2)
    return torch.cat([train(rank, model, optimizer), weights(model)])


def sharded(rank):
    """Weights, gradients and state are divided. The losses are those of DDP, which the CPU has in its place."""
    if not rank.gpu:
        model = parallel(rank, network())
        return train(rank, model, adam(model))
    model = FullyShardedDataParallel(network(), device_id=rank.device, sync_module_states=True)
    return train(rank, model, adam(model))


def normalized(rank):
    """Statistics of the whole batch. The CPU has no SyncBatchNorm: there each rank has the whole batch."""
    model = nn.SyncBatchNorm.convert_sync_batchnorm(network(norm=True)) if rank.gpu else network(norm=True)
    model = parallel(rank, model)
    if rank.gpu:
        return train(rank, model, adam(model))
    alone = type("Alone", (), {"size": 1, "number": 0, "device": rank.device, "all": lambda self, x: x[None]})()
    return train(alone, model, adam(model))


def results(rank):
    return {"ddp": replicated(rank), "ddp_f16": replicated(rank, fp16_compress_hook), "zero": zero(rank), "fsdp": sharded(rank), "batch_norm": normalized(rank)}
