# SPDX-License-Identifier: Apache-2.0
"""CTranslate2 with random weights: a language model's logits, and translations of a model with encoder and decoder, in f32, f16 and bf16.
Weights of 8 bits are left out: of products of bytes with more than 16 columns, cuBLAS 12.9 has machine code of NVIDIA's GPUs alone."""
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

WORDS, WIDTH, HEADS, LAYERS, FORWARD = 96, 64, 4, 2, 128
# The CPU computes the models of halves in f32.
BOUNDS = {"logits_float32": 1e-5, "logits_float16": 1e-2, "logits_bfloat16": 5e-2, "scores_float32": 1e-5, "scores_float16": 1e-2, "translations": 0,
          "attention": 1e-5}


def norm(spec, draw):
    spec.gamma, spec.beta = (1 + 0.1 * draw.standard_normal(WIDTH)).astype("f4"), (0.1 * draw.standard_normal(WIDTH)).astype("f4")


def linear(spec, draw, outputs, inputs):
    spec.weight = (draw.standard_normal((outputs, inputs)) / inputs**0.5).astype("f4")
    spec.bias = (0.1 * draw.standard_normal(outputs)).astype("f4")


def attention(spec, draw, own):
    norm(spec.layer_norm, draw)
    widths = [3 * WIDTH, WIDTH] if own else [WIDTH, 2 * WIDTH, WIDTH]
    for part, outputs in zip(spec.linear, widths):
        linear(part, draw, outputs, WIDTH)


def layers(spec, draw):
    for layer in spec.layer:
        attention(layer.self_attention, draw, True)
        if hasattr(layer, "attention"):
            attention(layer.attention, draw, False)
        norm(layer.ffn.layer_norm, draw)
        linear(layer.ffn.linear_0, draw, FORWARD, WIDTH)
        linear(layer.ffn.linear_1, draw, WIDTH, FORWARD)
    norm(spec.layer_norm, draw)


def words(spec, draw):
    spec.weight = draw.standard_normal((WORDS, WIDTH)).astype("f4") * numpy.float32(0.3)


def save(spec, folder):
    folder.mkdir(exist_ok=True)
    spec.validate()
    spec.optimize()
    spec.save(str(folder))
    return str(folder)


VOCABULARY = ["<unk>", "<s>", "</s>"] + [f"w{i}" for i in range(WORDS - 3)]


def language_model(folder):
    from ctranslate2 import specs

    draw = numpy.random.default_rng(31)
    spec = specs.TransformerDecoderModelSpec.from_config(LAYERS, HEADS, activation=specs.Activation.GELU)
    words(spec.decoder.embeddings, draw)
    spec.decoder.position_encodings.encodings = (0.1 * draw.standard_normal((64, WIDTH))).astype("f4")
    layers(spec.decoder, draw)
    linear(spec.decoder.projection, draw, WORDS, WIDTH)
    spec.decoder.scale_embeddings = False
    spec.register_vocabulary(VOCABULARY)
    return save(spec, folder)


def translation_model(folder):
    from ctranslate2 import specs

    draw = numpy.random.default_rng(37)
    spec = specs.TransformerSpec.from_config(LAYERS, HEADS)
    for side, embeddings in ((spec.encoder, spec.encoder.embeddings[0]), (spec.decoder, spec.decoder.embeddings)):
        words(embeddings, draw)
        side.position_encodings.encodings = (0.1 * draw.standard_normal((64, WIDTH))).astype("f4")
        layers(side, draw)
    linear(spec.decoder.projection, draw, WORDS, WIDTH)
    spec.register_source_vocabulary(VOCABULARY)
    spec.register_target_vocabulary(VOCABULARY)
    return save(spec, folder)


def run(backend, folder):
    import ctranslate2

    device = {"device": backend, **({"intra_threads": 2} if backend == "cpu" else {})}
    draw = numpy.random.default_rng(41)
    texts = [[f"w{i}" for i in draw.integers(0, WORDS - 3, size)] for size in (5, 9, 14)]
    models = [make(folder / f"{name}.{backend}") for name, make in (("language", language_model), ("translation", translation_model))]
    out = {}
    for kind in ("float32", "float16", "bfloat16"):
        given = "float32" if backend == "cpu" else kind
        logits = ctranslate2.Generator(models[0], compute_type=given, **device).forward_batch(texts)
        if backend == "cuda":
            logits = logits.to_device(ctranslate2.Device.cpu)
        logits = numpy.array(logits.to(ctranslate2.DataType.float32))
        # Behind the end of a text there is nothing.
        out[f"logits_{kind}"] = numpy.concatenate([logits[i, : len(text)] for i, text in enumerate(texts)])
    for kind in ("float32", "float16"):
        given = "float32" if backend == "cpu" else kind
        translator = ctranslate2.Translator(models[1], compute_type=given, **device)
        out[f"scores_{kind}"] = numpy.concatenate([scores.log_probs for scores in translator.score_batch(texts, texts[::-1])])
    translator = ctranslate2.Translator(models[1], compute_type="float32", **device)
    found = [result for beams in (1, 3) for result in translator.translate_batch(texts, beam_size=beams, max_decoding_length=12, return_attention=True)]
    out["translations"] = numpy.concatenate([[VOCABULARY.index(word) for word in result.hypotheses[0]] for result in found])
    # Of beams, the CPU's back end gives attention that is no distribution.
    out["attention"] = numpy.concatenate([numpy.ravel(result.attention[0]) for result in found[: len(texts)]])
    return out


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
