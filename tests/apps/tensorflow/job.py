# SPDX-License-Identifier: Apache-2.0
"""TensorFlow with Keras: a convolutional network and a transformer's block that are trained, a recurrent layer, and functions of its library one by
one, on the GPU beside its own CPU kernels. TF32 is off."""
import os
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

sys.path.pop(0)  # this folder has one of the name jax, for which Keras looks

# Sums of f32 have another order; f16 has eleven bits, bf16 eight.
BOUNDS = {"convolution_losses": 1e-4, "convolution_answers": 1e-3, "transformer_losses": 1e-4, "transformer_losses_f16": 1e-2, "lstm": 1e-5, "product": 1e-5,
          "product_f16": 2e-3, "product_bf16": 1e-2, "contraction": 1e-5, "convolved": 1e-5, "depthwise": 1e-5, "pooled": 1e-6, "softmax": 1e-5, "largest": 0,
          "order": 0, "scanned": 1e-5, "segments": 1e-5, "gathered": 0, "scattered": 1e-5, "spectrum": 1e-5, "solution": 1e-4, "cholesky": 1e-5,
          "singular_values": 1e-5, "sparse_product": 1e-5, "uniform": 0, "normal": 1e-5, "resized": 1e-5, "special": 1e-5, "loop": 1e-5, "xla": 1e-5}
STEPS = 8


def weights(model, draw):
    """The same on both back ends, whatever Keras drew."""
    model.set_weights([(draw.standard_normal(w.shape) * 0.2).astype(w.dtype) if w.ndim > 1 else w for w in model.get_weights()])


def trained(model, x, y, draw):
    import keras

    weights(model, draw)
    model.compile(keras.optimizers.Adam(0.01, epsilon=1e-4), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    return numpy.array([model.train_on_batch(x, y) for _ in range(STEPS)])


def convolution(out, draw):
    import keras
    from keras import layers

    x, y = draw.standard_normal((16, 12, 12, 3)).astype(numpy.float32), draw.integers(0, 5, 16)
    model = keras.Sequential([keras.Input((12, 12, 3)), layers.Conv2D(8, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(), layers.Conv2D(8, 3, 2),
                              layers.MaxPooling2D(), layers.Flatten(), layers.Dense(5)])
    out["convolution_losses"] = trained(model, x, y, draw)
    out["convolution_answers"] = model.predict(x, verbose=0)


def transformer(draw, kind):
    import keras
    from keras import layers

    keras.config.set_dtype_policy("mixed_float16" if kind == "f16" else "float32")
    inputs = keras.Input((16,), dtype="int32")
    x = layers.Embedding(24, 32)(inputs)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(4, 8)(x, x, use_causal_mask=True))
    x = layers.LayerNormalization()(x + layers.Dense(32)(layers.Dense(64, activation="gelu")(x)))
    model = keras.Model(inputs, layers.Dense(24, dtype="float32")(x))
    text = draw.integers(0, 24, (4, 17))
    losses = trained(model, text[:, :-1], text[:, 1:], draw)
    keras.config.set_dtype_policy("float32")
    return losses


def functions(tf, out, draw):
    f32 = lambda *shape: tf.constant(draw.standard_normal(shape), tf.float32)
    a, b = f32(70, 90), f32(90, 50)
    out["product"] = a @ b
    out["product_f16"] = tf.cast(tf.cast(a, tf.float16) @ tf.cast(b, tf.float16), tf.float32)
    out["product_bf16"] = tf.cast(tf.cast(a, tf.bfloat16) @ tf.cast(b, tf.bfloat16), tf.float32)
    out["contraction"] = tf.einsum("bik,bkjl->bijl", f32(3, 7, 11), f32(3, 11, 5, 2))
    picture = f32(2, 17, 15, 6)
    out["convolved"] = tf.nn.conv2d(picture, f32(3, 3, 6, 10), 2, "SAME")
    out["depthwise"] = tf.nn.depthwise_conv2d(picture, f32(3, 3, 6, 2), [1, 1, 1, 1], "VALID")
    out["pooled"] = tf.nn.avg_pool2d(picture, 3, 2, "SAME")
    out["resized"] = tf.image.resize(picture, (23, 9))
    out["softmax"] = tf.nn.log_softmax(f32(30, 1001))
    rows = f32(20, 300)
    out["largest"], out["order"] = tf.math.top_k(rows, 7).values, tf.argsort(rows, stable=True)
    out["scanned"] = tf.cumsum(rows, 1, exclusive=True, reverse=True)
    places = tf.constant(draw.integers(0, 12, 20))
    out["segments"] = tf.math.unsorted_segment_sum(rows, places, 12)
    out["gathered"] = tf.gather(rows, tf.constant(draw.integers(0, 300, (4, 5))), axis=1)
    out["scattered"] = tf.tensor_scatter_nd_add(f32(12, 300), places[:, None], rows)
    out["spectrum"] = tf.abs(tf.signal.fft2d(tf.complex(f32(3, 40, 24), f32(3, 40, 24))))
    square = f32(4, 24, 24)
    positive = square @ tf.linalg.matrix_transpose(square) + 24 * tf.eye(24)
    out["solution"], out["cholesky"] = tf.linalg.solve(positive, f32(4, 24, 3)), tf.linalg.cholesky(positive)
    out["singular_values"] = tf.linalg.svd(square, compute_uv=False)
    holes = numpy.where(draw.random((60, 40)) < 0.1, draw.standard_normal((60, 40)), 0).astype(numpy.float32)
    out["sparse_product"] = tf.sparse.sparse_dense_matmul(tf.sparse.from_dense(holes), f32(40, 30))
    out["uniform"], out["normal"] = tf.random.stateless_uniform([999], [1, 2]), tf.random.stateless_normal([999], [3, 4])
    positive = tf.abs(rows) + 0.1
    out["special"] = tf.stack([tf.math.lgamma(positive), tf.math.erf(rows), tf.math.digamma(positive), tf.math.atan2(rows, positive)])

    @tf.function
    def loop(x):
        for step in tf.range(5):
            x = tf.tanh(x @ x) + tf.cast(step, tf.float32) * 0.1
        return x

    out["loop"] = loop(square[0])
    q, k, v = f32(2, 4, 16, 8), f32(2, 4, 16, 8), f32(2, 4, 16, 8)

    @tf.function(jit_compile=True)
    def attention(q, k, v):
        return tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * 0.35) @ v

    out["xla"] = attention(q, k, v)


def recurrent(draw):
    import keras

    layer = keras.layers.LSTM(24, return_sequences=True)
    x = draw.standard_normal((6, 20, 10)).astype(numpy.float32)
    layer.build(x.shape)
    weights(layer, draw)
    return layer(x)


def run(backend, folder):
    os.environ.update({"TF_CPP_MIN_LOG_LEVEL": "1", "KERAS_HOME": str(folder), "TF_FORCE_GPU_ALLOW_GROWTH": "true"})
    import keras
    import tensorflow as tf

    tf.config.experimental.enable_tensor_float_32_execution(False)
    if backend == "cuda":
        assert tf.config.list_physical_devices("GPU"), "TensorFlow sees no GPU"
        tf.config.set_soft_device_placement(True)
    else:
        tf.config.set_visible_devices([], "GPU")
    keras.utils.set_random_seed(1)
    draw, out = numpy.random.default_rng(5), {}
    with tf.device("/GPU:0" if backend == "cuda" else "/CPU:0"):
        convolution(out, draw)
        for kind in ("", "_f16"):
            out[f"transformer_losses{kind}"] = transformer(draw, kind.strip("_"))
        out["lstm"] = recurrent(draw)
        functions(tf, out, draw)
    return {name: numpy.asarray(value) for name, value in out.items()}


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
