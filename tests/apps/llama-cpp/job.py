# SPDX-License-Identifier: Apache-2.0
"""llama.cpp generates from a small model of the Llama architecture whose f16 weights are drawn at random: a prompt of 16
tokens, then 24 tokens one by one, through CUDA graphs. Tokens are forced, so that errors do not lead to other texts."""
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, relative
from llama_model import VOCABULARY, make_model

PROMPT, TOKENS = 16, 40
BOUND = 2e-3  # of the largest logit: products are of f16, and the CPU's back end rounds activations in other places


def run(backend, folder):
    from cyllama.llama import llama_cpp as llama

    path = str(folder / f"model.{backend}.gguf")
    make_model(path)
    llama.ggml_backend_load_all()
    llama.llama_backend_init()
    parameters = llama.LlamaModelParams()
    parameters.n_gpu_layers = 99 if backend == "cuda" else 0
    # get_logits_ith() of this version asks the model for an attribute that it lacks.
    model = type("Model", (llama.LlamaModel,), {"n_vocab": VOCABULARY})(path, parameters)
    wishes = llama.LlamaContextParams()
    wishes.n_ctx, wishes.n_batch, wishes.n_ubatch, wishes.n_threads = 128, 64, 64, 2
    context = llama.LlamaContext(model, wishes)
    forced = numpy.random.default_rng(2).integers(3, 259, TOKENS).tolist()
    logits = []
    for begin, end in [(0, PROMPT)] + [(i, i + 1) for i in range(PROMPT, TOKENS)]:
        batch = llama.LlamaBatch(n_tokens=64, embd=0, n_seq_max=1)
        batch.set_batch(forced[begin:end], begin, True)
        context.decode(batch)
        logits += [numpy.array(context.get_logits_ith(i), numpy.float32) for i in range(end - begin)]
    return {"logits": numpy.array(logits)}


def check(cpu, cuda):
    worst = relative(cpu["logits"], cuda["logits"])
    assert worst <= BOUND, worst
    bound = BOUND * abs(cpu["logits"]).max()
    two = numpy.sort(cpu["logits"], axis=1)[:, -2:]
    certain = two[:, 1] - two[:, 0] > 2 * bound
    assert certain.sum() > TOKENS / 2
    assert (cpu["logits"].argmax(1) == cuda["logits"].argmax(1))[certain].all()
    return worst, "logits"


if __name__ == "__main__":
    main(run, check)
