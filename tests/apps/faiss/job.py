# SPDX-License-Identifier: Apache-2.0
"""FAISS searches for neighbours: exactly, in inverted lists of whole, quantised and product-quantised vectors, of bits, and
with k-means. Indices are trained on the CPU and copied to the GPU, so that both search the same lists. Neighbours at almost
the same distance may change places, so distances are compared, and how many neighbours are the same."""
import sys

import numpy

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

BOUNDS = {"flat_l2": 1e-5, "flat_ip": 1e-5, "many": 1e-5, "halves": 2e-3, "l1": 1e-5, "canberra": 1e-5, "ivf_flat": 1e-5, "ivf_ip": 1e-5, "ivf_sq8": 1e-5,
          "ivf_sqfp16": 1e-5, "ivf_pq": 1e-4, "ivf_pq_halves": 5e-3, "added": 1e-5, "restored": 1e-5, "bits": 0, "pairs": 1e-5, "kmeans": 1e-3}
SAME = 0.99  # of the neighbours


def run(backend, folder):
    import faiss

    faiss.omp_set_num_threads(1)
    draw = numpy.random.default_rng(11)
    centres = draw.standard_normal((40, 48)).astype(numpy.float32) * 2
    base, queries = ((centres[draw.integers(0, 40, n)] + draw.standard_normal((n, 48))).astype(numpy.float32) for n in (4000, 60))
    out = {}
    resources = faiss.StandardGpuResources() if backend == "cuda" else None

    def placed(index, **options):
        if backend == "cpu":
            return index
        cloner = faiss.GpuClonerOptions()
        for name, value in options.items():
            setattr(cloner, name, value)
        return faiss.index_cpu_to_gpu(resources, 0, index, cloner)

    def search(name, index, k=10):
        out[name], out[f"{name}_neighbours"] = index.search(queries, k)

    l2, ip = faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT
    for name, metric in (("flat_l2", l2), ("flat_ip", ip), ("l1", faiss.METRIC_L1), ("canberra", faiss.METRIC_Canberra)):
        index = placed(faiss.IndexFlat(48, metric))
        index.add(base)
        search(name, index)
        if name == "flat_l2":
            search("many", index, 500)
    index = faiss.IndexFlatL2(48)
    index.add(base)
    search("halves", placed(index, useFloat16=True))
    for name, text, metric, options in (("ivf_flat", "IVF32,Flat", l2, {}), ("ivf_ip", "IVF32,Flat", ip, {}), ("ivf_sq8", "IVF32,SQ8", l2, {}),
                                        ("ivf_sqfp16", "IVF32,SQfp16", l2, {}), ("ivf_pq", "IVF32,PQ8", l2, {}),
                                        ("ivf_pq_halves", "IVF32,PQ8", l2, {"useFloat16": True})):
        index = faiss.index_factory(48, text, metric)
        index.train(base[:2000])
        index.add(base)
        index = placed(index, **options)
        index.nprobe = 6
        search(name, index)
        if name == "ivf_flat":
            index.add(queries[:50] + numpy.float32(0.01))
            search("added", index)
            if backend == "cuda":
                index = faiss.index_gpu_to_cpu(index)
                index.nprobe = 6
            search("restored", index)
    bits, asked = draw.integers(0, 256, (4000, 16), dtype=numpy.uint8), draw.integers(0, 256, (50, 16), dtype=numpy.uint8)
    index = faiss.IndexBinaryFlat(128)
    if backend == "cuda":
        index = faiss.GpuIndexBinaryFlat(resources, 128)
    index.add(bits)
    out["bits"] = index.search(asked, 10)[0]
    if backend == "cuda":
        out["pairs"] = faiss.pairwise_distance_gpu(resources, queries, base[:500])
    else:
        out["pairs"] = faiss.pairwise_distances(queries, base[:500])
    means = faiss.Kmeans(48, 40, niter=6, seed=3, gpu=backend == "cuda")
    means.train(base)
    out["kmeans"] = numpy.array(means.obj)
    return out


def check(cpu, cuda):
    for name in BOUNDS:
        neighbours = f"{name}_neighbours"
        if neighbours in cpu:
            pairs = zip(cpu[neighbours], cuda[neighbours])
            same = sum(len(numpy.intersect1d(a, b)) for a, b in pairs) / cpu[neighbours].size
            assert same >= SAME, f"{name}: {same:.3f} of the neighbours are the same"
    return within(BOUNDS, cpu, cuda)


if __name__ == "__main__":
    main(run, check)
