# SPDX-License-Identifier: Apache-2.0
"""PyTorch on the GPU beside PyTorch on the CPU: operations of all types, gradients, a small convolutional network and a small
transformer that are trained for 20 steps each, with and without mixed precision, attention, Fourier transforms, linear
algebra, sparse products, streams, a CUDA graph; the networks of networks.py and the ways of ways.py."""
import sys

import numpy
import torch
import torch.nn.functional as F

sys.path.insert(0, sys.path[0] + "/..")
import networks
import ways
from job import main, within

STEPS = 20
BOUNDS = {
    "elementwise_f64": 1e-14, "elementwise_f32": 1e-6, "elementwise_f16": 1e-3, "elementwise_bf16": 8e-3, "integers": 0, "reductions": 1e-6, "sort": 0, "index": 0,
    "gradients": 1e-6, "products": 1e-6, "products_f16": 1e-3, "products_bf16": 8e-3, "products_f64": 1e-14, "attention": 1e-6, "attention_f16": 2e-3, "fft": 1e-6,
    "linalg": 1e-11, "sparse": 1e-6, "graph": 1e-6, "streams": 1e-6, "cnn": 1e-5, "cnn_bf16": 8e-3, "transformer": 1e-5, "transformer_f16": 8e-3,
    "attention_flash": 2e-3, "attention_efficient": 2e-3, "attention_cudnn": 2e-3, "loader": 1e-6, "shared": 0, "programs": 0,
    "resnet18": 1e-5, "gpt2": 1e-5, "gpt2_f16": 8e-3,
}


def elementwise(device, type):
    draw = torch.Generator().manual_seed(1)
    x, y = (torch.randn(500, generator=draw, dtype=torch.float64).to(type).to(device) for _ in range(2))
    return torch.cat([x + y, x * y, x / (y.abs() + 1), x.exp(), x.abs().sqrt(), x.sin(), torch.erf(x), F.gelu(x), F.silu(x), torch.tanh(x), x.sigmoid(),
                      torch.where(x > y, x, y), x.clamp(-0.5, 0.5), F.softmax(x.view(10, 50), 1).flatten(), F.layer_norm(x.view(10, 50), (50,)).flatten()]).double()


def integers(device):
    x = torch.arange(-300, 300, device=device)
    results = []
    for type in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool):
        y = x.to(type)
        results += [y.to(torch.int64), (y != 0).to(torch.int64)]
        if type != torch.bool:
            results += [(y + 7).to(torch.int64), (y * 3).to(torch.int64), (y & 12).to(torch.int64), y.sum().view(1), y.max().view(1).to(torch.int64)]
            results.append(torch.div(y, 7, rounding_mode="floor").to(torch.int64))
    return torch.cat(results + [x.cumsum(0), x.flip(0), x.roll(5), torch.unique(x % 17), torch.bincount((x + 300) % 23)])


def reductions(x):
    return torch.cat([v.flatten().double() for v in (x.sum(0), x.mean(1), x.var(2), x.amax((0, 1)), x.norm(), x.logsumexp(2), x.cumsum(1)[:, -1], x.median().view(1))])


def gradients(device):
    draw = torch.Generator().manual_seed(2)
    x = torch.randn(40, 30, generator=draw).to(device).requires_grad_()
    w = torch.randn(30, 20, generator=draw).to(device).requires_grad_()
    loss = (F.softmax(torch.tanh(x @ w), 1) * torch.linspace(0, 1, 20, device=device)).sum().log() + x.pow(2).mean()
    loss.backward()
    return torch.cat([x.grad.flatten(), w.grad.flatten(), loss.view(1)])


def linalg(device):
    draw = torch.Generator().manual_seed(3)
    a = torch.randn(24, 24, generator=draw, dtype=torch.float64).to(device)
    s = a @ a.T + 24 * torch.eye(24, device=device, dtype=torch.float64)
    b = torch.randn(24, 3, generator=draw, dtype=torch.float64).to(device)
    return torch.cat([torch.linalg.solve(a, b).flatten(), torch.linalg.cholesky(s).flatten(), torch.linalg.eigvalsh(s), torch.linalg.svdvals(a),
                      torch.linalg.inv(s).flatten(), torch.linalg.det(s / 24).view(1)])


class Convolutional(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.BatchNorm2d(8), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
            torch.nn.Conv2d(8, 16, 3, padding=1), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(), torch.nn.Linear(64, 10))

    def forward(self, x):
        return self.layers(x)


class Transformer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(50, 32)
        layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0, batch_first=True, norm_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = torch.nn.Linear(32, 50)

    def forward(self, x):
        mask = torch.nn.Transformer.generate_square_subsequent_mask(x.shape[1], device=x.device)
        return self.head(self.encoder(self.embedding(x), mask=mask, is_causal=True)).flatten(0, 1)


def train(model, device, inputs, targets, type=None):
    """The loss of each step."""
    torch.manual_seed(5)
    model = model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler(device, enabled=type == torch.float16 and device == "cuda")
    losses = []
    for _ in range(STEPS):
        with torch.autocast(device, type or torch.float32, enabled=type is not None):
            loss = F.cross_entropy(model(inputs).float(), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.detach())
    return torch.stack(losses)


def captured(device, x, w):
    def work():
        return F.relu(x @ w).sum(1)

    if device == "cpu":
        return work() * 3
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        work()
    torch.cuda.current_stream().wait_stream(side)
    graph, total = torch.cuda.CUDAGraph(), torch.zeros(x.shape[0], device=device)
    with torch.cuda.graph(graph):
        total += work()
    for _ in range(3):
        graph.replay()
    return total


def on_streams(device, parts, w):
    if device == "cpu":
        return torch.cat([part @ w for part in parts])
    results = []
    for part in parts:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            results.append(part @ w)
        torch.cuda.current_stream().wait_stream(stream)
    return torch.cat(results)


def run(backend, folder):
    torch.set_num_threads(2)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    draw = torch.Generator().manual_seed(4)

    def random(*shape, type=torch.float32):
        return torch.randn(*shape, generator=draw).to(type).to(backend)

    out = {"elementwise_" + name: elementwise(backend, type)
           for name, type in (("f64", torch.float64), ("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16))}
    out["integers"] = integers(backend)
    x = random(12, 20, 30)
    out["reductions"] = reductions(x)
    values, order = x.flatten().sort()
    out["sort"] = torch.cat([values.double(), order.double(), x.topk(5, 2).values.flatten().double()])
    places = torch.randint(0, 12, (40,), generator=draw).to(backend)
    out["index"] = torch.cat([x[places].flatten(), x.gather(0, places[:12].view(12, 1, 1).expand(12, 20, 30)).flatten(), x.masked_select(x > 1)])
    out["gradients"] = gradients(backend)
    a, b = random(48, 64), random(64, 40)
    out["products"] = torch.cat([(a @ b).flatten(), torch.bmm(x, x.transpose(1, 2)).flatten(), torch.einsum("ij,kj->ik", a, b.T).flatten()])
    for name, type in (("f16", torch.float16), ("bf16", torch.bfloat16), ("f64", torch.float64)):
        out["products_" + name] = (a.to(type) @ b.to(type)).double()
    q, k, v = (random(2, 4, 32, 16) for _ in range(3))
    out["attention"] = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    out["attention_f16"] = F.scaled_dot_product_attention(q.half(), k.half(), v.half()).double()
    out["fft"] = torch.view_as_real(torch.fft.rfft(x)).flatten()
    out["linalg"] = linalg(backend)
    out["sparse"] = torch.sparse.mm((a * (a > 1)).to_sparse_csr(), b)
    out["graph"] = captured(backend, a, b)
    out["streams"] = on_streams(backend, a.split(12), b)
    images, classes = random(8, 3, 16, 16), torch.randint(0, 10, (8,), generator=draw).to(backend)
    out["cnn"] = train(Convolutional, backend, images, classes)
    out["cnn_bf16"] = train(Convolutional, backend, images, classes, torch.bfloat16)
    text = torch.randint(0, 50, (4, 17), generator=draw).to(backend)
    out["transformer"] = train(Transformer, backend, text[:, :-1], text[:, 1:].flatten())
    out["transformer_f16"] = train(Transformer, backend, text[:, :-1], text[:, 1:].flatten(), torch.float16 if backend == "cuda" else torch.bfloat16)
    out.update(ways.results(backend))
    out.update(networks.results(backend))
    return {name: numpy.asarray(value.detach().cpu().double()) for name, value in out.items()}


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
