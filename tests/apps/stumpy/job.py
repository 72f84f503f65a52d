# SPDX-License-Identifier: Apache-2.0
"""STUMPY: matrix profiles of a series with motifs and discords, of two series, without normalisation; how far two series are
apart, and profiles of several windows. On the CPU it is compiled by Numba, too."""
import sys

sys.path.insert(0, sys.path[0] + "/..")
from job import main, within

BOUNDS = {"profile": 1e-9, "neighbours": 0, "motif": 0, "discord": 0, "join": 1e-9, "join_neighbours": 0, "distances_as_they_are": 1e-9,
          "neighbours_as_they_are": 0, "apart": 1e-9, "all_windows": 1e-9}


def series(numpy):
    draw = numpy.random.default_rng(11)
    time = numpy.linspace(0, 40, 1000)
    values = numpy.sin(time) + 0.4 * numpy.sin(3.1 * time) + 0.1 * draw.standard_normal(1000)
    values[300:350] = values[700:750] + 0.01 * draw.standard_normal(50)  # a motif
    values[500:520] += numpy.linspace(0, 3, 20)  # a discord
    return values, numpy.cumsum(draw.standard_normal(600))


def run(backend, folder):
    import numpy
    import stumpy

    gpu = backend == "cuda"
    first, second = series(numpy)
    window = 50
    profile = (stumpy.gpu_stump if gpu else stumpy.stump)(first, window)
    distances = profile[:, 0].astype(numpy.float64)
    out = {"profile": distances, "neighbours": profile[:, 1].astype(numpy.int64), "motif": numpy.argmin(distances), "discord": numpy.argmax(distances)}
    join = (stumpy.gpu_stump if gpu else stumpy.stump)(first, window, second, ignore_trivial=False)
    out["join"], out["join_neighbours"] = join[:, 0].astype(numpy.float64), join[:, 1].astype(numpy.int64)
    plain = (stumpy.gpu_aamp if gpu else stumpy.aamp)(second, window)
    out["distances_as_they_are"], out["neighbours_as_they_are"] = plain[:, 0].astype(numpy.float64), plain[:, 1].astype(numpy.int64)
    out["apart"] = (stumpy.gpu_mpdist if gpu else stumpy.mpdist)(first[:400], second[:400], window)
    windows = (stumpy.gpu_stimp if gpu else stumpy.stimp)(second, min_m=20, max_m=60, step=10, **({} if gpu else {"percentage": 1.0}))
    for _ in range(5):
        windows.update()
    out["all_windows"] = windows.PAN_
    return out


if __name__ == "__main__":
    main(run, lambda cpu, cuda: within(BOUNDS, cpu, cuda))
