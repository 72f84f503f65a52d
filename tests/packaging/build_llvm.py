# SPDX-License-Identifier: Apache-2.0
"""tools/build-llvm: what it would do, what it refuses, and whether its list and its profile fit the installed LLVM.

Usage: build_llvm.py LLVM_FOLDER [test ...]
"""
import importlib.machinery
import importlib.util
import lzma
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROFILE = ROOT / "packaging/llvm/profile.xz"
HOT = [line.split() for line in (ROOT / "packaging/llvm/files.txt").read_text().splitlines() if not line.startswith("#")]
LLVM = Path(sys.argv.pop(1))
HEADER = "include/llvm/IR/Function.h"


def load_tool():
    loader = importlib.machinery.SourceFileLoader("build_llvm_tool", str(ROOT / "tools/build-llvm"))
    tool = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(tool)
    return tool


PACKAGE = load_tool().package_version(LLVM)


class BuildLlvm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.source = self.folder / "source"
        self.version = subprocess.run([LLVM / "bin/llvm-config", "--version"], check=True, capture_output=True, text=True).stdout.strip()
        self.write_version(self.version)
        for _, file in HOT:
            place = self.source / "llvm" / file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.touch()
        (self.source / "llvm" / HEADER).parent.mkdir(parents=True)
        shutil.copy(LLVM / HEADER, self.source / "llvm" / HEADER)
        for name, text in (("debian/changelog", f"llvm-toolchain ({PACKAGE}) unstable; urgency=low\n"),
                           ("debian/patches/series", "# what each needs\none.patch -p1\n\ntwo.patch\n"),
                           (".pc/applied-patches", "one.patch\ntwo.patch\n")):
            (self.source / name).parent.mkdir(parents=True, exist_ok=True)
            (self.source / name).write_text(text)

    def write_version(self, version):
        """As LLVM's source has it."""
        modules = self.source / "cmake/Modules"
        modules.mkdir(parents=True, exist_ok=True)
        parts = zip(("MAJOR", "MINOR", "PATCH"), version.split("."))
        (modules / "LLVMVersion.cmake").write_text("".join(f"set(LLVM_VERSION_{part} {number})\n" for part, number in parts))

    def run_tool(self, *arguments):
        return subprocess.run([ROOT / "tools/build-llvm", *arguments, "--llvm", LLVM, "--jobs", "3", "--dry-run"],
                              capture_output=True, text=True)

    def test_build_compiles_the_files_with_the_profile(self):
        prefix = self.folder / "prefix"
        done = self.run_tool("build", self.source, prefix)
        self.assertEqual(done.returncode, 0, done.stderr)
        configure, ninja, index, *compiled, replaced = done.stdout.splitlines()
        self.assertIn("-DLLVM_PROFDATA_FILE=", configure)
        self.assertIn("-DLLVM_ENABLE_LTO=Thin", configure)
        self.assertIn("-j3", ninja.split())
        self.assertEqual(len(ninja.split()) - len(["ninja", "-C", "FOLDER", "-j3"]), len(HOT))
        self.assertEqual(len(compiled), len(HOT))
        self.assertTrue(all("-fthinlto-index=" in line for line in compiled))
        self.assertIn(f"{len(HOT)} members of {len({library for library, _ in HOT})} archives", replaced)
        self.assertFalse(prefix.exists())

    def test_calls_of_what_rubia_wraps_stay_calls(self):
        index = self.run_tool("build", self.source, self.folder / "prefix").stdout.splitlines()[2]
        wraps = [f"--wrap={function}" for function in (ROOT / "codegen/lib/speed/wrapped.txt").read_text().split()]
        self.assertGreater(len(wraps), 0)
        self.assertEqual(re.findall(r"--wrap=\w+", index), wraps)

    def test_lower_libraries_come_first(self):
        index = self.run_tool("build", self.source, self.folder / "prefix").stdout.splitlines()[2]
        self.assertLess(index.index("lib/Support/"), index.index("lib/IR/"))
        self.assertLess(index.index("lib/IR/"), index.index("lib/CodeGen/"))

    def test_profile_counts_in_rubia_commands(self):
        done = self.run_tool("profile", self.source)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("-DLLVM_BUILD_INSTRUMENTED=IR", done.stdout)
        self.assertIn("--target rubia-commands", done.stdout)
        self.assertIn("packaging/lay_out.py count", done.stdout.splitlines()[-1])

    def test_another_version_is_refused(self):
        self.write_version("22.0.9")
        done = self.run_tool("build", self.source, self.folder / "prefix")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"is LLVM 22.0.9, and {LLVM} has {self.version}", done.stderr)

    def test_another_header_is_refused(self):
        with (self.source / "llvm" / HEADER).open("a") as header:
            header.write("// Another line.\n")
        done = self.run_tool("build", self.source, self.folder / "prefix")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"headers of {self.source}/llvm and {LLVM} differ: IR/Function.h", done.stderr)

    @unittest.skipUnless(PACKAGE, "LLVM is not of a Debian package")
    def test_the_source_of_another_package_is_refused(self):
        (self.source / "debian/changelog").write_text("llvm-toolchain (1:99.1-1) unstable; urgency=low\n")
        done = self.run_tool("build", self.source, self.folder / "prefix")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"is of Debian's source {PACKAGE}, and {self.source} is 1:99.1-1", done.stderr)

    @unittest.skipUnless(PACKAGE, "LLVM is not of a Debian package")
    def test_the_source_of_a_release_is_refused(self):
        shutil.rmtree(self.source / "debian")
        done = self.run_tool("build", self.source, self.folder / "prefix")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"{self.source} is no Debian source", done.stderr)

    @unittest.skipUnless(PACKAGE, "LLVM is not of a Debian package")
    def test_patches_have_to_be_applied(self):
        (self.source / ".pc/applied-patches").write_text("one.patch\n")
        done = self.run_tool("build", self.source, self.folder / "prefix")
        self.assertEqual(done.returncode, 1)
        self.assertIn("of 2 Debian patches 1 are applied", done.stderr)

    def test_a_file_that_the_source_lacks_is_named(self):
        (self.source / "llvm" / HOT[0][1]).unlink()
        done = self.run_tool("build", self.source, self.folder / "prefix")
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"lacks {HOT[0][1]}", done.stderr)

    def test_each_file_is_one_member_of_its_archive(self):
        for library in {library for library, _ in HOT}:
            listed = subprocess.run([LLVM / "bin/llvm-ar", "t", LLVM / f"lib/lib{library}.a"], check=True, capture_output=True, text=True)
            members = listed.stdout.split()
            for of, file in HOT:
                if of == library:
                    self.assertEqual(members.count(Path(file).name + ".o"), 1, file)

    def test_the_profile_has_counts_of_each_file(self):
        """The functions that only a file itself calls have the file's name in front of theirs."""
        unpacked = self.folder / "profile.profdata"
        unpacked.write_bytes(lzma.decompress(PROFILE.read_bytes()))
        shown = subprocess.run([LLVM / "bin/llvm-profdata", "show", "--all-functions", unpacked], check=True, capture_output=True, text=True)
        self.assertIn("Instrumentation level: IR", shown.stdout)
        self.assertGreater(shown.stdout.count("Hash:"), 50 * len(HOT))
        self.assertNotIn("/", re.sub(r"^(?!.*;).*$", "", shown.stdout, flags=re.M))


    def test_an_object_without_contents_is_an_error(self):
        """clang writes one where profiles of files differ, and ends as if all were well."""
        llvm = self.folder / "llvm"
        (llvm / "bin").mkdir(parents=True)
        for name, text in (("llvm-config", "echo libLLVMCore.a"), ("ld.lld", ":"), ("clang", 'for last; do :; done; : >"$last"')):
            (llvm / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
            (llvm / "bin" / name).chmod(0o755)
        tool = load_tool()
        tool.WORK = self.folder / "work"
        tool.OBJECTS = tool.WORK / "objects"
        tool.OBJECTS.mkdir(parents=True)
        with self.assertRaisesRegex(SystemExit, "clang has made nothing of .*Value.cpp.o"):
            tool.across_files(tool.Step(False), llvm, {"LLVMCore": [tool.OBJECTS / "Value.cpp.o"]}, 1)

if __name__ == "__main__":
    unittest.main()
