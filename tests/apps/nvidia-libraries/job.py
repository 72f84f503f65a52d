# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's closed libraries, called as C programs call them: products and solutions, epilogues, Fourier transforms, random numbers, sparse
products, decompositions, layers of networks, filters of images, JPEG. Beside NumPy, SciPy and Pillow. Each library is called alone, on
the default stream, and then all are by several threads at once, each with a stream of its own.
cuTENSOR is left out, as it compiles for half an hour when it starts. It has a test of its own (tests/libraries)."""
import ctypes
import io
import sys
import threading
from ctypes import byref, c_double, c_float, c_int, c_int64, c_size_t, c_uint, c_ulonglong, c_void_p

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

# Halves are summed in f32. JPEG's decoders differ in rounding.
BOUNDS = {"cublas_f32": 1e-5, "cublas_f64": 1e-13, "cublas_f16": 2e-3, "cublas_batched": 1e-5, "cublas_triangular": 1e-10, "cublas_norm": 1e-13,
          "cublaslt_bias_relu": 2e-3, "cufft_c2c": 1e-5, "cufft_r2c_2d": 1e-5, "cufft_f64": 1e-13, "curand_uniform": 1e-6, "curand_philox": 0, "cusparse_vector": 1e-12,
          "cusparse_matrix": 1e-5, "cusolver_solution": 1e-9, "cusolver_eigenvalues": 1e-10, "cusolver_singular": 1e-10, "cudnn_convolution": 1e-5,
          "cudnn_softmax": 1e-5, "cudnn_pooling": 0, "npp_sum": 0, "npp_box": 1 / 255, "nvjpeg": 4 / 255}
THREADS, TIMES = 3, 2  # for each library


class Device:
    """Memory and a stream, by the driver, for one thread."""

    def __init__(self, own_stream=False):
        self.cuda = ctypes.CDLL("libcuda.so.1")
        context = c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        self.stream = c_void_p()
        if own_stream:
            self.call("cuStreamCreate", byref(self.stream), 1)  # it waits for no other

    def call(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        assert code == 0, (name, code)

    def room(self, size):
        pointer = c_void_p()
        self.call("cuMemAlloc_v2", byref(pointer), c_size_t(max(size, 16)))
        return pointer

    def put(self, values, order="C"):
        values = numpy.asarray(values)
        flat = values.tobytes(order)
        pointer = self.room(len(flat))
        self.call("cuMemcpyHtoDAsync_v2", pointer, flat, c_size_t(len(flat)), self.stream)
        return pointer

    def get(self, pointer, shape, kind, order="C"):
        size = int(numpy.prod(shape)) * numpy.dtype(kind).itemsize
        text = ctypes.create_string_buffer(size)
        self.call("cuMemcpyDtoHAsync_v2", text, pointer, c_size_t(size), self.stream)
        self.call("cuStreamSynchronize", self.stream)
        return numpy.frombuffer(text.raw, kind).reshape(shape, order=order)


class Library:
    def __init__(self, name):
        self.library, self.name = ctypes.CDLL(name), name

    def __call__(self, name, *arguments):
        code = getattr(self.library, name)(*arguments)
        assert code == 0, (self.name, name, code)

    def handle(self, name, *arguments):
        made = c_void_p()
        self(name, byref(made), *arguments)
        return made


def inputs():
    draw = numpy.random.default_rng(53)
    f32 = lambda *shape: draw.standard_normal(shape).astype("f4")
    square = draw.standard_normal((24, 24))
    sparse = draw.standard_normal((40, 30)) * (draw.random((40, 30)) < 0.15)
    y, x = numpy.mgrid[:48, :64]
    photo = numpy.stack([128 + 100 * numpy.sin(x / 9), 128 + 100 * numpy.cos(y / 7), (x * 2 + y) % 256 * 0.5 + 40], -1).astype(numpy.uint8)
    return {"a": f32(40, 56), "b": f32(56, 24), "wide": draw.standard_normal((24, 32)), "batch_a": f32(5, 16, 12), "batch_b": f32(5, 12, 8), "square": square,
            "right": draw.standard_normal((24, 3)), "bias": f32(64), "wave": f32(4, 240) + 1j * f32(4, 240), "image": f32(24, 36), "sparse": sparse,
            "vector": draw.standard_normal(30), "dense": f32(30, 7), "pictures": f32(2, 3, 12, 14),
            "filters": f32(4, 3, 3, 3), "grey": draw.integers(0, 256, (40, 50)).astype(numpy.uint8), "photo": photo, "half_a": f32(64, 32), "half_b": f32(32, 48)}


def jpeg(photo):
    from PIL import Image

    text = io.BytesIO()
    Image.fromarray(photo).save(text, "JPEG", quality=92, subsampling=0)
    return text.getvalue()


def on_cpu(given):
    import scipy.linalg
    from PIL import Image

    g, out = given, {}
    half = lambda x: x.astype(numpy.float16).astype(numpy.float32)
    out["cublas_f32"], out["cublas_f64"] = g["a"] @ g["b"], g["square"] @ g["wide"]
    out["cublas_f16"], out["cublas_batched"] = half(g["a"]) @ half(g["b"]), g["batch_a"] @ g["batch_b"]
    triangle = numpy.tril(g["square"]) + 6 * numpy.eye(24)
    out["cublas_triangular"] = scipy.linalg.solve_triangular(triangle, g["right"], lower=True)
    out["cublas_norm"] = numpy.array([numpy.linalg.norm(g["square"])])
    out["cublaslt_bias_relu"] = numpy.maximum(half(g["half_a"]) @ half(g["half_b"]) + half(g["bias"])[:, None], 0)
    out["cufft_c2c"] = numpy.fft.fft(g["wave"]).astype("c16").view("f8")
    out["cufft_r2c_2d"] = numpy.fft.rfft2(g["image"]).astype("c16").view("f8")
    out["cufft_f64"] = numpy.fft.ifft(g["wave"].astype("c16"), norm="forward").view("f8")
    random = Library("libcurand.so.10")
    for name, kind in (("curand_uniform", 101), ("curand_philox", 161)):
        made = random.handle("curandCreateGeneratorHost", kind)
        random("curandSetPseudoRandomGeneratorSeed", made, c_ulonglong(1234))
        out[name] = numpy.zeros(1000, "f4" if kind == 101 else "u4")
        random("curandGenerateUniform" if kind == 101 else "curandGenerate", made, out[name].ctypes.data_as(c_void_p), c_size_t(1000))
    out["cusparse_vector"], out["cusparse_matrix"] = g["sparse"] @ g["vector"], g["sparse"].astype("f4") @ g["dense"]
    out["cusolver_solution"] = numpy.linalg.solve(g["square"], g["right"])
    out["cusolver_eigenvalues"] = numpy.linalg.eigvalsh(g["square"] + g["square"].T)
    out["cusolver_singular"] = numpy.linalg.svd(g["wide"].T, compute_uv=False)
    windows = numpy.lib.stride_tricks.sliding_window_view(numpy.pad(g["pictures"], ((0, 0), (0, 0), (1, 1), (1, 1))), (3, 3), (2, 3))
    out["cudnn_convolution"] = numpy.einsum("nchwij,kcij->nkhw", windows, g["filters"])
    power = numpy.exp(g["pictures"] - g["pictures"].max(1, keepdims=True))
    out["cudnn_softmax"] = power / power.sum(1, keepdims=True)
    out["cudnn_pooling"] = g["pictures"].reshape(2, 3, 6, 2, 7, 2).max((3, 5))
    out["npp_sum"] = numpy.array([g["grey"].sum()], float)
    windows = numpy.lib.stride_tricks.sliding_window_view(g["grey"].astype(int), (3, 3))
    out["npp_box"] = windows.sum((2, 3)) // 9
    out["nvjpeg"] = numpy.asarray(Image.open(io.BytesIO(jpeg(g["photo"]))))
    return out


def cublas(on, g, out):
    blas = Library("libcublas.so.13")
    handle = blas.handle("cublasCreate_v2")
    blas("cublasSetStream_v2", handle, on.stream)
    one, zero, one64, zero64 = c_float(1), c_float(0), c_double(1), c_double(0)

    # Columns come first there: the product of the transposed is the transposed of the product.
    def product(name, a, b, kinds, compute, scale):
        m, k, n = *a.shape, b.shape[1]
        target = on.room(m * n * 8)
        blas("cublasGemmEx", handle, 0, 0, n, m, k, byref(scale[0]), on.put(b), kinds[0], n, on.put(a), kinds[0], k, byref(scale[1]), target, kinds[1], n, compute, -1)
        out[name] = on.get(target, (m, n), {0: "f4", 1: "f8"}[kinds[1]])

    product("cublas_f32", g["a"], g["b"], (0, 0), 68, (one, zero))
    product("cublas_f64", g["square"], g["wide"], (1, 1), 70, (one64, zero64))
    product("cublas_f16", g["a"].astype("f2"), g["b"].astype("f2"), (2, 0), 68, (one, zero))
    count, m, k, n = *g["batch_a"].shape, g["batch_b"].shape[2]
    target = on.room(count * m * n * 4)
    blas("cublasSgemmStridedBatched", handle, 0, 0, n, m, k, byref(one), on.put(g["batch_b"]), n, c_int64(k * n), on.put(g["batch_a"]), k, c_int64(m * k), byref(zero),
         target, n, c_int64(m * n), count)
    out["cublas_batched"] = on.get(target, (count, m, n), "f4")
    triangle, right = on.put(numpy.tril(g["square"]) + 6 * numpy.eye(24), "F"), on.put(g["right"], "F")
    blas("cublasDtrsm_v2", handle, 0, 0, 0, 0, 24, 3, byref(one64), triangle, 24, right, 24)
    out["cublas_triangular"] = on.get(right, (24, 3), "f8", "F")
    norm = c_double()
    blas("cublasDnrm2_v2", handle, 24 * 24, on.put(g["square"]), 1, byref(norm))
    out["cublas_norm"] = numpy.array([norm.value])


def cublaslt(on, g, out):
    lt = Library("libcublasLt.so.13")
    handle = lt.handle("cublasLtCreate")
    m, k, n = 64, 32, 48
    operation = lt.handle("cublasLtMatmulDescCreate", 68, 0)
    # The epilogue: a bias for each row, then nothing below zero.
    bias, epilogue = on.put(g["bias"].astype("f2")), c_uint(2 | 4)
    lt("cublasLtMatmulDescSetAttribute", operation, 7, byref(epilogue), c_size_t(4))
    lt("cublasLtMatmulDescSetAttribute", operation, 8, byref(bias), c_size_t(8))
    layouts = [lt.handle("cublasLtMatrixLayoutCreate", 2, c_ulonglong(rows), c_ulonglong(columns), c_int64(rows)) for rows, columns in ((m, k), (k, n), (m, n))]
    wishes = lt.handle("cublasLtMatmulPreferenceCreate")
    size = c_size_t(1 << 20)
    lt("cublasLtMatmulPreferenceSetAttribute", wishes, 1, byref(size), c_size_t(8))
    results, found = (ctypes.c_char * (96 * 8))(), c_int()
    lt("cublasLtMatmulAlgoGetHeuristic", handle, operation, layouts[0], layouts[1], layouts[2], layouts[2], wishes, 8, results, byref(found))
    assert found.value
    one, zero, target = c_float(1), c_float(0), on.room(m * n * 2)
    lt("cublasLtMatmul", handle, operation, byref(one), on.put(g["half_a"].astype("f2"), "F"), layouts[0], on.put(g["half_b"].astype("f2"), "F"), layouts[1], byref(zero),
       target, layouts[2], target, layouts[2], results, on.room(1 << 20), size, on.stream)
    out["cublaslt_bias_relu"] = on.get(target, (m, n), "f2", "F").astype("f4")


def cufft(on, g, out):
    fft = Library("libcufft.so.12")
    plan = c_int()
    wave = on.put(g["wave"].astype("c8"))
    fft("cufftPlan1d", byref(plan), 240, 0x29, 4)
    fft("cufftSetStream", plan, on.stream)
    fft("cufftExecC2C", plan, wave, wave, -1)
    out["cufft_c2c"] = on.get(wave, (4, 240), "c8").astype("c16").view("f8")
    target = on.room(24 * 19 * 8)
    fft("cufftPlan2d", byref(plan), 24, 36, 0x2A)
    fft("cufftSetStream", plan, on.stream)
    fft("cufftExecR2C", plan, on.put(g["image"]), target)
    out["cufft_r2c_2d"] = on.get(target, (24, 19), "c8").astype("c16").view("f8")
    wave = on.put(g["wave"].astype("c16"))
    fft("cufftPlan1d", byref(plan), 240, 0x69, 4)
    fft("cufftSetStream", plan, on.stream)
    fft("cufftExecZ2Z", plan, wave, wave, 1)
    out["cufft_f64"] = on.get(wave, (4, 240), "c16").view("f8")


def curand(on, g, out):
    random = Library("libcurand.so.10")
    for name, kind in (("curand_uniform", 101), ("curand_philox", 161)):
        made, target = random.handle("curandCreateGenerator", kind), on.room(4000)
        random("curandSetStream", made, on.stream)
        random("curandSetPseudoRandomGeneratorSeed", made, c_ulonglong(1234))
        random("curandGenerateUniform" if kind == 101 else "curandGenerate", made, target, c_size_t(1000))
        out[name] = on.get(target, 1000, "f4" if kind == 101 else "u4")


def cusparse(on, g, out):
    import scipy.sparse

    sparse = Library("libcusparse.so.12")
    handle = sparse.handle("cusparseCreate")
    sparse("cusparseSetStream", handle, on.stream)

    def both(kind, code, size, one, zero, make, right, multiply, extra):
        rows = scipy.sparse.csr_matrix(g["sparse"].astype(kind))
        parts = [on.put(rows.indptr.astype("i4")), on.put(rows.indices.astype("i4")), on.put(rows.data)]
        matrix = sparse.handle("cusparseCreateCsr", c_int64(40), c_int64(30), c_int64(rows.nnz), *parts, 2, 2, 0, code)
        target = on.room(size)
        operands = [matrix, make(on.put(right), 30), byref(zero), make(target, 40)]
        room = c_size_t()
        sparse(f"{multiply}_bufferSize", handle, *extra, byref(one), *operands, code, 0, byref(room))
        sparse(multiply, handle, *extra, byref(one), *operands, code, 0, on.room(room.value))
        return target

    vector = lambda pointer, size: sparse.handle("cusparseCreateDnVec", c_int64(size), pointer, 1)
    target = both("f8", 1, 320, c_double(1), c_double(0), vector, g["vector"], "cusparseSpMV", (0,))
    out["cusparse_vector"] = on.get(target, 40, "f8")
    matrix = lambda pointer, size: sparse.handle("cusparseCreateDnMat", c_int64(size), c_int64(7), c_int64(7), pointer, 0, 2)
    target = both("f4", 0, 40 * 7 * 4, c_float(1), c_float(0), matrix, g["dense"], "cusparseSpMM", (0, 0))
    out["cusparse_matrix"] = on.get(target, (40, 7), "f4")


def cusolver(on, g, out):
    solver = Library("libcusolver.so.12")
    handle = solver.handle("cusolverDnCreate")
    solver("cusolverDnSetStream", handle, on.stream)
    matrix, right, pivots, info, size = on.put(g["square"], "F"), on.put(g["right"], "F"), on.room(96), on.room(4), c_int()
    solver("cusolverDnDgetrf_bufferSize", handle, 24, 24, matrix, 24, byref(size))
    solver("cusolverDnDgetrf", handle, 24, 24, matrix, 24, on.room(size.value * 8), pivots, info)
    solver("cusolverDnDgetrs", handle, 0, 24, 3, matrix, 24, pivots, right, 24, info)
    out["cusolver_solution"] = on.get(right, (24, 3), "f8", "F")
    matrix, values = on.put(g["square"] + g["square"].T, "F"), on.room(24 * 8)
    solver("cusolverDnDsyevd_bufferSize", handle, 1, 0, 24, matrix, 24, values, byref(size))
    solver("cusolverDnDsyevd", handle, 1, 0, 24, matrix, 24, values, on.room(size.value * 8), size, info)
    assert on.get(info, 1, "i4")[0] == 0
    out["cusolver_eigenvalues"] = on.get(values, 24, "f8")
    matrix = on.put(numpy.ascontiguousarray(g["wide"].T), "F")
    solver("cusolverDnDgesvd_bufferSize", handle, 32, 24, byref(size))
    letter = ctypes.c_byte(ord("N"))
    solver("cusolverDnDgesvd", handle, letter, letter, 32, 24, matrix, 32, values, None, 32, None, 24, on.room(size.value * 8), size, None, info)
    assert on.get(info, 1, "i4")[0] == 0
    out["cusolver_singular"] = on.get(values, 24, "f8")


def cudnn(on, g, out):
    dnn = Library("libcudnn.so.9")
    handle = dnn.handle("cudnnCreate")
    dnn("cudnnSetStream", handle, on.stream)

    def described(shape):
        made = dnn.handle("cudnnCreateTensorDescriptor")
        dnn("cudnnSetTensor4dDescriptor", made, 0, 0, *shape)
        return made

    given, one, zero = on.put(g["pictures"]), c_float(1), c_float(0)
    pictures, convolved, pooled = described((2, 3, 12, 14)), described((2, 4, 12, 14)), described((2, 3, 6, 7))
    filters = dnn.handle("cudnnCreateFilterDescriptor")
    dnn("cudnnSetFilter4dDescriptor", filters, 0, 0, 4, 3, 3, 3)
    convolution = dnn.handle("cudnnCreateConvolutionDescriptor")
    dnn("cudnnSetConvolution2dDescriptor", convolution, 1, 1, 1, 1, 1, 1, 1, 0)
    size, target = c_size_t(), on.room(2 * 4 * 12 * 14 * 4)
    dnn("cudnnGetConvolutionForwardWorkspaceSize", handle, pictures, filters, convolution, convolved, 0, byref(size))
    dnn("cudnnConvolutionForward", handle, byref(one), pictures, given, filters, on.put(g["filters"]), convolution, 0, on.room(size.value), size, byref(zero), convolved, target)
    out["cudnn_convolution"] = on.get(target, (2, 4, 12, 14), "f4")
    target = on.room(2 * 3 * 12 * 14 * 4)
    dnn("cudnnSoftmaxForward", handle, 1, 1, byref(one), pictures, given, byref(zero), pictures, target)
    out["cudnn_softmax"] = on.get(target, (2, 3, 12, 14), "f4")
    pooling = dnn.handle("cudnnCreatePoolingDescriptor")
    dnn("cudnnSetPooling2dDescriptor", pooling, 0, 0, 2, 2, 0, 0, 2, 2)
    dnn("cudnnPoolingForward", handle, pooling, byref(one), pictures, given, byref(zero), pooled, target)
    out["cudnn_pooling"] = on.get(target, (2, 3, 6, 7), "f4")


class Size(ctypes.Structure):
    _fields_ = [("width", c_int), ("height", c_int)]


class NppContext(ctypes.Structure):
    """What NPP asks of the device, told by the caller."""

    _fields_ = [("stream", c_void_p), ("device", c_int), ("multiprocessors", c_int), ("threads", c_int), ("block_threads", c_int), ("shared", c_size_t), ("major", c_int),
                ("minor", c_int), ("flags", c_uint), ("reserved", c_int)]


def npp(on, g, out):
    statistics, filtering = Library("libnppist.so.13"), Library("libnppif.so.13")

    def attribute(number):
        value = c_int()
        on.call("cuDeviceGetAttribute", byref(value), number, 0)
        return value.value

    context = NppContext(on.stream, 0, attribute(16), attribute(39), attribute(1), attribute(8), attribute(75), attribute(76), 0, 0)
    grey, size, room = on.put(g["grey"]), Size(50, 40), c_size_t()
    statistics("nppiSumGetBufferHostSize_8u_C1R_Ctx", size, byref(room), context)
    target = on.room(8)
    statistics("nppiSum_8u_C1R_Ctx", grey, 50, size, on.room(room.value), target, context)
    out["npp_sum"] = on.get(target, 1, "f8")
    target = on.room(38 * 48)
    inside = c_void_p(grey.value + 51)
    filtering("nppiFilterBox_8u_C1R_Ctx", inside, 50, target, 48, Size(48, 38), Size(3, 3), Size(1, 1), context)
    out["npp_box"] = on.get(target, (38, 48), "u1").astype(int)


def nvjpeg(on, g, out):
    decoder = Library("libnvjpeg.so.13")
    handle = decoder.handle("nvjpegCreateSimple")
    state = c_void_p()
    decoder("nvjpegJpegStateCreate", handle, byref(state))
    text, (rows, columns, _) = jpeg(g["photo"]), g["photo"].shape
    target = on.room(rows * columns * 3)

    class Image(ctypes.Structure):
        _fields_ = [("channel", c_void_p * 4), ("pitch", c_size_t * 4)]

    image = Image((c_void_p * 4)(target), (c_size_t * 4)(columns * 3))
    decoder("nvjpegDecode", handle, state, text, c_size_t(len(text)), 5, byref(image), on.stream)
    out["nvjpeg"] = on.get(target, g["photo"].shape, "u1")


def run(backend, folder):
    given = inputs()
    if backend == "cpu":
        alone = on_cpu(given)
        return {**alone, **{f"{name} in threads": numpy.stack([value] * THREADS * TIMES) for name, value in alone.items()}}
    parts = (cublas, cublaslt, cufft, curand, cusparse, cusolver, cudnn, npp, nvjpeg)
    on, alone, found, problems = Device(), {}, [], []
    for part in parts:
        part(on, given, alone)

    def work(part, start):
        try:
            on = Device(own_stream=True)
            start.wait()
            for _ in range(TIMES):
                part(on, given, out := {})
                found.append(out)
        except BaseException as problem:
            problems.append(problem)

    start = threading.Barrier(len(parts) * THREADS)
    threads = [threading.Thread(target=work, args=(part, start)) for part in parts for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]
    return {**alone, **{f"{name} in threads": numpy.stack([out[name] for out in found if name in out]) for name in alone}}


if __name__ == "__main__":
    bounds = {**BOUNDS, **{f"{name} in threads": bound for name, bound in BOUNDS.items()}}
    main(run, lambda cpu, cuda: within(bounds, cpu, cuda))
