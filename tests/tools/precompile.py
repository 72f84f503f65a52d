#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rubia precompile, from the outside: what it finds, what it leaves in the cache, what it survives.

Usage: precompile.py RUBIA FAULTY_WORKER [--units N] [--examples FOLDER] [TEST...]
"""
import argparse
import io
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import zipfile

import side_by_side

HEADER = ".version 7.0\n.target sm_70\n.address_size 64\n"
PREBUILT = pathlib.Path(__file__).parents[2] / "examples" / "prebuilt" / "vector_add_driver"


def kernel(name, value=1, shared=0):
    tile = f".shared .align 4 .b8 tile[{shared}];\nst.volatile.shared.u32 [tile], %r1;\nld.volatile.shared.u32 %r1, [tile];\n" if shared else ""
    return (f".visible .entry {name}(.param .u64 p)\n{{\n.reg .b64 %d1;\n.reg .b32 %r1;\n"
            f"ld.param.u64 %d1, [p];\nmov.u32 %r1, {value};\n{tile}st.global.u32 [%d1], %r1;\nret;\n}}\n")


def bad_kernel(name):
    return kernel(name).replace("mov.u32", "frobnicate.u32")


def ar(members):
    """An ar archive, as dpkg-deb writes them."""
    out = b"!<arch>\n"
    for name, data in members:
        out += f"{name:<16}{0:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n".encode() + data + b"\n" * (len(data) % 2)
    return out


def tar(name, data, mode):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zipped(name, data):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("readme.txt", "nothing")
        archive.writestr(name, data)
    return out.getvalue()


class PrecompileTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rubia-precompile-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.cache = self.folder / "cache"

    def file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def environment(self, **more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("RUBIA_", "CUDA_"))}
        return clean | {"RUBIA_DEVICE": "emulator", "HOME": str(self.folder)} | {k: str(v) for k, v in more.items()}

    def precompile(self, *arguments, expect=0, cache=None, **environment):
        """The events of a run, by their kind."""
        report = self.folder / "report.json"
        report.unlink(missing_ok=True)
        done = subprocess.run([RUBIA, "precompile", *map(str, arguments), "-o", str(cache or self.cache),
                               "--report", str(report)],
                              env=self.environment(**environment), capture_output=True, text=True, timeout=900)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        self.text = done.stderr
        events = [json.loads(line) for line in done.stdout.splitlines()]
        self.report = json.loads(report.read_text()) if report.exists() else None
        return [e for e in events if e["event"] == "kernel"]

    def entries(self, cache=None):
        root = cache or self.cache
        return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*.rubia")}

    def launch(self, path, entry, **environment):
        return subprocess.run([RUBIA, "launch", str(path), "--entry", entry, "--grid", "1", "--block", "1", "zero:4"],
                              env=self.environment(RUBIA_ARCH="gfx1100", **environment), capture_output=True, text=True,
                              timeout=120)


class Results(PrecompileTest):
    def test_programs_find_what_was_compiled(self):
        path = self.file("a.ptx", HEADER + kernel("k"))
        empty = self.launch(path, "k", RUBIA_COMPILE="never", RUBIA_CACHE_DIR=self.folder / "empty")
        self.assertNotEqual(empty.returncode, 0)
        self.precompile(path)
        done = self.launch(path, "k", RUBIA_COMPILE="never", RUBIA_CACHE_DIR=self.cache)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_unmodified_program_runs_without_compiling(self):
        kernels = self.precompile(PREBUILT)
        self.assertEqual([k["status"] for k in kernels], ["compiled"])
        for cache, expect in ((self.cache, True), (self.folder / "empty", False)):
            done = subprocess.run([RUBIA, "run", "--arch", "gfx1100", "--", str(PREBUILT)], capture_output=True, text=True,
                                  env=self.environment(RUBIA_COMPILE="never", RUBIA_CACHE_DIR=cache), timeout=120)
            self.assertEqual(done.returncode == 0, expect, done.stderr)

    def test_all_examples_run_without_compiling(self):
        programs = sorted(p for p in EXAMPLES.glob("*") if p.is_file())
        if not programs:
            self.skipTest("the examples are not built: they need nvcc")
        self.precompile(EXAMPLES)
        for program in programs:
            with self.subTest(program.name):
                done = subprocess.run([RUBIA, "run", "--arch", "gfx1100", "--", str(program)], capture_output=True, text=True,
                                      env=self.environment(RUBIA_COMPILE="never", RUBIA_CACHE_DIR=self.cache), timeout=120)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_pack_is_the_same_for_any_number_of_jobs(self):
        path = self.file("a.ptx", HEADER + "".join(kernel(f"k{i}", i) for i in range(6)))
        packs = []
        for jobs in (1, 3):
            pack = self.folder / f"{jobs}.pack"
            self.precompile(path, "-j", jobs, "--arch", "gfx1100,gfx942", cache=pack)
            packs.append(pack.read_bytes())
            self.assertFalse((self.folder / f"{jobs}.pack.parts").exists())
        self.assertEqual(packs[0], packs[1])
        done = self.launch(path, "k3", RUBIA_COMPILE="never", RUBIA_CACHE_DIR=self.folder / "empty",
                           RUBIA_CACHE_PACKS=self.folder / "1.pack")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_directories_are_the_same_for_any_number_of_jobs(self):
        path = self.file("a.ptx", HEADER + "".join(kernel(f"k{i}", i) for i in range(6)))
        self.precompile(path, "-j", 1, cache=self.folder / "one")
        self.precompile(path, "-j", 3, cache=self.folder / "three")
        self.assertEqual(len(self.entries(self.folder / "one")), 7)
        self.assertEqual(self.entries(self.folder / "one"), self.entries(self.folder / "three"))

    def test_the_report_says_what_each_kernel_needs(self):
        path = self.file("a.ptx", HEADER + kernel("plain") + kernel("tiled", 2, shared=256))
        self.precompile(path, "--arch", "gfx1100,gfx90a")
        kernels = {(k["kernel"], k["arch"]): k for k in self.report["kernels"]}
        self.assertEqual(len(kernels), 4)
        self.assertEqual(kernels["tiled", "gfx1100"]["lds_bytes"], 256)
        self.assertEqual(kernels["plain", "gfx1100"]["lds_bytes"], 0)
        self.assertEqual(kernels["plain", "gfx1100"]["warp_form"], "wave32")
        self.assertEqual(kernels["plain", "gfx90a"]["warp_form"], "packed")
        for k in kernels.values():
            self.assertGreater(k["vgprs"], 0)
            self.assertGreater(k["seconds"], 0)
            self.assertGreater(k["memory_bytes"], 1 << 20)
        table = self.folder / "table.txt"
        self.precompile(path, "--report", table)
        self.assertIn("tiled", table.read_text())

    def test_canonical_nans_are_other_entries(self):
        path = self.file("a.ptx", HEADER + kernel("k"))
        self.precompile(path)
        self.assertEqual(self.precompile(path, "--nan", "canonical")[0]["status"], "compiled")
        self.assertEqual(self.precompile(path)[0]["status"], "cached")


class ExitStatus(PrecompileTest):
    def test_some_failed(self):
        path = self.file("a.ptx", HEADER + kernel("good") + bad_kernel("bad"))
        kernels = self.precompile(path, expect=3)
        self.assertEqual({k["kernel"]: k["status"] for k in kernels}, {"good": "compiled", "bad": "failed"})
        self.assertIn("frobnicate", self.text)

    def test_none_worked(self):
        self.precompile(self.file("a.ptx", HEADER + bad_kernel("bad")), expect=1)

    def test_nothing_there(self):
        (self.folder / "nothing").mkdir()
        self.precompile(self.folder / "nothing", expect=1)
        self.precompile(self.folder / "missing", expect=1)

    def test_usage(self):
        for shard in ("5/4", "0/3", "1/0", "-1/3", "1"):
            self.precompile(PREBUILT, "--shard", shard, expect=2)
        self.precompile(PREBUILT, "--shard", "x", expect=2)


class Inputs(PrecompileTest):
    def test_archives_are_opened(self):
        inner = (HEADER + kernel("k")).encode()
        files = {
            "a.zip": zipped("x/k.ptx", inner),
            "a.whl": zipped("x/k.ptx", inner),
            "a.tar": tar("x/k.ptx", inner, "w"),
            "a.tar.gz": tar("x/k.ptx", inner, "w:gz"),
            "a.tar.xz": tar("x/k.ptx", inner, "w:xz"),
            "a.a": ar([("k.ptx/", inner)]),
            "a.deb": ar([("debian-binary", b"2.0\n"), ("control.tar.gz", tar("control", b"Package: k", "w:gz")),
                         ("data.tar.xz", tar("usr/lib/k.ptx", inner, "w:xz"))]),
            "nested.tar": tar("a.whl", zipped("k.ptx", inner), "w"),
            "program": tar("program", PREBUILT.read_bytes(), "w:gz"),
        }
        for name, data in files.items():
            with self.subTest(name):
                kernels = self.precompile(self.file("in/" + name, data), cache=self.folder / ("cache-" + name))
                self.assertEqual([k["status"] for k in kernels], ["compiled"])
        self.precompile(self.folder / "in")
        self.assertEqual(sorted(i["places"] for i in self.report["images"]), [1, 8])

    def test_folders_are_searched_and_other_files_passed_over(self):
        self.file("d/e/a.ptx", HEADER + kernel("k"))
        self.file("d/readme.txt", "nothing")
        self.file("d/log.gz", tar("x", b"y", "w:gz")[:40])
        self.file("d/empty", "")
        os.symlink(self.folder / "d", self.folder / "d/e/loop")
        os.symlink("nowhere", self.folder / "d/dangling")
        os.mkfifo(self.folder / "d/pipe")
        self.assertEqual(len(self.precompile(self.folder / "d")), 1)

    def test_a_damaged_archive_is_named(self):
        inner = (HEADER + kernel("k")).encode()
        path = self.file("a.tar.xz", tar("k.ptx", inner, "w:xz")[:-60])
        self.precompile(path, expect=1)
        self.assertIn("a.tar.xz", self.text)


class Shards(PrecompileTest):
    def test_shards_are_disjoint_and_complete(self):
        path = self.file("a.ptx", HEADER + "".join(kernel(f"k{i}", i) for i in range(9)))
        self.precompile(path)
        seen, union = [], {}
        for i in (1, 2, 3):
            part = self.folder / f"part{i}"
            seen += [k["kernel"] for k in self.precompile(path, "--shard", f"{i}/3", cache=part)]
            union |= self.entries(part)
        self.assertEqual(sorted(seen), sorted(f"k{i}" for i in range(9)))
        self.assertEqual(union, self.entries())


class Merge(PrecompileTest):
    def shards(self, *, kernels=5):
        """Reports of three shards, one of whose kernels cannot be compiled."""
        path = self.file("d/a.ptx", HEADER + "".join(kernel(f"k{i}", i) for i in range(kernels)) + bad_kernel("bad"))
        self.file("d/b.ptx", "no PTX")
        files = []
        for i in (1, 2, 3):
            subprocess.run([RUBIA, "precompile", str(path.parent), "--shard", f"{i}/3", "-o", str(self.cache), "--report", str(self.folder / f"{i}.json")],
                           env=self.environment(), capture_output=True, timeout=900)
            files.append(self.folder / f"{i}.json")
        return files

    def merge(self, *files, expect):
        out = self.folder / "all.json"
        done = subprocess.run([RUBIA, "precompile", "--merge", *map(str, files), "--report", str(out)], env=self.environment(), capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, expect, done.stderr)
        self.text = done.stderr
        return json.loads(out.read_text()) if out.exists() else None

    def test_one_report_has_what_all_have(self):
        files = self.shards()
        merged = self.merge(*files, expect=3)
        self.precompile(self.folder / "d", expect=3)
        whole = self.report["summary"]
        self.assertEqual({k["kernel"]: k["status"] for k in merged["kernels"]},
                         {k["kernel"]: k["status"].replace("cached", "compiled") for k in self.report["kernels"]})
        self.assertEqual([merged["summary"][key] for key in ("files", "images", "kernels", "failed", "problems", "exit_status")],
                         [whole[key] for key in ("files", "images", "kernels", "failed", "problems", "exit_status")])
        self.assertEqual(merged["problems"], self.report["problems"])

    def test_what_was_compiled_once_has_not_failed(self):
        files = self.shards(kernels=1)
        first = json.loads(files[0].read_text())
        again = self.file("again.json", json.dumps(first | {"kernels": [k | {"status": "failed", "reason": "killed"} for k in first["kernels"]]}))
        for order in ([again, *files], [*files, again]):
            self.assertEqual(self.merge(*order, expect=3)["summary"]["failed"], 1)

    def test_what_does_not_fit_is_an_error(self):
        files = self.shards(kernels=1)
        self.assertIsNone(self.merge(files[0], files[2], expect=1))
        self.assertIn("no report of shard 2 of 3", self.text)
        report = json.loads(files[0].read_text())
        for change, why in (({"archs": ["gfx942"]}, "for other targets"), ({"shard": "1/2"}, "of 2 shards, the others are of 3"),
                            ({"version": 9}, "no report of"), ({"kernels": [{}]}, "key")):
            self.merge(*files, self.file("other.json", json.dumps(report | change)), expect=1)
            self.assertIn(why, self.text)
        self.merge(self.file("text.json", "nothing"), expect=1)
        self.merge(self.folder / "absent.json", expect=2)

    def test_the_jobs_of_slurm(self):
        path = self.file("programs/a.ptx", HEADER + "".join(kernel(f"k{i}", i) for i in range(4)))
        result, jobs = self.folder / "result", PREBUILT.parents[1] / "precompile"
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "rubia").symlink_to(pathlib.Path(RUBIA).resolve())
        slurm = {"PATH": f"{bin_folder}:{os.environ['PATH']}", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_COUNT": "2"}
        for task in ("0", "1"):
            subprocess.run(["bash", jobs / "precompile.slurm", path.parent, "gfx1100", result], check=True, capture_output=True, timeout=300,
                           env=self.environment(SLURM_ARRAY_TASK_ID=task, **slurm))
        subprocess.run(["bash", jobs / "merge.slurm", result], check=True, capture_output=True, timeout=60, env=self.environment(**slurm))
        self.assertEqual(json.loads((result / "report.json").read_text())["summary"]["kernels"], 4)
        done = self.launch(path, "k3", RUBIA_COMPILE="never", RUBIA_CACHE_DIR=self.folder / "empty", RUBIA_CACHE_PACKS=result / "kernels.pack")
        self.assertEqual(done.returncode, 0, done.stderr)


class Eager(PrecompileTest):
    """RUBIA_COMPILE=eager: the rest of a module is compiled while the program waits for what it needs."""

    def compiled(self, name, **environment):
        path = self.file("a.ptx", HEADER + "".join(kernel(n, i) for i, n in enumerate(("k0", "k1", "sleep_15_k2", "k3"))) + bad_kernel("k4"))
        done = self.launch(path, "sleep_15_k2", RUBIA_WORKER=FAULTY_WORKER, RUBIA_CACHE_DIR=self.folder / name,
                           RUBIA_WORKER_PROCESSES=2, **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return len(self.entries(self.folder / name)) - 1  # the manifest

    def test_the_rest_of_a_module(self):
        self.assertEqual(self.compiled("lazy"), 1)
        self.assertEqual(self.compiled("eager", RUBIA_COMPILE="eager"), 4)
        self.assertEqual(self.compiled("cuda", CUDA_MODULE_LOADING="EAGER"), 4)
        self.assertEqual(self.compiled("both", CUDA_MODULE_LOADING="EAGER", RUBIA_COMPILE="lazy"), 1)


class Faults(PrecompileTest):
    kinds = ("abort", "segfault", "overflow", "hang", "memory")

    def test_only_guilty_units_fail_and_are_named(self):
        names = [f"{self.kinds[i // 16 % 5]}_{i}" if i % 16 == 7 else f"fine_{i}" for i in range(UNITS)]
        path = self.file("a.ptx", HEADER + "".join(kernel(n, i) for i, n in enumerate(names)))
        kernels = self.precompile(path, "--timeout", 6, expect=3, RUBIA_WORKER=FAULTY_WORKER)
        self.assertEqual(len(kernels), UNITS)
        for k in kernels:
            kind = k["kernel"].split("_")[0]
            self.assertEqual(k["status"], "compiled" if kind == "fine" else "failed", k)
            expected = {"abort": "Aborted", "segfault": "Segmentation fault", "overflow": "Segmentation fault",
                        "hang": "longer than 6 s", "memory": "ran out of memory (it may take 6144 MiB)"}
            if kind != "fine":
                self.assertIn(f"kernel '{k['kernel']}' for gfx1100: the compiler ", k["reason"])
                self.assertIn(expected[kind], k["reason"])

    def test_killed_and_started_again(self):
        path = self.file("a.ptx", HEADER + "".join(kernel(f"k{i}", i) for i in range(UNITS)))
        process = subprocess.Popen([RUBIA, "precompile", str(path), "-o", str(self.cache)], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=self.environment(), text=True)
        done = set()
        for line in process.stdout:
            event = json.loads(line)
            if event["event"] == "kernel":
                done.add(event["kernel"])
            if len(done) == UNITS // 3:
                os.kill(process.pid, signal.SIGKILL)
                break
        process.wait()
        process.stdout.close()
        again = {k["kernel"]: k["status"] for k in self.precompile(path)}
        self.assertEqual({again[k] for k in done}, {"cached"})
        self.assertEqual(len(again), UNITS)
        self.assertIn("compiled", again.values())
        self.assertNotIn("failed", again.values())


class Signals(PrecompileTest):
    def started(self, tenths, before=None):
        """A run of three quick kernels and three that sleep, once the quick ones are done."""
        names = ["fine_0", "fine_1", "fine_2", *(f"sleep_{tenths}_{i}" for i in range(3))]
        self.path = self.file("a.ptx", HEADER + "".join(kernel(n, i) for i, n in enumerate(names)))
        self.report_path = self.folder / "report.json"
        process = subprocess.Popen([RUBIA, "precompile", str(self.path), "-o", str(self.cache), "-j", "1", "--report",
                                    str(self.report_path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.environment(RUBIA_WORKER=FAULTY_WORKER), preexec_fn=before)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        for line in process.stdout:
            if json.loads(line).get("kernel") == "fine_2":
                return process

    def test_end_a_run_with_its_report(self):
        for name in ("SIGINT", "SIGTERM", "SIGHUP"):
            with self.subTest(name):
                shutil.rmtree(self.cache, ignore_errors=True)
                process = self.started(50)
                process.send_signal(signal.Signals[name])
                begin = time.monotonic()
                said = process.stderr.read()
                events = [json.loads(line) for line in process.stdout.read().splitlines()]
                self.assertEqual(process.wait(), -signal.Signals[name], said)
                self.assertLess(time.monotonic() - begin, 4)  # it does not wait for the kernel
                self.assertIn(f"rubia: ended by {name}; start the same command again to go on: what is in {self.cache} is not", said)
                report = json.loads(self.report_path.read_text())
                self.assertEqual(report["summary"]["interrupted"], name)
                self.assertEqual(report["summary"]["pending_units"], 3)
                self.assertEqual([k["kernel"] for k in report["kernels"]], ["fine_0", "fine_1", "fine_2"])
                self.assertEqual(events[-1]["event"], "end")
        again = {k["kernel"]: k["status"] for k in self.precompile(self.path, "-j", 3, RUBIA_WORKER=FAULTY_WORKER)}
        self.assertEqual([again[f"fine_{i}"] for i in range(3)], ["cached"] * 3)
        self.assertEqual(len(again), 6)

    def test_what_was_switched_off_stays_so(self):
        process = self.started(5, before=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.send_signal(signal.SIGHUP)
        process.stdout.read()
        self.assertEqual(process.wait(), 0, process.stderr.read())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("rubia")
    parser.add_argument("faulty_worker")
    parser.add_argument("--units", type=int, default=80)
    parser.add_argument("--examples", type=pathlib.Path, default=pathlib.Path("/nonexistent"))
    parser.add_argument("tests", nargs="*")
    options = parser.parse_intermixed_args()
    RUBIA, FAULTY_WORKER, UNITS = options.rubia, options.faulty_worker, options.units
    EXAMPLES = options.examples
    side_by_side.main(options.tests)
