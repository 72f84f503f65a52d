#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Applications of tools/test-apps that share a folder write their results into files of their own, and a program that it needs and is not there is
named. What is beside another one has its Debian, and may be a package of it. A job has the devices that it asks for. What an application compiles
and keeps itself is gone before it runs cold, as Rubia's kernels are. Its own tests find what the job compiled if they ask for that, else nothing.
Usage: applications.py SOURCES"""
import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import types

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("test_apps", sys.argv[1] + "/tools/test-apps")
apps = importlib.util.module_from_spec(importlib.util.spec_from_loader("test_apps", loader))
loader.exec_module(apps)


def application(name):
    return apps.App(name, types.SimpleNamespace(into=pathlib.Path("/apps"), rubia=""))


owners = {}
for name in apps.names():
    place = application(name).place
    inner = place.inner(place.out) if isinstance(place, apps.DebianRoot) else place.out
    owners.setdefault(inner, []).append(name)
shared = [names for names in owners.values() if len(names) > 1]
assert len(owners) > 10 and not shared, shared

with tempfile.TemporaryFile("w") as log:
    try:
        apps.command(["no-such-program", "/"], log)
    except apps.Failed as problem:
        assert str(problem) == "no-such-program is not installed", problem
    else:
        raise AssertionError("a program that is not there ran")

with tempfile.TemporaryDirectory() as folder:
    (pathlib.Path(folder) / "torch.orig.tar.xz").touch()
    beside, said = application("torch-compile").place, []
    beside.inside, beside.inner = lambda words, folder: said.append(words), lambda path: pathlib.Path(folder)
    found = beside.download_source("torch", "/tests", lambda words, log: None, None)
    suite = application("pytorch").about["debian"]["suite"]
    assert found.name == "torch.orig.tar.xz" and f"{suite} main" in said[0][2], (found, said)

with tempfile.TemporaryDirectory() as folder:
    compiler = apps.App("torch-compile", types.SimpleNamespace(into=pathlib.Path(folder), rubia=""))
    variables = compiler.environment("cache.gfx942", "gfx942")
    kept = [compiler.place.inner(pathlib.Path(variables[name])) for name in ("RUBIA_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")]
    for path in kept:
        path.mkdir(parents=True)
    compiler.empty("cache.gfx942")
    assert kept[0] != kept[1] and not any(path.exists() for path in kept), kept

with tempfile.TemporaryDirectory() as folder:
    tested, found = apps.App("torch-compile", types.SimpleNamespace(into=pathlib.Path(folder), rubia="")), []
    of_job, of_tests = ([tested.place.inner(path) for path in tested.caches(f"cache.{part}gfx942").values()] for part in ("", "tests."))
    assert len(of_job) == 2, of_job
    for path in of_tests:
        (path / "12").mkdir(parents=True)
        (path / "12" / "of-an-earlier-run").touch()
    tested.place.prepare = lambda: None

    def files(path):
        return {str(file.relative_to(path)): file.read_text() for file in path.rglob("*") if file.is_file()} if path.is_dir() else None

    def run(start, results):
        found.append([files(path) for path in of_tests])
        return {"passed": 1, "failed": 0, "skipped": 0, "left_out": 0}, {}

    tested.selection.run = run
    tested.selection.about = {**tested.selection.about, "after_job": True}
    try:
        tested.own_tests("gfx942")
    except apps.Failed as problem:
        assert "run the job first" in str(problem), problem
    assert not found, found
    for path in of_job:
        (path / "34").mkdir(parents=True)
        (path / "34" / "entry").write_text(str(path))
    tested.own_tests("gfx942")
    (of_tests[0] / "34" / "entry").write_text("of the tests")
    tested.own_tests("gfx942")
    tested.selection.about = {**tested.selection.about, "after_job": False}
    tested.own_tests("gfx942")
    compiled = [{"34/entry": str(path)} for path in of_job]
    assert found == [compiled, compiled, [None, None]], found
    assert [files(path) for path in of_job] == compiled

with tempfile.TemporaryDirectory() as folder:
    distributed = apps.App("torch-distributed", types.SimpleNamespace(into=pathlib.Path(folder), rubia="rubia"))
    arch = "gfx942"
    assert distributed.under(arch)[:5] == ["run", "--device", "emulator", "--arch", f"{arch},{arch}"], distributed.under(arch)
    assert compiler.under(arch)[4] == arch, compiler.under(arch)
    limits = [distributed.environment("cache", target).get("NCCL_NTHREADS") for target in (arch, "gfx1100")]
    assert limits == ["256", None], limits
    # NCCL is of the Debian itself: there is nothing of the index.
    library = pathlib.Path(folder) / "pytorch" / "root" / distributed.about["kernels"][0]
    library.parent.mkdir(parents=True)
    library.touch()
    assert distributed.place.files(distributed.about["kernels"][0]) == [library]
    assert "PYTHONPATH" in compiler.environment("cache", "gfx942") and "PYTHONPATH" not in distributed.place.environment()
    said = []
    apps.command, apps.output = lambda words, log, **options: said.append(" ".join(map(str, words))), lambda words: " ".join(map(str, words))
    distributed.place.beside.install = lambda: None
    distributed.place.install(None)
    assert not any("pip" in words for words in said), said
    assert "dpkg-query" in distributed.place.version() and distributed.about["package"] in distributed.place.version(), distributed.place.version()
    locked = []
    distributed.lock_file = lambda name, besides: locked.append((name, besides))
    distributed.lock()
    assert locked == [("tests", [])], locked  # the application itself is not of the index
