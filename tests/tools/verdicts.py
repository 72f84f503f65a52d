#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `rubia inspect` says of programs, and what then happens: each is run on the emulator.

Usage: verdicts.py RUBIA CLANG SOURCE_ROOT [--nvcc NVCC] [--cache FOLDER] [--made FOLDER [--build]] [--programs PROGRAM...] [-- TEST...]
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import fatbins
import side_by_side

HEADER = ".version 7.0\n.target sm_70\n.address_size 64\n"
KERNEL = HEADER + """.visible .entry fill(.param .u64 p)
{
.reg .b64 %d1; .reg .b32 %r1;
ld.param.u64 %d1, [p];
mov.u32 %r1, 1;
st.global.u32 [%d1], %r1;
ret;
}
"""
OTHER = KERNEL.replace("fill", "other")
BAD = KERNEL.replace("mov.u32", "frobnicate.u32").replace("fill", "bad")

CHECK = """
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { int error = call; if (error) { printf("FAIL %s: %d\\n", #call, error); exit(1); } } while (0)
__global__ void fill(int *p) { p[threadIdx.x] = threadIdx.x; }
static void useKernel() {
  int *p, h[32];
  CHECK(cudaMalloc(&p, 128));
  fill<<<1, 32>>>(p);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(h, p, 128, cudaMemcpyDeviceToHost));
  if (h[5] != 5) { puts("FAIL"); exit(1); }
}
"""


class VerdictTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rubia-verdicts-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.cache = OPTIONS.cache or self.folder / "cache"

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def environment(self, **more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("RUBIA_", "CUDA_"))}
        return clean | {"RUBIA_DEVICE": "emulator", "RUBIA_ARCH": "gfx1100", "RUBIA_CACHE_DIR": str(self.cache)} | more

    def rubia(self, *arguments, **environment):
        if OPTIONS.build:
            self.skipTest("nothing is run")
        return subprocess.run([OPTIONS.rubia, *map(str, arguments)], env=self.environment(**environment), text=True,
                              capture_output=True, timeout=300)

    def inspect(self, path, status, verdict):
        done = self.rubia("inspect", "--json", path)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        report = json.loads(done.stdout)["files"][0]
        self.assertEqual(report["verdict"], verdict, done.stdout)
        return report

    def build(self, source, *flags, name="program.c"):
        """A C program that is linked with our libcuda."""
        if OPTIONS.build:
            self.skipTest("it takes no time")
        program = self.folder / "program"
        libraries = pathlib.Path(OPTIONS.rubia).parents[1] / "lib" / "rubia"
        subprocess.run([OPTIONS.clang, "-I", OPTIONS.source / "examples" / "driver", self.file(name, source), "-o", program,
                        *flags, "-L", libraries, "-l:libcuda.so.1"], check=True, capture_output=True, text=True)
        return program

    def nvcc(self, *sources, flags=(), name="program"):
        """A program of the files in the folder. The build makes it: nvcc takes longer than the test of it."""
        if not OPTIONS.nvcc:
            self.skipTest("there is no nvcc")
        program = self.folder / name
        files = [(path.name, path.read_bytes()) for path in sorted(self.folder.iterdir())]
        of = repr((OPTIONS.nvcc, [source.name for source in sources], list(map(str, flags)), files))
        made = OPTIONS.made and OPTIONS.made / hashlib.sha256(of.encode()).hexdigest()
        if made and made.exists():
            shutil.copy(made, program)
        else:
            subprocess.run([OPTIONS.nvcc, *map(str, sources), *flags, "-o", program], check=True, capture_output=True, text=True)
        if OPTIONS.build:
            OPTIONS.made.mkdir(parents=True, exist_ok=True)
            shutil.copy(program, self.folder / "copy")
            shutil.move(self.folder / "copy", made)
            self.skipTest("it is made")
        return program

    def check(self, program, verdict, status):
        """The verdict on a program is what happens to it."""
        report = self.inspect(program, status, verdict)
        run = self.rubia("run", "--", program, RUBIA_LOG="warn")
        said = run.stdout + run.stderr
        if verdict == "works":
            self.assertEqual(run.returncode, 0, said)
        else:
            self.assertNotEqual(run.returncode, 0, said)
        for call in report["missing"]:
            self.assertRegex(said, rf"rubia: {call['driver']}(_v\d+)?(_pt[sd][sz])? is not supported")
        return report, said


class Programs(VerdictTest):
    def test_programs_that_are_given(self):
        for program in OPTIONS.programs:
            with self.subTest(program.name):
                self.check(program, "works", 0)

    def test_a_function_that_is_imported_and_missing(self):
        program = self.build('#include "Driver.h"\nCUresult cuMulticastUnbind(void *);\n'
                             "int main(void) { cuInit(0); return cuMulticastUnbind(0) != 0; }\n" + self.embedded())
        report, _ = self.check(program, "calls-missing", 3)
        self.assertEqual(report["missing"], [{"function": "cuMulticastUnbind", "driver": "cuMulticastUnbind"}])

    def test_a_name_that_is_only_asked_for_is_a_note(self):
        program = self.build('#include <dlfcn.h>\nint main(void) { return !dlsym(dlopen("libcuda.so.1", 2), "cuMulticastUnbind"); }\n'
                             + self.embedded())
        report, _ = self.check(program, "works", 0)
        self.assertIn("cuMulticastUnbind", report["notes"][0])

    def embedded(self):
        text = KERNEL.replace("\n", "\\n")
        return f'const char ptx[] __attribute__((used)) = "{text}";\n'

    def test_ptx_text_inside_of_a_program_is_found(self):
        program = self.build("int main(void) { return 0; }\n" + self.embedded())
        self.assertEqual(self.inspect(program, 0, "works")["modules"][0]["kernels"][0]["name"], "fill")

    def test_nothing_of_the_runtime_is_called(self):
        program = self.nvcc(self.file("a.cu", CHECK + "int main() { useKernel(); }"))
        self.assertEqual(self.check(program, "works", 0)[0]["notes"], [])

    def test_functions_of_the_runtime_that_are_missing(self):
        source = self.file("a.cu", CHECK + """int main() {
  useKernel();
  int *p;
  CHECK(cudaMalloc(&p, 1024));
  int failed = 0;
  failed += cudaGraphicsUnregisterResource((cudaGraphicsResource_t)p) != cudaSuccess;
  return failed;
}
""")
        expected = ["cudaGraphicsUnregisterResource"]
        for runtime in ("static", "shared"):
            with self.subTest(runtime):
                program = self.nvcc(source, flags=["-cudart", runtime, "-Xlinker", "-rpath", "-Xlinker",
                                                   str(pathlib.Path(OPTIONS.nvcc or "nvcc").resolve().parent.parent / "lib64")])
                report = self.inspect(program, 3, "calls-missing")
                self.assertEqual([m["function"] for m in report["missing"]], expected)
                run = self.rubia("run", "--", program, RUBIA_LOG="warn")
                self.assertEqual(run.returncode, len(expected), run.stdout + run.stderr)
                for call in report["missing"]:
                    self.assertRegex(run.stderr, rf"rubia: {call['driver']}(_v\d+)?(_pt[sd][sz])? is not supported")

    def test_without_symbols_it_says_what_it_cannot_tell(self):
        program = self.nvcc(self.file("a.cu", CHECK + "int main() { useKernel(); cudaArray_t a; cudaFreeArray(a); }"),
                            flags=["-Xlinker", "-s"])
        report = self.inspect(program, 0, "works")
        self.assertFalse(report["calls_are_known"])
        self.assertIn("cannot be told", report["reason"])


class RelocatableCode(VerdictTest):
    def test_one_translation_unit(self):
        self.check(self.nvcc(self.file("a.cu", CHECK + "int main() { useKernel(); }"), flags=["-rdc=true"]), "works", 0)

    def test_units_that_are_linked(self):
        used = self.file("b.cu", "__device__ int twice(int x) { return 2 * x; }")
        user = self.file("a.cu", CHECK.replace("__global__", "extern __device__ int twice(int);\n__global__")
                         .replace("= threadIdx.x", "= twice(threadIdx.x) / 2") + "int main() { useKernel(); }")
        program = self.nvcc(used, user, flags=["-rdc=true"])
        self.check(program, "works", 0)
        for command in (["compile", program, "-o", self.folder / "out"], ["cache", "explain", program],
                        ["precompile", program, "-o", self.folder / "entries"]):
            done = self.rubia(*command)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_three_units_with_virtual_functions_and_variables(self):
        header = """
struct Shape { __device__ virtual int area() const = 0; __device__ virtual ~Shape() {} };
extern __device__ int scale, calls;
extern __device__ const Shape *shapes[2];
__device__ const Shape *makeShape(int kind, int size);
__device__ int counted(int value);
"""
        self.file("shapes.h", header)
        make = self.file("make.cu", """
#include "shapes.h"
namespace {
struct Square : Shape { int n; __device__ Square(int n) : n(n) {} __device__ int area() const override { return n * n; } };
struct Line : Shape { int n; __device__ Line(int n) : n(n) {} __device__ int area() const override { return counted(n); } };
__device__ int local(int n) { return n + 1; }
}
__device__ const Shape *makeShape(int kind, int size) {
  if (kind) return new Square(local(size));
  return new Line(local(size));
}
""")
        count = self.file("count.cu", """
#include "shapes.h"
__device__ int scale = 10, calls;
__device__ const Shape *shapes[2];
namespace { __device__ int local(int n) { return n * scale; } }
__device__ int counted(int value) { atomicAdd(&calls, 1); return local(value); }
""")
        main = self.file("main.cu", """
#include <cstdio>
#include "shapes.h"
__global__ void make() { shapes[threadIdx.x] = makeShape(threadIdx.x, 4); }
__global__ void measure(int *out) { out[threadIdx.x] = shapes[threadIdx.x]->area(); }
int main() {
  int *out, result[2] = {}, called = 0, by = 7;
  if (cudaMalloc(&out, 8) || cudaMemcpyToSymbol(scale, &by, 4)) return 1;
  make<<<1, 2>>>();
  measure<<<1, 2>>>(out);
  if (cudaMemcpy(result, out, 8, cudaMemcpyDeviceToHost) || cudaMemcpyFromSymbol(&called, calls, 4)) return 2;
  if (result[0] != 35 || result[1] != 25 || called != 1) { printf("%d %d %d\\n", result[0], result[1], called); return 3; }
  return 0;
}
""")
        self.check(self.nvcc(main, make, count, flags=["-rdc=true"]), "works", 0)

    def test_kernels_that_launch_kernels(self):
        main = self.file("main.cu", """
#include <cstdio>
__global__ void child(int *out) { *out = 7; }
__global__ void parent(int *out) { child<<<1, 1>>>(out); }
__global__ void plain(int *out) { *out = 5; }
int main(int count, char **) {
  int *out, result = 0;
  if (cudaMalloc(&out, 4)) return 1;
  if (count > 1) { parent<<<1, 1>>>(out); return cudaDeviceSynchronize() || cudaGetLastError() ? 2 : 0; }
  plain<<<1, 1>>>(out);
  if (cudaMemcpy(&result, out, 4, cudaMemcpyDeviceToHost) || result != 5) return 3;
  return 0;
}
""")
        program = self.nvcc(main, flags=["-rdc=true", "-lcudadevrt"])
        done = self.rubia("run", "--", program)
        self.assertEqual(done.returncode, 0, done.stderr)
        done = self.rubia("run", "--", program, "launch")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stderr, "parent.*(.|\\n)*LaunchDevice.*kernels launch no kernels")

    def test_units_that_cannot_be_linked(self):
        library = self.shared(fatbins.container(), *[fatbins.container(fatbins.entry(1, 70, KERNEL))] * 2)
        report = self.inspect(library, 1, "no")
        self.assertIn("multiple definition of 'fill'", report["modules"][0]["problem"])

    def shared(self, linked, *units):
        """A shared library as nvcc -rdc=true links it: a wrapper of version 2, and the containers of the units."""
        text = [".section .nv_fatbin,\"a\"", ".balign 8", "linked:", f".incbin \"{self.file('linked', linked)}\"",
                ".section __nv_relfatbin,\"a\"", ".balign 8"]
        text += [f".incbin \"{self.file(f'unit{i}', unit)}\"" for i, unit in enumerate(units)]
        text += [".section .nvFatBinSegment,\"aw\"", ".balign 8", ".long 0x466243b1, 2", ".quad linked", ".quad list", ".bss",
                 "list: .zero 64"]
        return self.build("\n".join(text) + "\n", "-shared", "-nostdlib", name="code.s")

    def test_modules_are_put_together_as_at_run_time(self):
        stub, sass = fatbins.entry(2, 80, fatbins.cubin()), fatbins.entry(2, 80, fatbins.cubin("fill"))
        ptx, other = fatbins.entry(1, 70, KERNEL), fatbins.entry(1, 70, OTHER)
        for linked, units, status, verdict in (
                (fatbins.container(sass), [fatbins.container(ptx)], 0, "works"),
                (fatbins.container(stub), [fatbins.container(ptx), fatbins.container(stub)], 0, "works"),
                (fatbins.container(), [fatbins.container(ptx), fatbins.container(other)], 0, "works"),
                (fatbins.container(ptx), [fatbins.container(other), fatbins.container(other)], 0, "works"),
                (fatbins.container(sass), [fatbins.container(sass)], 1, "no")):
            library = self.shared(linked, *units)
            report = self.inspect(library, status, verdict)
            self.assertEqual(len(report["modules"]), 1)
            entries = self.folder / "entries"
            self.assertEqual(self.rubia("precompile", library, "-o", entries).returncode, status)
            explained = self.rubia("cache", "--dir", entries, "explain", library)
            self.assertEqual(explained.returncode, status, explained.stderr)
            self.assertNotIn("NOT", explained.stdout)


class ExitStatus(VerdictTest):
    def test_of_all_commands(self):
        stub, sass = fatbins.entry(2, 80, fatbins.cubin()), fatbins.entry(2, 80, fatbins.cubin("k"))
        good, bad = fatbins.entry(1, 70, KERNEL), fatbins.entry(1, 70, BAD)
        for name, containers, status in (
                ("all", [[good]], 0), ("stub", [[stub], [good]], 0), ("machine code", [[sass], [good]], 3),
                ("bad", [[bad], [good]], 3), ("only machine code", [[sass]], 1), ("all bad", [[bad]], 1),
                ("machine code and nothing", [[sass], [fatbins.entry(1, 70, HEADER)]], 1)):
            with self.subTest(name):
                path = self.file("a.fatbin", b"".join(fatbins.container(*c) for c in containers))
                for command in (["inspect", path], ["compile", path, "-o", self.folder / "out"],
                                ["precompile", path, "-o", self.folder / "entries"]):
                    done = self.rubia(*command)
                    self.assertEqual(done.returncode, status, f"{command[0]}: {done.stdout}{done.stderr}")
                done = self.rubia("cache", "explain", path)  # compiles nothing
                self.assertEqual(done.returncode, 0 if "bad" in name else status, done.stdout + done.stderr)

    def test_files_without_kernels_are_no_failure(self):
        """What nvcc writes beside kernels, and PTX that has none: every command says that there are none."""
        stub = fatbins.entry(2, 80, fatbins.cubin())
        variable = fatbins.entry(1, 70, HEADER + ".visible .global .u32 counter;\n")
        files = [self.file("variable.ptx", HEADER + ".visible .global .u32 counter;\n"), self.file("empty.ptx", HEADER)]
        for name, container in (("stub", [stub]), ("ptx", [variable]), ("both", [stub, variable])):
            files.append(self.file(name + ".fatbin", fatbins.container(*container)))
            code = f".section .nv_fatbin,\"a\"\n.balign 8\n.incbin \"{files[-1]}\"\n"
            files.append(self.build(code, "-shared", "-nostdlib", name="code.s").rename(self.folder / (name + ".so")))
        for path in files:
            with self.subTest(path.name):
                out, entries = self.folder / "out", self.folder / "entries"
                for command, text in ((["inspect", path], "verdict: no-kernels"), (["compile", path, "-o", out], "no kernels: there is nothing"),
                                      (["precompile", path, "-o", entries], " 0 kernels: "),
                                      (["cache", "--dir", entries, "explain", path], "no kernels: programs look up none")):
                    done = self.rubia(*command)
                    self.assertEqual(done.returncode, 0, f"{command[0]}: {done.stdout}{done.stderr}")
                    self.assertIn(text, done.stdout + done.stderr)
                self.assertFalse(out.exists())
                for command in (["compile", path, "--entry", "k", "-o", out], ["compile", path, "--entry", "k", "--emit", "ptx"],
                                ["cache", "--dir", entries, "explain", path, "--entry", "k"]):
                    done = self.rubia(*command)
                    self.assertEqual(done.returncode, 1, f"{command}: {done.stdout}{done.stderr}")
                    self.assertIn("has no kernel 'k'", done.stderr)

    def test_kernels_that_nobody_has(self):
        path = self.file("a.ptx", KERNEL)
        for command in (["compile", path], ["compile", path, "--emit", "ptx"], ["cache", "explain", path]):
            done = self.rubia(*command, "--entry", "k")
            self.assertEqual(done.returncode, 1, f"{command}: {done.stdout}{done.stderr}")
            self.assertIn("has no kernel 'k'", done.stderr)

    def test_usage(self):
        path = self.file("a.ptx", KERNEL)
        for command in (["inspect", path, "--arch", "gfx1"], ["compile", path, "--arch", "gfx1"], ["inspect"],
                        ["precompile", path, "--arch", "gfx1"], ["cache", "explain", path, "--frobnicate"]):
            self.assertEqual(self.rubia(*command).returncode, 2, command)


class Capability(VerdictTest):
    def test_explain_knows_what_closed_libraries_are_told(self):
        fatbin = self.file("code.fatbin", fatbins.container(fatbins.entry(1, 70, KERNEL), fatbins.entry(1, 120, OTHER)))
        text = f".section .nv_fatbin,\"a\"\n.balign 8\n.incbin \"{fatbin}\"\n"
        library = self.build(text, "-shared", "-nostdlib", name="code.s").rename(self.folder / "libcurand.so.10")
        self.assertEqual(self.inspect(library, 0, "works")["modules"][0]["kernels"][0]["name"], "other")
        entries = self.folder / "entries"
        self.assertEqual(self.rubia("precompile", library, "-o", entries).returncode, 0)
        explained = self.rubia("cache", "--dir", entries, "explain", library)
        self.assertNotIn("NOT", explained.stdout)
        self.assertEqual(explained.stdout.count("in the cache"), 2, explained.stdout)


class Places(VerdictTest):
    def test_errors_name_the_file_that_was_given(self):
        done = self.rubia("compile", self.file("bad.ptx", BAD))
        self.assertIn(f"{self.folder}/bad.ptx:8:1: error: ", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("rubia", type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("clang")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("--nvcc", default="")
    parser.add_argument("--cache", type=pathlib.Path)
    parser.add_argument("--made", type=pathlib.Path, help="programs that nvcc has made")
    parser.add_argument("--build", action="store_true", help="make them, and run nothing")
    parser.add_argument("--programs", nargs="*", type=pathlib.Path, default=[])
    parser.add_argument("--tests", nargs="*", default=[])
    OPTIONS = parser.parse_args()
    side_by_side.main(OPTIONS.tests)
