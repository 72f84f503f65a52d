# SPDX-License-Identifier: Apache-2.0
"""GPT4All generates from a small model of the Llama architecture with random weights. It tells no logits, so that texts are compared: the
likeliest token each time, whose lead over the second is seldom within the error."""
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within
from llama_model import make_model

PROMPTS, TOKENS = ["red", "madder-woad-weld-indigo-saffron", "01234567899876543210"], 24


def run(backend, folder):
    import gpt4all

    name = f"model.{backend}.gguf"
    make_model(folder / name)
    model = gpt4all.GPT4All(name, model_path=folder, allow_download=False, device=backend, n_ctx=128, n_threads=2)
    assert model.backend == backend, model.backend
    out = {}
    for i, prompt in enumerate(PROMPTS):
        tokens = []
        model.generate(prompt, max_tokens=TOKENS, temp=0, repeat_penalty=1, callback=lambda token, text: tokens.append(token) or True)
        assert len(tokens) >= TOKENS // 2, tokens
        out[f"tokens_{i}"] = numpy.array(tokens)
    return out


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(dict.fromkeys(cpu, 0), cpu, cuda))
