# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime's CUDA provider beside its CPU provider: its own kernels, cuBLAS, cuDNN and a CUDA graph. Models have random weights."""
import sys

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

# Sums of f32 have another order; f16 has eleven bits.
BOUNDS = {"convolutions": 1e-5, "block": 1e-5, "block_f16": 1e-2, "graph": 1e-5, "recurrent": 1e-5, "bytes": 0, "places": 0, "sums": 1e-5, "loop": 1e-5}
TYPES = {numpy.dtype(numpy.float32): TensorProto.FLOAT, numpy.dtype(numpy.float16): TensorProto.FLOAT16, numpy.dtype(numpy.int64): TensorProto.INT64,
         numpy.dtype(numpy.int32): TensorProto.INT32, numpy.dtype(numpy.uint8): TensorProto.UINT8, numpy.dtype(numpy.int8): TensorProto.INT8}


class Model:
    """A graph that grows by one operator at a time; each gives the name of its result."""

    def __init__(self, **inputs):
        self.inputs, self.nodes, self.weights, self.outputs = inputs, [], [], []

    def constant(self, value):
        self.weights.append(numpy_helper.from_array(numpy.asarray(value), f"w{len(self.weights)}"))
        return self.weights[-1].name

    def __call__(self, operator, *inputs, count=1, **attributes):
        names = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        results = [f"r{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(operator, names, results, **attributes))
        return results[0] if count == 1 else results

    def bytes(self, **outputs):
        """`outputs`: the type of each result."""
        rows = []
        for (name, kind), result in zip(outputs.items(), self.outputs):
            self.nodes.append(helper.make_node("Identity", [result], [name]))
            rows.append(helper.make_tensor_value_info(name, kind, None))
        inputs = [helper.make_tensor_value_info(name, TYPES[value.dtype], value.shape) for name, value in self.inputs.items()]
        graph = helper.make_graph(self.nodes, "job", inputs, rows, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        return model.SerializeToString()


def session(backend, model, **options):
    kind = "CUDAExecutionProvider" if backend == "cuda" else "CPUExecutionProvider"
    options = {"use_tf32": "0", "cudnn_conv_algo_search": "HEURISTIC", **options} if backend == "cuda" else {}
    made = onnxruntime.InferenceSession(model, providers=[(kind, options)])
    assert made.get_providers()[0] == kind, made.get_providers()
    return made


def run(backend, model, **outputs):
    return session(backend, model.bytes(**outputs)).run(None, model.inputs)


def convolutions(draw):
    m = Model(x=draw(3, 3, 20, 20))
    x = m("Relu", m("Conv", "x", 0.2 * draw(8, 3, 3, 3), draw(8), pads=[1, 1, 1, 1]))
    x = m("BatchNormalization", x, draw(8), draw(8), draw(8), abs(draw(8)) + 1)
    x = m("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2])
    x = m("Relu", m("Conv", x, 0.1 * draw(16, 4, 3, 3), draw(16), group=2, strides=[2, 2]))
    x = m("Flatten", m("GlobalAveragePool", x))
    m.outputs = [m("Softmax", m("Gemm", x, draw(16, 7), draw(7)))]
    return m


def block(draw, kind):
    m = Model(x=draw(2, 12, 32).astype(kind))
    weights = [(0.2 * draw(*shape)).astype(kind) for shape in ((32, 96), (32, 32), (32, 64), (64, 32))]
    q, k, v = m("Split", m("MatMul", m("LayerNormalization", "x", numpy.ones(32, kind), numpy.zeros(32, kind)), weights[0]), numpy.full(3, 32), count=3, axis=2)
    heads = [m("Transpose", m("Reshape", part, numpy.array([2, 12, 4, 8])), perm=[0, 2, 1, 3]) for part in (q, k, v)]
    scores = m("Mul", m("MatMul", heads[0], m("Transpose", heads[1], perm=[0, 1, 3, 2])), numpy.asarray(8**-0.5, kind))
    mask = numpy.triu(numpy.full((12, 12), -1e4), 1).astype(kind)
    mixed = m("Reshape", m("Transpose", m("MatMul", m("Softmax", m("Add", scores, mask)), heads[2]), perm=[0, 2, 1, 3]), numpy.array([2, 12, 32]))
    y = m("Add", "x", m("MatMul", mixed, weights[1]))
    wide = m("MatMul", m("LayerNormalization", y, numpy.ones(32, kind), numpy.zeros(32, kind)), weights[2])
    gelu = m("Mul", m("Mul", wide, numpy.asarray(0.5, kind)), m("Add", m("Erf", m("Mul", wide, numpy.asarray(2**-0.5, kind))), numpy.asarray(1, kind)))
    m.outputs = [m("Add", y, m("MatMul", gelu, weights[3]))]
    return m


def by_graph(backend, draw):
    """The same block, with data that stays on the device, as a CUDA graph: captured, then launched with other data."""
    model = block(draw, numpy.float32)
    inputs = [model.inputs["x"], numpy.flip(model.inputs["x"], 1).copy()]
    if backend == "cpu":
        runs = session(backend, model.bytes(y=TensorProto.FLOAT))
        return numpy.concatenate([runs.run(None, {"x": x})[0] for x in inputs])
    runs = session(backend, model.bytes(y=TensorProto.FLOAT), enable_cuda_graph="1")
    x, y = (onnxruntime.OrtValue.ortvalue_from_numpy(array, "cuda", 0) for array in (inputs[0], numpy.zeros_like(inputs[0])))
    binding, results = runs.io_binding(), []
    binding.bind_ortvalue_input("x", x)
    binding.bind_ortvalue_output("y", y)
    for data in inputs:
        x.update_inplace(data)
        runs.run_with_iobinding(binding)
        results.append(y.numpy().copy())
    return numpy.concatenate(results)


def recurrent(draw):
    m = Model(x=draw(7, 3, 8))
    states = m("LSTM", "x", 0.3 * draw(1, 64, 8), 0.3 * draw(1, 64, 16), 0.1 * draw(1, 128), count=2, hidden_size=16)[0]
    gated = m("GRU", m("Squeeze", states, numpy.array([1])), 0.3 * draw(2, 36, 16), 0.3 * draw(2, 36, 12), 0.1 * draw(2, 72), count=2, hidden_size=12,
              direction="bidirectional", linear_before_reset=1)[0]
    m.outputs = [gated]
    return m


def on_bytes(draw, generator):
    m = Model(a=generator.integers(-128, 128, (16, 32), dtype=numpy.int8))
    b = generator.integers(-128, 128, (32, 24), dtype=numpy.int8)
    m.outputs = [m("MatMulInteger", "a", b), m("QuantizeLinear", draw(5, 40), numpy.float32(0.02), numpy.int8(3))]
    return m


def places(draw):
    m = Model(x=draw(12, 50))
    where, cumulated = numpy.array([[3, 1], [40, 7]]), m("CumSum", m("Cast", m("Mul", "x", numpy.float32(50)), to=TensorProto.INT32), numpy.array(1))
    top = m("TopK", "x", numpy.array([6]), count=2)
    moved = m("ScatterElements", "x", where, numpy.full((2, 2), 9, numpy.float32), axis=1)
    parts = [top[0], m("Gather", moved, numpy.array([4, 0, 11])), m("Where", m("Greater", "x", numpy.float32(0)), "x", moved), m("Pad", "x", numpy.array([0, 1, 0, 2])),
             m("Slice", "x", numpy.array([1, 2]), numpy.array([9, 40]), numpy.array([0, 1]), numpy.array([2, 3])), m("Expand", m("ReduceMax", "x", axes=[1]), numpy.array([12, 5]))]
    flat = [m("Reshape", part, numpy.array([-1])) for part in parts]
    whole = [m("Cast", m("Reshape", part, numpy.array([-1])), to=TensorProto.FLOAT) for part in (top[1], cumulated, m("ArgMax", "x", axis=0))]
    m.outputs = [m("Concat", *flat, *whole, axis=0)]
    return m


def sums(draw):
    m = Model(x=draw(6, 20, 30))
    parts = [m("ReduceSum", "x", numpy.array([1])), m("ReduceMean", "x", axes=[0, 2]), m("ReduceL2", "x", axes=[2]), m("LogSoftmax", "x"), m("ReduceLogSumExp", "x", axes=[1]),
             m("InstanceNormalization", "x", draw(20), draw(20)), m("Einsum", "x", draw(30, 4), equation="abc,cd->bad"), m("Tanh", m("Exp", m("Sin", "x")))]
    m.outputs = [m("Concat", *(m("Reshape", part, numpy.array([-1])) for part in parts), axis=0)]
    return m


def loop(draw):
    """Five rounds of x := tanh(x w), each of which is kept."""
    m = Model(x=draw(4, 16))
    body = helper.make_graph(
        [helper.make_node("MatMul", ["state", "weights"], ["product"]), helper.make_node("Tanh", ["product"], ["next"]), helper.make_node("Identity", ["next"], ["kept"]),
         helper.make_node("Identity", ["go"], ["on"])], "round",
        [helper.make_tensor_value_info("round", TensorProto.INT64, []), helper.make_tensor_value_info("go", TensorProto.BOOL, []),
         helper.make_tensor_value_info("state", TensorProto.FLOAT, None)],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, []), helper.make_tensor_value_info("next", TensorProto.FLOAT, None),
         helper.make_tensor_value_info("kept", TensorProto.FLOAT, None)], [numpy_helper.from_array(0.5 * draw(16, 16), "weights")])
    m.outputs = [m("Loop", numpy.array(5), numpy.array(True), "x", count=2, body=body)[1]]
    return m


def job(backend, folder):
    generator = numpy.random.default_rng(8)

    def draw(*shape):
        return generator.standard_normal(shape, numpy.float32)

    y = {"y": TensorProto.FLOAT}
    out = {"convolutions": run(backend, convolutions(draw), **y)[0], "block": run(backend, block(draw, numpy.float32), **y)[0],
           "block_f16": run(backend, block(draw, numpy.float16), y=TensorProto.FLOAT16)[0], "graph": by_graph(backend, draw), "recurrent": run(backend, recurrent(draw), **y)[0]}
    product, quantised = run(backend, on_bytes(draw, generator), p=TensorProto.INT32, q=TensorProto.INT8)
    out["bytes"] = numpy.concatenate([product.ravel(), quantised.ravel()])
    for name, model in (("places", places), ("sums", sums), ("loop", loop)):
        out[name] = run(backend, model(draw), **y)[0]
    return out


if __name__ == "__main__":
    main(job, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
