# SPDX-License-Identifier: Apache-2.0
"""What all jobs of applications share. A job's folder has job.py, which calls main() with two functions:

run(backend, folder): does the job on 'cpu' or 'cuda', and gives named arrays. The folder is for files it makes.
check(cpu, cuda): both results; raises AssertionError, or gives the worst difference as (number, of what).

`job.py run BACKEND OUT` and `job.py check CPU CUDA` are how tools/test-apps starts it.
"""
import json
import pathlib
import sys

import numpy


def main(run, check):
    if sys.argv[1] == "run":
        out = pathlib.Path(sys.argv[3])
        numpy.savez(out, **run(sys.argv[2], out.parent))
    else:
        cpu, cuda = (dict(numpy.load(path)) for path in sys.argv[2:4])
        assert cpu.keys() == cuda.keys(), (sorted(cpu), sorted(cuda))
        worst, of = check(cpu, cuda)
        print(json.dumps({"worst": float(worst), "of": of}))


def relative(cpu, cuda):
    """The largest difference of two arrays, as a part of the largest magnitude; infinite where a NaN is in one alone."""
    cpu, cuda = (numpy.asarray(a, numpy.float64) for a in (cpu, cuda))
    assert cpu.shape == cuda.shape, (cpu.shape, cuda.shape)
    if (numpy.isnan(cpu) != numpy.isnan(cuda)).any():
        return numpy.inf
    largest = numpy.nanmax(numpy.abs(cpu), initial=0)
    return numpy.nanmax(numpy.abs(cpu - cuda), initial=0) / (largest or 1)


def within(bounds, cpu, cuda):
    """Each array against its bound; the worst, as a part of its bound's array."""
    worst = (0, "")
    for name, bound in bounds.items():
        difference = relative(cpu[name], cuda[name])
        assert difference <= bound, f"{name} differs by {difference:.3g} of its largest element; {bound} is allowed"
        worst = max(worst, (difference, name))
    return worst
