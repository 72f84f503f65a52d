# SPDX-License-Identifier: Apache-2.0
"""Inference of networks of the usual sizes, of random weights: ResNet-18, and a transformer as large as the smallest GPT-2."""
import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, width, out):
        super().__init__()
        stride = 1 if width == out else 2
        self.body = nn.Sequential(nn.Conv2d(width, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out), nn.ReLU(),
                                  nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out))
        self.beside = nn.Identity() if width == out else nn.Sequential(nn.Conv2d(width, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.body(x) + self.beside(x))


def resnet():
    """11.7 million weights."""
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    for width, out in ((64, 64), (64, 128), (128, 256), (256, 512)):
        layers += [Residual(width, out), Residual(out, out)]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.before, self.between = heads, nn.LayerNorm(width), nn.LayerNorm(width)
        self.ask, self.answer = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (part.unflatten(2, (self.heads, -1)).transpose(1, 2) for part in self.ask(self.before(x)).chunk(3, 2))
        x = x + self.answer(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.between(x)), approximate="tanh"))


class Gpt(nn.Module):
    """124 million weights: 12 layers of width 768 with 12 heads, 50,257 tokens."""

    def __init__(self, tokens=50257, width=768, layers=12):
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Embedding(1024, width)
        self.body = nn.Sequential(*(Block(width, 12) for _ in range(layers)), nn.LayerNorm(width))

    def forward(self, text):
        return self.body(self.tokens(text) + self.places.weight[:text.shape[1]]) @ self.tokens.weight.t()


@torch.inference_mode()
def results(backend):
    torch.manual_seed(6)
    images, text = torch.randn(2, 3, 64, 64).to(backend), torch.randint(0, 50257, (1, 12)).to(backend)
    out = {"resnet18": resnet().eval().to(backend)(images)}
    gpt = Gpt().eval().to(backend)
    out["gpt2"] = gpt(text)[:, -1]
    out["gpt2_f16"] = gpt.half()(text)[:, -1] if backend == "cuda" else out["gpt2"]
    return out
