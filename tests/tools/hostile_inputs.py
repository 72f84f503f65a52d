#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that somebody may have made with bad intentions, given to the command and to the libraries.

Usage: hostile_inputs.py RUBIA CLANG SOURCE_ROOT [TEST...]
"""
import os
import pathlib
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

import side_by_side

HEADER = ".version 7.0\n.target sm_70\n.address_size 64\n"
KERNEL = HEADER + ".visible .entry k(.param .u64 p)\n{\n.reg .b64 %d1;\nld.param.u64 %d1, [p];\nst.global.u32 [%d1], 42;\nret;\n}\n"
ESCAPE = "\x1b]0;owned\x07\x1b[2J"


class HostileTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="rubia-hostile-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def sparse(self, name, start, size):
        path = self.file(name, start)
        os.truncate(path, size)
        return path

    def rubia(self, *arguments, limit=60, memory=None, **environment):
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("RUBIA_", "CUDA_"))}
        clean |= {"RUBIA_DEVICE": "emulator", "RUBIA_ARCH": "gfx1100", "RUBIA_CACHE_DIR": str(self.folder / "cache")}
        before = memory and (lambda: resource.setrlimit(resource.RLIMIT_DATA, (memory, memory)))
        return subprocess.run([RUBIA, *map(str, arguments)], env=clean | environment, capture_output=True, timeout=limit,
                              preexec_fn=before)

    def assertClean(self, done):
        for text in (done.stdout, done.stderr):
            self.assertNotIn(b"\x1b", text)
            self.assertNotIn(b"\x07", text)
            self.assertNotIn("\u202e".encode(), text)


class Terminals(HostileTest):
    def test_errors_show_what_a_terminal_would_obey(self):
        path = self.file("a.ptx", HEADER + f".visible .entry k()\n{{\nfrob /* {ESCAPE} \u202e */ ;\n}}\n")
        for command in (["compile", path], ["inspect", path], ["launch", path, "--grid", "1", "--block", "1"],
                        ["precompile", path, "-o", self.folder / "out", "--progress", "off", "--report", self.folder / "report"]):
            done = self.rubia(*command)
            self.assertClean(done)
            self.assertIn(rb"\x1b[2J", done.stdout + done.stderr, command)
        self.assertNotIn(b"\x1b", (self.folder / "report").read_bytes())

    def test_names_of_files_and_members(self):
        name = f"{ESCAPE}\u202ek.ptx"
        path = self.file(name, KERNEL.replace("st.", "frob."))
        with zipfile.ZipFile(self.folder / "a.zip", "w") as archive:
            archive.write(path, name)
        for command in (["compile", path], ["inspect", path], ["inspect", "--json", path], ["cache", "explain", path],
                        ["precompile", self.folder / "a.zip", "-o", self.folder / "out"]):
            self.assertClean(self.rubia(*command))

    def test_what_the_emulator_says_of_a_kernel(self):
        text = KERNEL.replace("ld.param", ".loc 1 7 0\nld.param").replace("%d1, [p]", "%d1, [p];\nmov.u64 %d1, 64")
        path = self.file("a.ptx", text + f'.file 1 "/nowhere/{ESCAPE}.cu"\n')
        done = self.rubia("launch", path, "--grid", "1", "--block", "1", "zero:4")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(rb"\x1b[2J.cu:7", done.stderr)
        self.assertClean(done)
        for options in (["--trace"], ["--profile"]):
            self.assertClean(self.rubia("launch", path, "--grid", "1", "--block", "1", "zero:4", *options))

    def test_what_a_program_loads(self):
        source = r"""
#include "Driver.h"
int main(int argc, char **argv) {
  CUdevice device; CUcontext context; CUmodule module;
  CHECK(cuInit(0)); CHECK(cuDeviceGet(&device, 0)); CHECK(cuDevicePrimaryCtxRetain(&context, device)); CHECK(cuCtxSetCurrent(context));
  cuModuleLoadData(&module, argv[1]);
  return 0;
}
"""
        done = self.rubia("run", "--", self.build(source), HEADER + f".visible .entry k()\n{{\n}} frob /* {ESCAPE} */ ;\n", RUBIA_LOG="debug")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn(rb"\x1b[2J", done.stderr)
        self.assertClean(done)

    def build(self, source):
        program = self.folder / "program"
        libraries = pathlib.Path(RUBIA).parents[1] / "lib" / "rubia"
        subprocess.run([CLANG, "-I", SOURCE / "examples" / "driver", self.file("program.c", source), "-o", program, "-L", libraries,
                        "-l:libcuda.so.1"], check=True, capture_output=True, text=True)
        return program


class Sources(HostileTest):
    def test_only_files_below_named_folders_are_shown(self):
        named, other = self.folder / "named", self.folder / "other"
        named.mkdir()
        other.mkdir()
        secret = other / "secret"
        secret.write_text("one\ntwo\nthe secret line\n")
        (named / "source.cu").write_text("one\ntwo\nan open line\n")
        os.symlink(secret, named / "link")
        os.mkfifo(named / "fifo")

        def shown(file, *options):
            text = KERNEL.replace("st.global", ".loc 1 3 0\nst.global") + f'.file 1 "{file}"\n'
            path = self.file("a.ptx", text)
            out = b""
            for how in ("--trace", "--profile"):
                done = self.rubia("launch", path, "--grid", "1", "--block", "1", "zero:4", how, *options)
                self.assertEqual(done.returncode, 0, done.stderr)
                out += done.stdout
            self.assertIn(b":3", out)
            return out

        self.assertNotIn(b"secret line", shown(secret))
        self.assertNotIn(b"open line", shown(named / "source.cu"))
        for file in (secret, named / "link", f"{named}/../other/secret", named / "fifo", "../other/secret"):
            self.assertNotIn(b"secret line", shown(file, "--source", named))
        for file in (named / "source.cu", "source.cu", f"{other}/../named/source.cu"):
            out = shown(file, "--source", self.folder / "nowhere", "--source", named)
            self.assertEqual(out.count(b"an open line"), 2, out)


class Files(HostileTest):
    def test_the_command_takes_pipes(self):
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        for command in (["inspect"], ["compile", "-o", self.folder / "k.co"]):
            writer = threading.Thread(target=lambda: fifo.write_text(KERNEL))
            writer.start()
            done = self.rubia(command[0], fifo, *command[1:])
            writer.join()
            self.assertEqual(done.returncode, 0, done.stderr)
        done = subprocess.run([RUBIA, "compile", "/dev/stdin", "-o", self.folder / "k2.co"], input=KERNEL.encode(), capture_output=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_command_refuses_what_never_ends(self):
        for command in (["inspect", "/dev/zero"], ["compile", "/dev/zero"], ["precompile", "/dev/zero", "-o", self.folder / "out"],
                        ["launch", "/dev/zero"], ["extract", "/dev/zero", "-o", self.folder],
                        ["launch", self.file("k.ptx", KERNEL), "--grid", "1", "--block", "1", "buf:/dev/zero"]):
            begin = time.monotonic()
            done = self.rubia(*command, limit=20, memory=2 << 30)
            self.assertEqual(done.returncode, 1, (command, done.stderr[-300:]))
            self.assertIn(b"neither a regular file nor a pipe", done.stderr)

    def test_large_ptx_is_refused_early(self):
        path = self.sparse("a.ptx", KERNEL, 10 << 30)
        other = self.sparse("a.txt", KERNEL, 10 << 30)
        for command in (["inspect", path], ["compile", path], ["inspect", other], ["launch", path],
                        ["precompile", path, "-o", self.folder / "out"], ["cache", "explain", path]):
            done = self.rubia(*command, limit=20, memory=2 << 30)
            self.assertEqual(done.returncode, 1, (command, done.stderr[-300:]))
            self.assertIn(b"PTX text of 10737418240 bytes, more than the limit of 1073741824", done.stderr)

    def test_large_archive_members_are_refused_early(self):
        """The member says that it has 3 GB; there are only a few bytes, which would come first."""
        for name, claimed in (("a.ptx", 3 << 30), ("lib.so", 3 << 30)):
            content = KERNEL.encode() if name == "a.ptx" else b"\x7fELF" + bytes(1000)
            with zipfile.ZipFile(self.folder / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr(name, content)
            data = bytearray((self.folder / "a.zip").read_bytes())
            central = data.rindex(b"PK\x01\x02")
            struct.pack_into("<I", data, 22, claimed)
            struct.pack_into("<I", data, central + 24, claimed)
            path = self.file("b.zip", bytes(data))
            done = self.rubia("precompile", path, "-o", self.folder / "out", limit=20, memory=2 << 30)
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"member {name}: larger than {1 if name == 'a.ptx' else 2} GiB".encode(), done.stderr)

    def test_what_libcuda_opens(self):
        source = r"""
#include "Driver.h"
CUresult cuModuleLoad(CUmodule *, const char *);
CUresult cuLinkCreate_v2(unsigned, void *, void *, void **);
CUresult cuLinkAddFile_v2(void *, int, const char *, unsigned, void *, void *);
int main(int argc, char **argv) {
  CUdevice device; CUcontext context; CUmodule module; void *state;
  CHECK(cuInit(0)); CHECK(cuDeviceGet(&device, 0)); CHECK(cuDevicePrimaryCtxRetain(&context, device)); CHECK(cuCtxSetCurrent(context));
  CHECK(cuLinkCreate_v2(0, 0, 0, &state));
  for (int i = 1; i < argc; ++i)
    printf("%d %d\n", cuModuleLoad(&module, argv[i]), cuLinkAddFile_v2(state, 1, argv[i], 0, 0, 0));
}
"""
        program = Terminals.build(self, source)
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        good = self.file("k.ptx", KERNEL)
        # What follows a container does not matter, however much it is.
        fatbin = self.sparse("k.fatbin", struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64 + 8 * (len(KERNEL) // 8 + 1)) +
                             struct.pack("<HHIQIIHHIIIQQQ", 1, 0x101, 64, 8 * (len(KERNEL) // 8 + 1), 0, 0, 0, 8, 70, 0, 0, 1, 0, 0)
                             + KERNEL.encode() + bytes(8 - len(KERNEL) % 8), 10 << 30)
        for path, module, link in ((fifo, 200, 200), ("/dev/zero", 200, 200), (self.folder, 301, 1), (self.folder / "none", 301, 1),
                                   (self.sparse("a.ptx", KERNEL, 10 << 30), 200, 200), (fatbin, 0, 200), (good, 0, 0)):
            begin = time.monotonic()
            done = self.rubia("run", "--", program, path, limit=30, memory=8 << 30)
            self.assertEqual(done.stdout, f"{module} {link}\n".encode(), (path, done.stderr))

    def test_what_hip_opens(self):
        source = r"""
#include <stdio.h>
int hipModuleLoad(void **, const char *);
int hipInit(unsigned);
int main(int argc, char **argv) {
  void *module;
  hipInit(0);
  printf("%d\n", hipModuleLoad(&module, argv[1]));
}
"""
        program = self.folder / "hip"
        libraries = pathlib.Path(RUBIA).parents[1] / "lib" / "rubia" / "hip"
        subprocess.run([CLANG, self.file("hip.c", source), "-o", program, "-L", libraries, "-l:libamdhip64.so.6"], check=True)
        fifo = self.folder / "fifo"
        os.mkfifo(fifo)
        for path in (fifo, "/dev/zero", self.folder, self.sparse("a.co", "\x7fELF", 10 << 30)):
            done = subprocess.run([program, path], capture_output=True, timeout=30,
                                  env=os.environ | {"LD_LIBRARY_PATH": f"{libraries}:{libraries.parent}", "RUBIA_ARCH": "gfx1100"})
            self.assertEqual(done.stdout, b"301\n", (path, done.stderr))


if __name__ == "__main__":
    RUBIA, CLANG, SOURCE = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2], pathlib.Path(sys.argv[3])
    side_by_side.main(sys.argv[4:])
