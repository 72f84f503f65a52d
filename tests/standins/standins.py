#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The stand-ins for NVIDIA's tools: what they make is loaded, what is wrong is told as NVIDIA's tell it.

What NVIDIA's own answer (codes, texts that programs look for) was recorded from CUDA 13.0. Compilers that only NVIDIA has
are used where they are installed.

Usage: standins.py RUBIA CLANG SOURCE_ROOT [TEST...]
"""
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "tools"))
import side_by_side

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"
# Stores what `value` gives.
KERNEL = """.visible .entry kernel(.param .u64 out, .param .align 4 .b8 pad[12], .param .u8 last)
{
  .shared .align 16 .b8 memory[64];
  .reg .b32 %r<2>;
  .reg .b64 %d<2>;
  ld.param.u64 %d1, [out];
  call (%r1), value, ();
  st.shared.u32 [memory], %r1;
  ld.shared.u32 %r1, [memory];
  st.global.u32 [%d1], %r1;
  ret;
}
"""
EXTERN = ".extern .func (.reg .b32 r) value();\n"


def value(number, linkage=".visible "):
    return f"{linkage}.func (.reg .b32 r) value() {{ mov.u32 r, {number}; ret; }}\n"


WHOLE = HEADER + ".visible .global .align 4 .u32 counter = 14;\n" + value(42) + KERNEL

# Loads a file and prints what the kernel stores.
LOADER = r"""
#include "Driver.h"
#include <stdio.h>
CUresult cuModuleLoadData(CUmodule *, const void *);
static void run(const void *image) {
  CUdevice device; CUcontext context; CUmodule module; CUfunction function; CUdeviceptr out; int stored = 0; char pad[12], last = 0;
  CHECK(cuInit(0)); CHECK(cuDeviceGet(&device, 0)); CHECK(cuDevicePrimaryCtxRetain(&context, device)); CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module, image));
  CHECK(cuModuleGetFunction(&function, module, "kernel"));
  CHECK(cuMemAlloc_v2(&out, 4));
  void *arguments[] = {&out, pad, &last};
  CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, 0, arguments, 0));
  CHECK(cuMemcpyDtoH_v2(&stored, out, 4));
  printf("stored %d\n", stored);
}
"""
LOAD_FILE = LOADER + r"""
int main(int argc, char **argv) {
  static char image[1 << 20];
  FILE *file = fopen(argv[1], "rb");
  fread(image, 1, sizeof(image) - 1, file);
  run(image);
}
"""


class StandInTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rubia-standins-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def environment(self, **more):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("RUBIA_", "CUDA_", "TRITON_"))}
        return clean | {"RUBIA_DEVICE": "emulator", "RUBIA_ARCH": "gfx1100", "RUBIA_CACHE_DIR": str(self.folder / "cache")} | more

    def rubia(self, *words, **environment):
        return subprocess.run([RUBIA, *map(str, words)], env=self.environment(**environment), capture_output=True, text=True, timeout=120)

    def tool(self, name, *words):
        return subprocess.run([STANDINS / "bin" / name, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=60)

    def build(self, name, source, *words):
        path, program = self.file(name + ".c", source), self.folder / name
        command = [CLANG, "-w", "-I", SOURCE_ROOT / "examples/driver", path, "-o", program, "-L", RUBIA.parent.parent / "lib/rubia",
                   "-l:libcuda.so.1", "-ldl", *words]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return program

    def assertStores(self, image, number):
        done = self.rubia("run", "--", self.build("load", LOAD_FILE), image)
        self.assertEqual((done.returncode, done.stdout), (0, f"stored {number}\n"), done.stderr)

    def assemble(self, name, text, *options):
        source, cubin = self.file(name + ".ptx", text), self.folder / (name + ".cubin")
        done = self.tool("ptxas", "-arch=sm_80", source, "-o", cubin, *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return cubin


def sections(elf):
    """The sections of an ELF64 file by their names: (type, contents)."""
    at, size, count, names = struct.unpack_from("<Q", elf, 40)[0], *struct.unpack_from("<HHH", elf, 58)
    headers = [struct.unpack_from("<IIQQQQ", elf, at + size * i) for i in range(count)]
    strings = headers[names][4]
    text = lambda offset: elf[strings + offset:elf.index(b"\0", strings + offset)].decode()
    return {text(h[0]): (h[1], elf[h[4]:h[4] + h[5]] if h[1] != 8 else b"") for h in headers}


class Ptxas(StandInTest):
    def test_the_command_line_of_triton(self):
        source = self.file("a.ptx", WHOLE)
        done = self.tool("ptxas", "-lineinfo", "-v", "--gpu-name=sm_89", source, "-o", "a.cubin")
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        self.assertStores(self.folder / "a.cubin", 42)

    def test_the_command_line_of_xla(self):
        source = self.file("a.ptx", WHOLE)
        done = self.tool("ptxas", source, "-o", "a.cubin", "-arch=sm_89", "--warn-on-spills", "-v")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ptxas info    : Compiling entry function 'kernel' for 'sm_89'\n", done.stderr)
        properties = re.search(r"Function properties for kernel\n    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n", done.stderr)
        self.assertTrue(properties, done.stderr)
        self.assertIn("Used 64 bytes smem, 21 bytes cmem[0]\n", done.stderr)
        self.assertStores(self.folder / "a.cubin", 42)

    def test_versions_are_those_that_compilers_read(self):
        done = self.tool("ptxas", "--version")
        self.assertEqual(done.returncode, 0)
        self.assertTrue(re.search(r".*release (\d+\.\d+).*", done.stdout), done.stdout)  # Triton
        self.assertTrue(re.search(r"\bV(\d+)\.(\d+)\.(\d+)\b", done.stdout), done.stdout)  # XLA
        self.assertNotIn("NVIDIA (R)", done.stdout)

    def test_triton_is_told_a_release_that_it_knows(self):
        """Triton 3.2 ends with an error where ptxas is of a release after 12.6. What it starts still works."""
        shell = '"$TRITON_PTXAS_PATH" --version; exec "$TRITON_PTXAS_PATH" -arch=sm_89 "$0" -o "$1"'
        done = self.rubia("run", "--", "sh", "-c", shell, self.file("a.ptx", WHOLE), self.folder / "a.cubin")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("release 12.6, V12.6.0\n", done.stdout)
        self.assertStores(self.folder / "a.cubin", 42)

    def test_what_is_in_the_file(self):
        elf = self.assemble("a", WHOLE).read_bytes()
        self.assertEqual(elf[:7], b"\x7fELF\2\1\1")
        kind, machine = struct.unpack_from("<HH", elf, 16)
        self.assertEqual((kind, machine), (2, 190))
        self.assertEqual(struct.unpack_from("<I", elf, 48)[0] & 0xff, 80)
        found = sections(elf)
        self.assertEqual(found[".rubia.ptx"], (1, WHOLE.encode() + b"\0"))
        self.assertEqual(found[".text.kernel"], (1, b""))
        # As ptxas 13.0 has it of these parameters: their bytes, then ordinal, offset and size of each, the last first.
        self.assertEqual(found[".nv.info.kernel"], (0x70000000, bytes.fromhex(
            "03191500" "04170c000000000002001400" "00f00500" "04170c000000000001000800" "00f03100" "04170c000000000000000000" "00f02100")))
        names, symbols = found[".strtab"][1], found[".symtab"][1]
        listed = []
        for i in range(24, len(symbols), 24):
            name, info, other, _, _, size = struct.unpack_from("<IBBHQQ", symbols, i)
            listed.append((names[name:names.index(b"\0", name)].decode(), info, other, size))
        self.assertEqual(listed, [("counter", 0x11, 0, 4), ("kernel", 0x12, 0x10, 0)])
        self.assertEqual(struct.unpack_from("<H", self.assemble("b", WHOLE, "-c").read_bytes(), 16)[0], 1)

    def test_inspect_sees_the_text(self):
        done = self.rubia("inspect", self.assemble("a", WHOLE))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("works  kernel", done.stdout)

    def test_what_is_no_ptx_fails_with_its_lines(self):
        source = self.file("bad.ptx", HEADER + ".visible .entry k()\n{\n  .reg .b32 %r<4>;\n  add.u33 %r1, %r2, %r3;\n  foo %r1;\n  ret;\n}\n")
        done = self.tool("ptxas", "-arch=sm_80", source, "-o", "bad.cubin")
        self.assertEqual(done.returncode, 255)
        self.assertIn(f"ptxas {source}, line 7; error   : ", done.stderr)
        self.assertIn(f"ptxas {source}, line 8; error   : ", done.stderr)
        self.assertTrue(done.stderr.endswith("ptxas fatal   : Ptx assembly aborted due to errors\n"), done.stderr)
        self.assertFalse((self.folder / "bad.cubin").exists())

    def test_what_is_only_not_supported_is_told_and_kept(self):
        kernel = ".visible .entry other() { .reg .b32 %r<3>; .reg .b64 %d1; tcgen05.wait::ld.sync.aligned; ret; }\n"
        source = self.file("a.ptx", WHOLE.replace("8.0", "8.6").replace("sm_80", "sm_100a") + kernel)
        done = self.tool("ptxas", "-arch=sm_100a", source, "-o", "a.cubin")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertStores(self.folder / "a.cubin", 42)

    def test_newer_versions_are_taken_with_a_warning(self):
        # NVRTC of tomorrow writes tomorrow's version above instructions of today.
        source = self.file("newer.ptx", WHOLE.replace("8.0", "9.9"))
        done = self.tool("ptxas", "-arch=sm_80", source, "-o", "a.cubin")
        self.assertEqual((done.returncode, done.stderr), (0, f"ptxas {source}, line 1; warning : PTX 9.9 is newer than 9.3, the newest version that is known\n"))
        self.assertStores(self.folder / "a.cubin", 42)

    def test_arguments_that_are_refused(self):
        source = self.file("a.ptx", WHOLE)
        special = self.file("special.ptx", WHOLE.replace("sm_80", "sm_90a"))
        for words, text in ((["-arch=sm_33", source], "ptxas fatal   : Value 'sm_33' is not defined for option 'gpu-name'\n"),
                            ([source], "ptxas fatal   : SM version specified by .target is higher than default SM version assumed\n"),
                            (["-arch=sm_80", "none.ptx"], "ptxas fatal   : Input file 'none.ptx' could not be opened\n"
                                                          "ptxas fatal   : Ptx assembly aborted due to errors\n"),
                            (["-arch=sm_90", special],
                             "ptxas fatal   : PTX with .target 'sm_90a' cannot be compiled for architecture 'sm_90'\n"),
                            (["-arch=sm_100a", special], "ptxas fatal   : Program with .target 'sm_90a' cannot be compiled to future architecture\n"),
                            (["-arch=sm_80", source, special], "ptxas fatal   : More than one input file is given\n"),
                            (["-arch=sm_80", source, "-o"], "ptxas fatal   : argument expected after '-o'\n"),
                            (["-arch=sm_80", source, "-o", "none/a.cubin"],
                             "ptxas fatal   : Could not write 'none/a.cubin': No such file or directory\n")):
            done = self.tool("ptxas", *words)
            self.assertEqual((done.returncode, done.stderr), (255, text), words)
        self.assertFalse((self.folder / "elf.o").exists())

    def test_options_that_are_unknown_or_lost_are_told(self):
        source = self.file("a.ptx", WHOLE)
        done = self.tool("ptxas", "-O3", "-arch", "sm_80", "--frobnicate=7", "--maxntid", "64", "--output-file=a.cubin", source)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "ptxas warning : Unknown option '--frobnicate=7' has no effect\n"
                                      "ptxas warning : option 'maxntid' has no effect\n")
        self.assertEqual(self.tool("ptxas", "-w", "-O3", "-arch", "sm_80", "--frobnicate=7", source).stderr, "")
        self.assertTrue((self.folder / "elf.o").exists())

    def test_no_unknown_option_is_a_short_one_with_its_value(self):
        source = self.file("a.ptx", WHOLE)
        for word in ("-optimize", "-oq.cubin", "-extra", "-ekernel", "-vO", "-w1", "-archsm_80"):
            done = self.tool("ptxas", "-arch=sm_80", word, source)
            self.assertEqual((done.returncode, done.stderr), (0, f"ptxas warning : Unknown option '{word}' has no effect\n"))
            made = {path.name for path in self.folder.iterdir()}
            self.assertEqual(made, {"a.ptx", "elf.o"}, word)
        for words in (["-O3"], ["-O=3"], ["--opt-level", "2"], ["-m64"], ["-m", "64"], ["-O"], ["-maxrregcount", "0x20"], ["-maxrregcount=archmax"],
                      ["-dlcm=ca", "-dscm=wt"], ["-Ofc=mid"], ["-e", "kernel"], ["-e=kernel"], ["-pic=true"]):
            done = self.tool("ptxas", "-arch=sm_80", *words, source)
            self.assertEqual((done.returncode, done.stderr), (0, ""), words)

    def test_values_are_those_that_options_take(self):
        source = self.file("a.ptx", WHOLE)
        for words, text in ((["-maxrregcount", "abc"], "Invalid value 'abc' for option 'maxrregcount'"), (["-e", "none"], "Unknown function none"),
                            (["-e=kernel,none"], "Unknown function none"), (["-Ofast"], "'fast': expected a number"),
                            (["--opt-level=x"], "'x': expected a number"), (["-mx"], "'x': expected a number"),
                            (["-m32"], "Value '32' is not defined for option 'machine'"), (["-split-compile=x"], "'x': expected a number"),
                            (["-regUsageLevel=a"], "'a': expected a number"), (["-minnctapersm=q"], "'q': expected a number"),
                            (["-fmad=1"], "'1': expected true or false"), (["-pic=q"], "'q': expected true or false"),
                            (["-w=1"], "no argument expected after '-w'"), (["--verbose=x"], "no argument expected after '--verbose'"),
                            (["-dlcm=wb"], "Invalid value 'wb' for option 'def-load-cache'"), (["-Ofc=xx"], "Invalid value 'xx' for option 'Ofast-compile'")):
            done = self.tool("ptxas", "-arch=sm_80", *words, source)
            self.assertEqual((done.returncode, done.stderr), (255, f"ptxas fatal   : {text}\n"), words)
        self.assertFalse((self.folder / "elf.o").exists())

    def test_a_family_is_compiled_for_its_members(self):
        source = self.file("a.ptx", WHOLE.replace("8.0", "8.8").replace("sm_80", "sm_100f"))
        for arch in ("sm_100", "sm_103", "sm_103a", "sm_103f"):
            self.assertEqual(self.tool("ptxas", "-arch=" + arch, source).returncode, 0, arch)
        done = self.tool("ptxas", "-arch=sm_120", source)
        self.assertEqual((done.returncode, done.stderr), (
            255, "ptxas fatal   : Program with .target 'sm_100f' cannot be compiled to different SM-family architecture\n"))

    def test_terminals_are_shown_no_escapes(self):
        done = self.tool("ptxas", "-arch=sm_80", "none\x1b[2J.ptx")
        self.assertEqual(done.returncode, 255)
        self.assertNotIn("\x1b", done.stderr)
        self.assertIn("\\x1b[2J", done.stderr)

    def test_options_in_files(self):
        self.file("a.ptx", WHOLE)
        self.file("options", "-arch=sm_80 -o 'a b.cubin'\n-v")
        done = self.tool("ptxas", "--options-file", "options", "a.ptx")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ptxas info", done.stderr)
        self.assertTrue((self.folder / "a b.cubin").exists())

    def test_a_virtual_target_makes_no_file(self):
        done = self.tool("ptxas", "-arch=compute_80", self.file("a.ptx", WHOLE), "-o", "a.cubin")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertFalse((self.folder / "a.cubin").exists())

    def test_products_that_may_not_be_fused(self):
        body = ("  mul.f32 f, f, f;\n  @p add.ftz.f32 f, f, f;\n  add.rz.f32 f, f, f;\n  sub.f64 d, d, d;\n  mul.lo.u32 r, r, r;\n"
                "  fma.rn.f32 f, f, f, f;\n")
        text = HEADER + ".visible .entry kernel()\n{\n.reg .f32 f; .reg .f64 d; .reg .b32 r; .reg .pred p;\n" + body + "ret;\n}\n"
        want = text.replace("mul.f32", "mul.rn.f32").replace("add.ftz", "add.rn.ftz").replace("sub.f64", "sub.rn.f64")
        for option, expected in (("--fmad=false", want), ("-fmad=true", text)):
            found = sections(self.assemble("a", text, *option.split()).read_bytes())
            self.assertEqual(found[".rubia.ptx"][1].decode(), expected + "\0")


    def test_a_limit_of_registers_is_kept_as_a_directive(self):
        for option in ("-maxrregcount=40", "--maxrregcount 0x28"):
            found = sections(self.assemble("a", WHOLE, *option.split()).read_bytes())
            self.assertIn(".maxnreg 40 {", found[".rubia.ptx"][1].decode())
        done = self.tool("ptxas", "-arch=sm_80", "-maxrregcount=300", self.file("a.ptx", WHOLE))
        self.assertEqual(done.stderr, "ptxas warning : Too big maxrregcount value specified 300, will be ignored\n")
        self.assertNotIn(b"maxnreg", (self.folder / "elf.o").read_bytes())


class Nvlink(StandInTest):
    def test_a_limit_of_registers(self):
        units = [self.assemble(f"unit{i}", text, "-c") for i, text in enumerate((HEADER + EXTERN + KERNEL, HEADER + value(7)))]
        done = self.tool("nvlink", "-arch=sm_80", "-maxrregcount=48", *units, "-o", "linked.cubin")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(b".maxnreg 48 {", (self.folder / "linked.cubin").read_bytes())
        done = self.tool("nvlink", "-arch=sm_80", "-maxrregcount=48", "--emit-ptx", *units, "-o", "linked.ptx")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(b".maxnreg 48", (self.folder / "linked.ptx").read_bytes())

    def test_units_are_linked(self):
        for texts in ((HEADER + EXTERN + KERNEL, HEADER + value(7)), (HEADER + value(7), HEADER + EXTERN + KERNEL)):
            units = [self.assemble(f"unit{i}", text, "-c") for i, text in enumerate(texts)]
            done = self.tool("nvlink", "-arch=sm_80", *units, "-o", "linked.cubin")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertStores(self.folder / "linked.cubin", 7)

    def test_what_cannot_be_linked(self):
        user, one = self.assemble("user", HEADER + EXTERN + KERNEL, "-c"), self.assemble("one", HEADER + value(1), "-c")
        two = self.assemble("two", HEADER + value(2), "-c")
        sass = self.file("sass.cubin", b"\x7fELF\2\1\1\x33\7" + bytes(7) + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 0, 80, 64, 56, 0, 64, 0, 0))
        for words, status, text in (([user], 255, "nvlink error   : Undefined reference to 'value'\n"),
                                    ([user, one, two], 1, f"multiple definition of 'value', in '{one}' and in '{two}'"),
                                    ([sass], 1, "no PTX: only SASS"), (["none.o"], 1, "none.o")):
            done = self.tool("nvlink", "-arch=sm_80", *words, "-o", "linked.cubin")
            self.assertEqual(done.returncode, status, done.stderr)
            self.assertIn(text, done.stderr)
            self.assertFalse((self.folder / "linked.cubin").exists())
        self.assertEqual(self.tool("nvlink", user, one, "-o", "x").returncode, 1)
        self.assertEqual(self.tool("nvlink", "-arch=sm_80", user, one).stderr, "nvlink fatal   : Must specify output file with -o option\n")
        for words, text in ((["-m32"], "Value '32' is not defined for option 'machine'"), (["-maxrregcount=abc"], "'abc': expected a number"),
                            (["-w=1"], "no argument expected after '-w'")):
            done = self.tool("nvlink", "-arch=sm_80", *words, user, one, "-o", "linked.cubin")
            self.assertEqual((done.returncode, done.stderr), (1, f"nvlink fatal   : {text}\n"))
        self.assertEqual(self.tool("nvlink", "-r", "-arch=sm_80", user, "-o", "part.o").returncode, 0)
        self.assertEqual(self.tool("nvlink", "-arch=sm_80", "part.o", two, "-o", "linked.cubin").returncode, 0)
        self.assertStores(self.folder / "linked.cubin", 2)

    def test_options_are_not_taken_for_short_ones(self):
        one = self.assemble("one", WHOLE, "-c")
        library = self.file("libown.a", one.read_bytes())
        for word, text in (("-optimize", "Unknown option '-optimize' has no effect"), ("-oq.cubin", "Unknown option '-oq.cubin' has no effect"),
                           ("-lineinfo", "Library 'ineinfo' not found")):
            done = self.tool("nvlink", "-arch=sm_80", word, one, "-o", "linked.cubin")
            self.assertEqual((done.returncode, done.stderr), (0, f"nvlink warning : {text}\n"))
        for words in (["-lown", f"-L{self.folder}"], ["-l", "own", "-L", self.folder], [f"--library-path={self.folder}", "--library", "own"]):
            done = self.tool("nvlink", "-arch=sm_80", *words, "-o", "linked.cubin")
            self.assertEqual((done.returncode, done.stderr), (0, ""), library)


class Fatbinary(StandInTest):
    def test_containers_are_loaded(self):
        cubin, text = self.assemble("a", WHOLE), self.file("b.ptx", WHOLE.replace("42", "43"))
        for words, number in ((["-64", "--image=profile=sm_80,file=" + str(cubin)], 42),
                              (["--image3=kind=elf,sm=80,file=" + str(cubin)], 42),
                              (["--cuda", "--image3", "kind=ptx,sm=80,file=" + str(text)], 43),
                              (["--image=profile=compute_80,file=" + str(text), "--image2=profile=sm_80,file=" + str(cubin)], 43)):
            done = self.tool("fatbinary", "--create=a.fatbin", *words)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertStores(self.folder / "a.fatbin", number)

    def test_what_is_no_image(self):
        for words in (["--image=profile=sm_33,file=a"], ["--image=profile=lto_80,file=a"], ["--image3=kind=ptx,sm=80"], ["--image3=kind=ptx,sm=80,file=none"], []):
            done = self.tool("fatbinary", "--create=a.fatbin", *words[:1]) if words else self.tool("fatbinary", "-64")
            self.assertEqual(done.returncode, 1, words)
            self.assertIn("fatbinary fatal   : ", done.stderr)

    def test_options(self):
        image = "--image3=kind=ptx,sm=80,file=" + str(self.file("b.ptx", WHOLE))
        for word, status, text in (("-crefoo", 0, "warning : Unknown option '-crefoo' has no effect"), ("-g=1", 1, "fatal   : no argument expected after '-g'"),
                                   ("-compress=x", 1, "fatal   : 'x': expected true or false"), ("-compress=true", 0, "")):
            done = self.tool("fatbinary", "--create=a.fatbin", word, image)
            self.assertEqual((done.returncode, done.stderr), (status, text and f"fatbinary {text}\n"))


JITLINK = r"""
#include <dlfcn.h>
#include <string.h>
typedef struct Link *Handle;
static void *library;
#define CALL(name) ((int (*)()) dlsym(library, "nvJitLink" #name))
static char text[1 << 20];
static size_t readFile(const char *path) {
  FILE *file = fopen(path, "rb");
  size_t size = fread(text, 1, sizeof(text) - 1, file);
  text[size] = 0;
  return size;
}
// LIBRARY OPTIONS... -- TYPE FILE ... : codes of all calls, the error log; then the result is loaded.
int main(int argc, char **argv) {
  Handle link = 0;
  size_t size = 0;
  int first = 2;
  if (!(library = dlopen(argv[1], RTLD_NOW))) { puts(dlerror()); return 1; }
  while (strcmp(argv[first], "--")) ++first;
  int result = CALL(Create)(&link, first - 2, argv + 2);
  printf("create %d", result);
  if (!result) {
    for (int i = first + 1; i < argc; i += 2) {
      size_t bytes = readFile(argv[i + 1]);
      printf(" add %d", CALL(AddData)(link, atoi(argv[i]), text, bytes, "input"));
    }
    printf(" complete %d", result = CALL(Complete)(link));
  }
  putchar('\n');
  CALL(GetErrorLogSize)(link, &size);
  if (size) { CALL(GetErrorLog)(link, text); fputs(text, stdout); }
  if (!result && getenv("PTX")) {
    printf("size %d\n", CALL(GetLinkedPtxSize)(link, &size));
    char *ptx = malloc(size);
    CALL(GetLinkedPtx)(link, ptx);
    run(ptx);
  } else if (!result && !CALL(GetLinkedCubinSize)(link, &size)) {
    char *cubin = malloc(size);
    CALL(GetLinkedCubin)(link, cubin);
    run(cubin);
  }
  printf("destroy %d", CALL(Destroy)(&link));
  printf(" %d\n", link != 0);
}
"""


class NvJitLink(StandInTest):
    def link(self, options, *inputs, library="libnvJitLink.so.13", **environment):
        words = [str(word) for pair in inputs for word in pair]
        return self.rubia("run", "--", self.build("jitlink", LOADER + JITLINK), library, *options, "--", *words, **environment)

    def assertLinks(self, done, *lines):
        self.assertEqual((done.returncode, done.stdout), (0, "".join(line + "\n" for line in [*lines, "destroy 0 0"])), done.stderr)

    def test_texts_are_linked(self):
        user, callee = self.file("a.ptx", HEADER + EXTERN + KERNEL), self.file("b.ptx", HEADER + value(9))
        for library in ("libnvJitLink.so.12", "libnvJitLink.so.13"):
            self.assertLinks(self.link(["-arch=sm_89"], (2, user), (2, callee), library=library), "create 0 add 0 add 0 complete 0", "stored 9")
        self.assertLinks(self.link(["-arch=sm_89", "-lto", "-O3"], (10, callee), (10, user)), "create 0 add 0 add 0 complete 0", "stored 9")

    def test_other_forms_of_texts(self):
        user = self.assemble("a", HEADER + EXTERN + KERNEL, "-c")
        callee = self.file("b.ptx", HEADER + value(9))
        self.tool("fatbinary", "--create=b.fatbin", f"--image3=kind=ptx,sm=80,file={callee}")
        self.assertLinks(self.link(["-arch=sm_80"], (1, user), (4, self.folder / "b.fatbin")), "create 0 add 0 add 0 complete 0", "stored 9")
        self.assertLinks(self.link(["-arch=sm_80"], (10, user), (10, self.folder / "b.fatbin")), "create 0 add 0 add 0 complete 0", "stored 9")
        archive = self.file("c.a", b"!<arch>\n" + (self.folder / "b.fatbin").read_bytes())
        self.assertLinks(self.link(["-arch=sm_80"], (6, archive), (1, user)), "create 0 add 0 add 0 complete 0", "stored 9")

    def test_a_library_may_have_later_text_beside_machine_code(self):
        """As libcudadevrt of CUDA 13.5: machine code for every architecture, PTX for the last alone."""
        user = self.file("a.ptx", HEADER + EXTERN + KERNEL)
        later = self.file("later.ptx", ".version 8.7\n.target sm_120\n.address_size 64\n" + value(9))
        # The head of a file for NVIDIA's GPUs: nothing of it is read.
        machine = self.file("machine.cubin", b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0))
        for sm, expected in (("80", "create 0 add 0 add 0 complete 0"), ("90", "create 0 add 0 add 4 complete 6")):
            self.tool("fatbinary", "--create=c.fatbin", f"--image3=kind=elf,sm={sm},file={machine}", f"--image3=kind=ptx,sm=120,file={later}")
            archive = self.file("c.a", b"!<arch>\n" + (self.folder / "c.fatbin").read_bytes())
            done = self.link(["-arch=sm_89"], (1, self.assemble("a", user.read_text(), "-c")), (6, archive))
            self.assertEqual(done.stdout.splitlines()[0], expected, done.stdout + done.stderr)
            self.assertEqual("stored 9" in done.stdout, sm == "80", done.stdout + done.stderr)

    def test_codes_are_those_of_nvidias_library(self):
        whole, user = self.file("a.ptx", WHOLE), self.file("u.ptx", HEADER + EXTERN + KERNEL)
        one, two = self.file("1.ptx", HEADER + value(1)), self.file("2.ptx", HEADER + value(2))
        bad = self.file("bad.ptx", HEADER + ".visible .entry k() { foo; ret; }\n")
        refused = "ERROR 1: bad input: does not match type NVJITLINK_INPUT_"
        for options, inputs, lines in (
                ([], [], ["create 2"]),
                (["-lto"], [], ["create 2"]),
                (["-arch=sm_80", "-frob"], [], ["create 1", "unrecognized option: -frob"]),
                (["-arch=sm_33"], [], ["create 16", "ERROR NVJITLINK_ERROR_UNRECOGNIZED_ARCH: unrecognized architecture (sm_33)"]),
                (["-arch=compute_80"], [], ["create 11", "ERROR: virtual arch requires -ptx"]),
                (["-arch=sm_80", "-ptx"], [], ["create 11", "ERROR: -ptx requires -lto"]),
                (["-arch=sm_80", "-lto", "-ptx"], [(2, whole)],
                 ["create 0 add 0 complete 12", "ERROR: -ptx requires that all inputs have LTOIR"]),
                (["-arch=sm_80"], [(2, user)], ["create 0 add 0 complete 6", "error   : Undefined reference to 'value'", "ERROR 9: finish"]),
                (["-arch=sm_80"], [(1, whole)], ["create 0 add 12 complete 0", refused + "CUBIN (input)"]),
                (["-arch=sm_80"], [(4, whole)], ["create 0 add 12 complete 0", refused + "FATBIN (input)"]),
                (["-arch=sm_80"], [(3, whole)], ["create 0 add 12 complete 0", refused + "LTOIR (input)"]),
                (["-arch=sm_80"], [(77, whole)], ["create 0 add 12 complete 0", "unsupported input type: input"]),
                (["-arch=sm_75"], [(2, whole)],
                 ["create 0 add 4 complete 0", "ptxas fatal   : SM version specified by .target is higher than default SM version assumed",
                  "ERROR NVJITLINK_ERROR_PTX_COMPILE: JIT the PTX (input)"])):
            done = self.link(options, *inputs)
            self.assertEqual(done.stdout.splitlines()[:len(lines)], lines, (options, done.stdout, done.stderr))
        done = self.link(["-arch=sm_80"], (2, bad))
        self.assertIn("create 0 add 4 complete 0\nptxas application ptx input, line 4; error   : ", done.stdout)
        self.assertLinks(self.link(["-arch=sm_80"], (2, user), (2, one), (2, two)), "create 0 add 0 add 0 add 0 complete 0", "stored 1")

    def test_symbols_have_the_versions_of_nvidias_library(self):
        source = "int __nvJitLinkComplete_{0}(void *);\nint main() {{ return __nvJitLinkComplete_{0}(0) != 10; }}\n"
        for major, versions in ((12, ("12_0", "12_4", "12_9")), (13, ("13_0",))):
            for version in versions:
                program = self.build("versions", source.format(version), STANDINS / "lib" / f"libnvJitLink.so.{major}")
                done = self.rubia("run", "--", program)
                self.assertEqual(done.returncode, 0, done.stderr)

    @unittest.skipUnless(shutil.which("nvcc") or os.path.exists("/usr/local/cuda/bin/nvcc"), "no nvcc, which makes LTO-IR")
    def test_lto_ir_becomes_ptx(self):
        nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        release = re.search(r"release (\d+)\.", subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout)
        library = f"libnvJitLink.so.{release.group(1)}"
        real = next((folder for folder in ("/usr/local/cuda/lib64", str(pathlib.Path(nvcc).parent.parent / "lib64"))
                     if os.path.exists(f"{folder}/{library}")), None)
        if not real:
            self.skipTest(f"no {library} of NVIDIA's")
        user = self.file("a.cu", 'extern "C" __device__ int value();\nstruct Pad { int a[3]; };\n'
                                 'extern "C" __global__ void kernel(int *out, Pad, char) { *out = value() + 1; }\n')
        callee = self.file("b.cu", 'extern "C" __device__ int value() { return 11; }\n')
        for path in (user, callee):
            done = subprocess.run([nvcc, "-rdc=true", "-fatbin", "-gencode", "arch=compute_80,code=lto_80", path, "-o", f"{path}.fatbin"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
        fatbins = [(4, f"{user}.fatbin"), (4, f"{callee}.fatbin")]
        self.assertLinks(self.link(["-arch=sm_80", "-lto"], *fatbins, library=library, RUBIA_CUDA_LIBRARIES=real),
                         "create 0 add 0 add 0 complete 0", "stored 12")
        self.assertLinks(self.link(["-arch=sm_80", "-lto", "-ptx"], *fatbins, library=library, RUBIA_CUDA_LIBRARIES=real, PTX="1"),
                         "create 0 add 0 add 0 complete 0", "size 0", "stored 12")
        done = self.link(["-arch=sm_80"], *fatbins, library=library)
        self.assertIn("no PTX", done.stdout)

    def test_without_nvidias_library(self):
        found = [f for f in ("/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/opt/cuda/lib64", "/usr/lib/x86_64-linux-gnu", "/usr/lib64")
                 if os.path.exists(f + "/libnvJitLink.so.12")]
        if found:
            self.skipTest("NVIDIA's libnvJitLink.so.12 is installed")
        lto = self.file("a.lto", b"no text, no ELF file")
        done = self.link(["-arch=sm_80", "-lto"], (3, lto), library="libnvJitLink.so.12")
        self.assertIn("create 0 add 0 complete 5\n", done.stdout)
        self.assertIn("nvidia-nvjitlink", done.stdout)


NVRTC = r"""
#include <dlfcn.h>
#include <string.h>
static void *library;
#define CALL(name) ((int (*)()) dlsym(library, "nvrtc" #name))
// LIBRARY SOURCE OPTIONS...
int main(int argc, char **argv) {
  void *program = 0;
  size_t size = 0;
  int major = 0, minor = 0;
  if (!(library = dlopen(argv[1], RTLD_NOW))) { puts(dlerror()); return 1; }
  printf("version %d\n", CALL(Version)(&major, &minor));
  printf("create %d\n", CALL(CreateProgram)(&program, argv[2], "a.cu", 0, 0, 0));
  if (!program) return 0;
  printf("compile %d\n", CALL(CompileProgram)(program, argc - 3, argv + 3));
  CALL(GetProgramLogSize)(program, &size);
  char *log = malloc(size + 1);
  CALL(GetProgramLog)(program, log);
  fputs(log, stdout);
  if (!CALL(GetCUBINSize)(program, &size) && size) {
    char *cubin = malloc(size);
    printf("cubin %d %.3s\n", CALL(GetCUBIN)(program, cubin), cubin + 1);
    run(cubin);
  } else {
    puts("no cubin");
    if (CALL(GetPTXSize)(program, &size)) return 0;
    char *ptx = malloc(size);
    CALL(GetPTX)(program, ptx);
    run(ptx);
  }
  printf("destroy %d", CALL(DestroyProgram)(&program));
  printf(" %d\n", program != 0);
}
"""
SOURCE = 'struct Pad { int a[3]; }; extern "C" __global__ void kernel(int *out, Pad, char) { *out = 21 + __CUDA_ARCH__ / 100; }'


class Nvrtc(StandInTest):
    def compile(self, *options, library=None, source=SOURCE, **environment):
        library = library or next((name for name in ("libnvrtc.so.13", "libnvrtc.so.12")
                                   if os.path.exists("/usr/local/cuda/lib64/" + name)), None)
        if not library:
            self.skipTest("no libnvrtc of NVIDIA's in /usr/local/cuda/lib64")
        return self.rubia("run", "--", self.build("nvrtc", LOADER + NVRTC), library, source, *options, **environment)

    def test_a_cubin_is_loaded(self):
        for options in (["-arch=sm_80"], ["--gpu-architecture=sm_80", "-DX"], ["-DX", "--gpu-architecture", "sm_80"]):
            done = self.compile(*options)
            self.assertEqual(done.stdout, "version 0\ncreate 0\ncompile 0\ncubin 0 ELF\nstored 29\ndestroy 0 0\n", done.stderr)

    def test_ptx_stays_ptx(self):
        done = self.compile("-arch=compute_80")
        self.assertEqual(done.stdout, "version 0\ncreate 0\ncompile 0\nno cubin\nstored 29\ndestroy 0 0\n", done.stderr)

    def test_targets_that_are_newer_than_the_library(self):
        done = self.compile("-arch=sm_121a")
        self.assertIn("compile 0\ncubin 0 ELF\nstored 33\n", done.stdout, done.stderr)

    def test_errors_are_those_of_the_compiler(self):
        done = self.compile("-arch=sm_80", source="nonsense")
        self.assertIn("create 0\ncompile 6\na.cu(1): error", done.stdout)
        self.assertEqual(self.compile("-arch=sm_33").stdout.splitlines()[2], "compile 5")

    def test_switched_off_programs_have_nvidias(self):
        done = self.compile("-arch=sm_80", RUBIA_STANDINS="off", LD_LIBRARY_PATH="/usr/local/cuda/lib64")
        self.assertIn("compile 0\ncubin 0 ELF\n", done.stdout)
        self.assertNotIn("stored", done.stdout)  # SASS
        self.assertIn("no PTX", done.stderr)

    def test_without_nvidias_library(self):
        if any(os.path.exists(f + "/libnvrtc.so.12") for f in ("/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/opt/cuda/lib64",
                                                               "/usr/lib/x86_64-linux-gnu", "/usr/lib64")):
            self.skipTest("NVIDIA's libnvrtc.so.12 is installed")
        done = self.compile(library="libnvrtc.so.12")
        self.assertEqual(done.stdout, "version 11\ncreate 11\n", done.stderr)
        self.assertIn("nvidia-cuda-nvrtc", done.stderr)

    def test_it_is_looked_for_anew(self):
        """What is not there at first may be there later; the stand-ins of another installation are not it."""
        if any(os.path.exists(f + "/libnvrtc.so.12") for f in ("/usr/local/cuda/lib64", "/usr/local/cuda/lib", "/opt/cuda/lib64",
                                                               "/usr/lib/x86_64-linux-gnu", "/usr/lib64")):
            self.skipTest("NVIDIA's libnvrtc.so.12 is installed")
        real, other = self.folder / "real", self.folder / "lib/rubia/standins/lib"
        real.mkdir()
        other.mkdir(parents=True)
        shutil.copy(STANDINS / "lib/libnvrtc.so.12", other)
        version = "int nvrtcVersion(int *major, int *minor) { *major = 12; *minor = 77; return 0; }"
        done = subprocess.run([CLANG, "-shared", "-fPIC", self.file("real.c", version), "-o", real / "later"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        program = self.build("twice", f"""#include <dlfcn.h>
#include <stdio.h>
int main() {{
  int a = 0, b = 0;
  int (*version)() = dlsym(dlopen("libnvrtc.so.12", RTLD_NOW), "nvrtcVersion");
  int first = version(&a, &b);
  rename("{real}/later", "{real}/libnvrtc.so.12");
  int second = version(&a, &b);
  printf("%d %d %d.%d\\n", first, second, a, b);
}}""")
        done = self.rubia("run", "--", program, RUBIA_CUDA_LIBRARIES=f"{other}:{real}")
        self.assertEqual(done.stdout, "11 0 12.77\n", done.stderr)
        self.assertEqual(done.stderr.count("libnvrtc.so.12"), 1, done.stderr)

    def test_a_program_keeps_its_own(self):
        """One that lies where only the program looks, and is of another version than all others."""
        folder = self.folder / "lib"
        folder.mkdir()
        real, version = folder / "libnvrtc.so.12", "int nvrtcVersion(int *major, int *minor) { *major = 12; *minor = 99; return 0; }"
        done = subprocess.run([CLANG, "-shared", "-fPIC", self.file("real.c", version), "-o", real, f"-Wl,-soname,{real.name}"],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        linked = "int nvrtcVersion(int *, int *); int main() { int a = 0, b = 0, r = nvrtcVersion(&a, &b); printf(\"%d %d.%d\\n\", r, a, b); }"
        opened = f"""#include <dlfcn.h>
int main() {{
  int a = 0, b = 0;
  void *library = dlopen("{real}", RTLD_NOW);
  int r = ((int (*)()) dlsym(library, "nvrtcVersion"))(&a, &b);
  printf("%d %d.%d\\n", r, a, b);
}}"""
        for name, source, *words in (("opened", opened), ("runpath", linked, real, "-Wl,--enable-new-dtags,-rpath,$ORIGIN/lib")):
            program = self.build(name, "#include <stdio.h>\n" + source, *words)
            for mode in ("on", "off"):
                done = self.rubia("run", "--", program, RUBIA_STANDINS=mode)
                self.assertEqual(done.stdout, "0 12.99\n", f"{name}, stand-ins {mode}: {done.stderr}")


class Preload(StandInTest):
    """Libraries that are found by a path of their own: shared ones of the test's stand for NVIDIA's."""

    WHERE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv) {
  Dl_info info = {0};
  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library) { puts(dlerror()); return 1; }
  void *(*which)() = dlsym(library, "which");
  dladdr(which ? which() : dlsym(library, "nvrtcVersion"), &info);
  puts(info.dli_fname);
}
"""

    def library(self, path, source, *words):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        command = [CLANG, "-w", "-D_GNU_SOURCE", "-shared", "-fPIC", self.file("library.c", source), "-o", path, f"-Wl,-soname,{path.name}", *words]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return path

    def assertFinds(self, opened, ours, theirs):
        program = self.build("where", self.WHERE)
        for mode, expected in (("on", ours), ("off", theirs)):
            done = self.rubia("run", "--", program, opened, RUBIA_STANDINS=mode)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertEqual(os.path.realpath(done.stdout.strip()), os.path.realpath(expected))

    def test_paths(self):
        real = self.library("cuda/libnvrtc.so.13", "int nvrtcVersion() { return 0; }")
        self.assertFinds(real, STANDINS / "lib/libnvrtc.so.13", real)
        other = self.library("cuda/libnvrtc.so.7", "int nvrtcVersion() { return 0; }")
        self.assertFinds(other, other, other)

    def test_packages_with_a_path_of_their_own(self):
        real = self.library("site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.13", "int nvrtcVersion() { return 0; }")
        user = self.library("site-packages/torch/lib/libuser.so", "int nvrtcVersion(); void *which() { return nvrtcVersion; }", real,
                            "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../nvidia/cuda_nvrtc/lib")
        self.assertFinds(user, STANDINS / "lib/libnvrtc.so.13", real)

    THREADS = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
static pthread_barrier_t all;
static void *work(void *path) {
  Dl_info info = {0};
  pthread_barrier_wait(&all);
  void *library = dlopen(path, RTLD_NOW);
  void *(*which)() = library ? dlsym(library, "which") : 0;
  if (which) dladdr(which(), &info);
  return (void *)info.dli_fname;
}
int main(int argc, char **argv) {
  pthread_t threads[16];
  pthread_barrier_init(&all, 0, argc - 1);
  for (int i = 1; i < argc; ++i) pthread_create(&threads[i], 0, work, argv[i]);
  for (int i = 1; i < argc; ++i) { void *found; pthread_join(threads[i], &found); puts(found ? found : "none"); }
}
"""

    def test_threads_wait_for_the_one_that_loads_them(self):
        real = self.library("site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.13", "int nvrtcVersion() { return 0; }")
        users = [self.library(f"site-packages/torch/lib/libuser{i}.so", "int nvrtcVersion(); void *which() { return nvrtcVersion; }", real,
                              "-Wl,--disable-new-dtags,-rpath,$ORIGIN/../../nvidia/cuda_nvrtc/lib") for i in range(8)]
        program = self.build("threads", self.THREADS, "-pthread")
        for _ in range(5):
            done = self.rubia("run", "--", program, *users)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(set(map(os.path.realpath, done.stdout.split())), {os.path.realpath(STANDINS / "lib/libnvrtc.so.13")})

    def test_nodes_of_nvidias_driver(self):
        if os.path.exists("/dev/nvidia0") or os.path.exists("/dev/nvidiactl"):
            self.skipTest("there is such a driver")
        program = self.build("nodes", "#include <stdio.h>\n#include <sys/stat.h>\nint main(int argc, char **argv) {\n  struct stat status;\n"
                             "  for (int i = 1; i < argc; ++i) printf(\"%d \", stat(argv[i], &status));\n}\n")
        paths = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/nvidia1", "/dev/null", "/nowhere")
        asked = f"import os; print(*(os.path.exists(path) - 1 for path in {paths}), end=' ')"
        for mode, expected in (("on", "0 0 -1 0 -1 "), ("off", "-1 -1 -1 0 -1 ")):
            self.assertEqual(self.rubia("run", "--", program, *paths, RUBIA_STANDINS=mode).stdout, expected)
            self.assertEqual(self.rubia("run", "--", sys.executable, "-c", asked, RUBIA_STANDINS=mode).stdout, expected)

    STARTS = r"""
#define _GNU_SOURCE
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
extern char **environ;
int main(int argc, char **argv) {
  char *path = argv[2], *words[] = {path, "--version", NULL};
  int status = 127;
  pid_t child;
  switch (atoi(argv[1])) {
  case 0: return execv(path, words);
  case 1: return execvp(path, words);
  case 2: return execve(path, words, environ);
  case 3: return execvpe(path, words, environ);
  case 4: if (posix_spawn(&child, path, NULL, NULL, words, environ)) return 126; break;
  case 5: if (posix_spawnp(&child, path, NULL, NULL, words, environ)) return 126; break;
  }
  waitpid(child, &status, 0);
  return WEXITSTATUS(status);
}
"""

    def test_tools_of_packages(self):
        program = self.build("starts", self.STARTS)
        for folder, isPackage in (("lib/site-packages/nvidia/cu13/bin", True), ("dist-packages/triton/bin", True), ("cuda/bin", False)):
            (self.folder / folder).mkdir(parents=True)
            for name in ("ptxas", "nvlink", "fatbinary", "ptxas-other"):
                real = self.folder / folder / name
                real.write_text("#!/bin/sh\necho the real one\n")
                real.chmod(0o755)
                for way in range(6) if name == "ptxas" else (2,):
                    for mode in ("on", "off"):
                        done = self.rubia("run", "--", program, way, real, RUBIA_STANDINS=mode)
                        ours = isPackage and mode == "on" and name != "ptxas-other"
                        self.assertEqual(done.returncode, 0, done.stderr)
                        self.assertEqual("the real one" not in done.stdout, ours, f"{real}, way {way}, stand-ins {mode}")
                        self.assertIn("release" if ours else "the real one", done.stdout)

    def test_a_caller_keeps_its_path(self):
        inner = self.library("outer/inner/libinner.so", "int nvrtcVersion() { return 0; }")
        outer = self.library("outer/libouter.so", "#include <dlfcn.h>\nvoid *which() { return dlsym(dlopen(\"libinner.so\", RTLD_NOW), "
                             "\"nvrtcVersion\"); }", "-Wl,--enable-new-dtags,-rpath,$ORIGIN/inner")
        self.assertFinds(outer, inner, inner)


class Run(StandInTest):
    def variables(self, **environment):
        done = self.rubia("run", "--", "/usr/bin/env", **environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)

    def test_stand_ins_are_in_the_way(self):
        found = self.variables(PATH="/usr/bin:/bin", LD_LIBRARY_PATH="/nowhere")
        tools = str(STANDINS / "bin")
        self.assertEqual(found["PATH"], f"{tools}:{STANDINS.parent}/bin:/usr/bin:/bin")
        self.assertEqual(found["LD_LIBRARY_PATH"], f"{STANDINS.parent}:{STANDINS}/lib:/nowhere")
        self.assertEqual(found["TRITON_PTXAS_PATH"], tools + "/ptxas-12.6")
        self.assertEqual(found["TRITON_PTXAS_BLACKWELL_PATH"], tools + "/ptxas")
        self.assertEqual(self.variables(RUBIA_COMPUTE_CAPABILITY="12.0")["TRITON_PTXAS_PATH"], tools + "/ptxas")
        self.assertEqual(found["LD_PRELOAD"], f"{STANDINS}/lib/librubia-standins.so")
        self.assertEqual(self.variables(TRITON_PTXAS_PATH="/own/ptxas")["TRITON_PTXAS_PATH"], "/own/ptxas")
        flag = f"--xla_gpu_cuda_data_dir={STANDINS}"
        for before, after in (("", flag), ("--xla_dump_to=/tmp/x", "--xla_dump_to=/tmp/x " + flag), ("--xla_gpu_cuda_data_dir=/own", None)):
            self.assertEqual(self.variables(XLA_FLAGS=before)["XLA_FLAGS"], after or before)

    def test_switched_off_they_are_not(self):
        found = self.variables(PATH="/usr/bin:/bin", LD_LIBRARY_PATH="/nowhere", RUBIA_STANDINS="off")
        self.assertEqual(found["PATH"], f"{STANDINS.parent}/bin:/usr/bin:/bin")
        self.assertEqual(found["LD_LIBRARY_PATH"], f"{STANDINS.parent}:/nowhere")
        self.assertNotIn("TRITON_PTXAS_PATH", found)
        self.assertNotIn("XLA_FLAGS", found)
        self.assertNotIn("LD_PRELOAD", found)


if __name__ == "__main__":
    RUBIA, CLANG, SOURCE_ROOT = (pathlib.Path(word).resolve() if i != 1 else word for i, word in enumerate(sys.argv[1:4]))
    STANDINS = RUBIA.parent.parent / "lib/rubia/standins"
    side_by_side.main(sys.argv[4:])
