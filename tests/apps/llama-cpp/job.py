# SPDX-License-Identifier: Apache-2.0
"""llama.cpp generates from a small model of the Llama architecture whose f16 weights are drawn at random: a prompt of 16
tokens, then 24 tokens one by one, through CUDA graphs. Tokens are forced, so that errors do not lead to other texts."""
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, relative

VOCABULARY, LAYERS, WIDTH, HEADS, KEY_HEADS, FORWARD = 320, 2, 256, 4, 2, 512
PROMPT, TOKENS = 16, 40
BOUND = 2e-3  # of the largest logit: products are of f16, and the CPU's back end rounds activations in other places


def make_model(path):
    import gguf

    draw = numpy.random.default_rng(1)
    model = gguf.GGUFWriter(path, "llama")
    model.add_context_length(256)
    model.add_embedding_length(WIDTH)
    model.add_block_count(LAYERS)
    model.add_feed_forward_length(FORWARD)
    model.add_head_count(HEADS)
    model.add_head_count_kv(KEY_HEADS)
    model.add_rope_dimension_count(WIDTH // HEADS)
    model.add_layer_norm_rms_eps(1e-5)
    model.add_vocab_size(VOCABULARY)
    model.add_file_type(1)  # mostly f16
    special = ["<unk>", "<s>", "</s>"]
    tokens = special + [f"<0x{byte:02X}>" for byte in range(256)]
    kinds = [2, 3, 3] + [6] * 256
    while len(tokens) < VOCABULARY:
        tokens.append(f"\u2581t{len(tokens)}")
        kinds.append(1)
    model.add_tokenizer_model("llama")
    model.add_token_list([token.encode() for token in tokens])
    model.add_token_scores([0.0] * VOCABULARY)
    model.add_token_types(kinds)
    model.add_bos_token_id(1)
    model.add_eos_token_id(2)

    def matrix(name, *shape):
        model.add_tensor(name + ".weight", (draw.standard_normal(shape) / shape[-1] ** 0.5).astype(numpy.float16))

    def norm(name):
        model.add_tensor(name + ".weight", (1 + 0.1 * draw.standard_normal(WIDTH)).astype(numpy.float32))

    model.add_tensor("token_embd.weight", draw.standard_normal((VOCABULARY, WIDTH)).astype(numpy.float16))
    norm("output_norm")
    matrix("output", VOCABULARY, WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}."
        norm(block + "attn_norm")
        norm(block + "ffn_norm")
        matrix(block + "attn_q", WIDTH, WIDTH)
        matrix(block + "attn_k", WIDTH * KEY_HEADS // HEADS, WIDTH)
        matrix(block + "attn_v", WIDTH * KEY_HEADS // HEADS, WIDTH)
        matrix(block + "attn_output", WIDTH, WIDTH)
        matrix(block + "ffn_gate", FORWARD, WIDTH)
        matrix(block + "ffn_up", FORWARD, WIDTH)
        matrix(block + "ffn_down", WIDTH, FORWARD)
    model.write_header_to_file()
    model.write_kv_data_to_file()
    model.write_tensors_to_file()
    model.close()


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
