# SPDX-License-Identifier: Apache-2.0
"""A small model of the Llama architecture in llama.cpp's format, whose f16 weights are drawn at random."""
import numpy

VOCABULARY, LAYERS, WIDTH, HEADS, KEY_HEADS, FORWARD = 320, 2, 256, 4, 2, 512


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
