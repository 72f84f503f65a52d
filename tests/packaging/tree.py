#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tree that `cmake --install` makes: complete, stripped, and of use to programs that are built against it.

Usage: tree.py BUILD CMAKE SOURCE [unittest arguments]
"""
import gzip
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

NEWEST_GLIBC = (2, 34)
# Names that others look for in default places: ours are in lib/rubia and below.
FOREIGN = re.compile(r"lib(cuda|nvidia-ml|amdhip64|nvrtc|nvJitLink)\.so|^(ptxas|nvlink|fatbinary|nvidia-smi)$")
# C's own, and what a library has of the library that it stands for or is loaded with.
ALLOWED_LIBRARIES = re.compile(r"^(libc|libm|libdl|libpthread|librt|ld-linux-x86-64|libcuda|libnvidia-ml)\.so\.\d+$")


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def install(build, cmake, prefix):
    run(cmake, "--install", build, "--prefix", prefix)


def files_of(prefix):
    return [path for path in sorted(prefix.rglob("*")) if path.is_file() and not path.is_symlink()]


def is_elf(path):
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def programs_of(prefix):
    return [path for path in files_of(prefix) if is_elf(path)]


def newest_glibc(path):
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", run("objdump", "-T", path))
    return max((tuple(map(int, version)) for version in versions), default=(0, 0))


class Tree(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.prefix = cls.folder / "tree"
        install(BUILD, CMAKE, cls.prefix)
        cls.rubia = cls.prefix / "bin/rubia"

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_programs_need_an_old_c_library_and_nothing_else(self):
        programs = programs_of(self.prefix)
        self.assertGreater(len(programs), 12)
        for path in programs:
            with self.subTest(path=path.relative_to(self.prefix)):
                self.assertLessEqual(newest_glibc(path), NEWEST_GLIBC)
                needed = re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", path))
                self.assertEqual([name for name in needed if not ALLOWED_LIBRARIES.match(name)], [])

    def test_no_program_looks_for_libraries_where_it_was_built(self):
        # Installation takes that path away and leaves its room: two builds have other bytes then.
        build = pathlib.Path(BUILD).resolve()
        built = [build / path.relative_to(self.prefix) for path in programs_of(self.prefix)]
        built = [path for path in built if path.exists()]  # examples come from elsewhere
        self.assertGreater(len(built), 10)
        for path in built:
            with self.subTest(path=path.relative_to(build)):
                searched = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", run("readelf", "-d", path))
                self.assertEqual([folders for folders in searched if str(build) in folders], [])

    def test_programs_are_stripped(self):
        for path in programs_of(self.prefix):
            with self.subTest(path=path.relative_to(self.prefix)):
                self.assertNotIn(".symtab", run("readelf", "-SW", path))

    def test_nothing_lies_where_others_look(self):
        for path in files_of(self.prefix) + [p for p in self.prefix.rglob("*") if p.is_symlink()]:
            if FOREIGN.search(path.name):
                self.assertTrue(path.is_relative_to(self.prefix / "lib/rubia"), path)
        self.assertEqual([path.name for path in (self.prefix / "bin").iterdir()], ["rubia"])

    def test_run_needs_the_small_program_alone(self):
        commands, away = self.prefix / "lib/rubia/rubia-commands", self.folder / "away"
        program = self.prefix / "lib/rubia/examples/vector_add_driver"
        environment = {**os.environ, "RUBIA_CACHE_DIR": str(self.folder / "cache")}
        commands.rename(away)
        try:
            self.assertIn("PASS", run(self.rubia, "run", "--device", "emulator", program, env=environment))
            self.assertIn("\nLLVM ", run(self.rubia, "--version"))
            done = subprocess.run([self.rubia, "config"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (1, f"rubia: error: cannot start {commands}: No such file or directory\n"))
        finally:
            away.rename(commands)

    def test_libraries_have_versioned_names(self):
        for name in ("libcuda.so.1", "libnvidia-ml.so.1", "librubia-emulator.so.0"):
            path = self.prefix / "lib/rubia" / name
            self.assertEqual(re.search(r"\(SONAME\).*\[(.*)\]", run("readelf", "-d", path)).group(1), name)
        for major in (5, 6, 7):
            link = self.prefix / f"lib/rubia/hip/libamdhip64.so.{major}"
            self.assertTrue(link.resolve().is_relative_to(self.prefix.resolve()), link)

    def test_every_command_has_a_page_and_examples(self):
        commands = run(self.rubia, "help", "--commands").split()
        self.assertIn("precompile", commands)
        for command in commands:
            page = self.prefix / f"share/man/man1/rubia-{command}.1.gz"
            with self.subTest(command=command):
                self.assertIn("EXIT STATUS", gzip.decompress(page.read_bytes()).decode())
                self.assertIn("Examples:\n  rubia " + command, run(self.rubia, command, "--help"))
        for command in ("cache", "capsule"):
            for below in re.findall(r"^  (\w+)  ", run(self.rubia, command, "--help").split("Subcommands:")[1], re.M):
                with self.subTest(command=command, below=below):
                    self.assertIn(f"Examples:\n  rubia {command} ", run(self.rubia, command, below, "--help"))

    def test_pages_are_free_of_warnings(self):
        if not shutil.which("groff"):
            self.skipTest("groff is not installed")
        for page in sorted((self.prefix / "share/man").rglob("*.gz")):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=gzip.decompress(page.read_bytes()), capture_output=True)
            self.assertEqual(done.stderr.decode(), "", page)

    def test_bash_completes(self):
        script = self.prefix / "share/bash-completion/completions/rubia"

        def completed(*words):
            text = f"source '{script}'; COMP_WORDS=({' '.join(map(repr, words))}); COMP_CWORD={len(words) - 1}; _rubia; printf '%s\\n' \"${{COMPREPLY[@]}}\""
            return run("bash", "--norc", "-c", text).split()

        self.assertEqual(completed("rubia", "prec"), ["precompile"])
        self.assertEqual(completed("rubia", "cache", "st"), ["stats"])
        self.assertEqual(completed("rubia", "run", "--device", "e"), ["emulator"])
        self.assertEqual(completed("rubia", "compile", "--warp-f"), ["--warp-form"])
        # Behind the program's name its own arguments stand.
        self.assertEqual(completed("rubia", "run", "--device", "hip", "/bin/ls", "--dev"), [])

    def test_other_shells_accept_their_completions(self):
        for shell, name in (("zsh", "zsh/vendor-completions/_rubia"), ("fish", "fish/vendor_completions.d/rubia.fish")):
            script = self.prefix / "share" / name
            self.assertIn("precompile", script.read_text())
            if shutil.which(shell):
                run(shell, "-n", script)

    def test_materials_name_every_file_and_part(self):
        materials = self.prefix / "share/doc/rubia/rubia.spdx.json"
        document = json.loads(materials.read_text())
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        listed = {file["fileName"]: file["checksums"][1]["checksumValue"] for file in document["files"]}
        there = {"./" + path.relative_to(self.prefix).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
                 for path in files_of(self.prefix) if path != materials}
        self.assertEqual(listed, there)
        names = {package["name"] for package in document["packages"]}
        self.assertLessEqual({"rubia", "LLVM and lld", "Zstandard", "Nettle", "GNU MPFR", "GNU MP"}, names)
        notices = (self.prefix / "share/doc/rubia/THIRD_PARTY_NOTICES").read_text()
        for name in names - {"rubia"}:
            self.assertIn(f"\n{name} ", notices)

    def test_a_program_is_built_against_the_package(self):
        work = self.folder / "program"
        work.mkdir()
        (work / "count.c").write_text("#include <rubia/Driver.h>\nint main(void) { int n = 0; return cuInit(0) || cuDeviceGetCount(&n) || n != 2; }\n")
        (work / "CMakeLists.txt").write_text("""cmake_minimum_required(VERSION 3.25)
project(count LANGUAGES C)
find_package(Rubia 0.1 REQUIRED)
add_executable(count count.c)
target_link_libraries(count PRIVATE Rubia::cuda)
enable_testing()
add_test(NAME count COMMAND Rubia::rubia -q run --device emulator --arch gfx1100,gfx942 $<TARGET_FILE:count>)
""")
        run(CMAKE, "-G", "Ninja", "-S", work, "-B", work / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_C_COMPILER=" + COMPILER)
        run(CMAKE, "--build", work / "build")
        run(pathlib.Path(CMAKE).with_name("ctest"), "--test-dir", work / "build", "--output-on-failure")
        flags = run("pkg-config", "--cflags", "--libs", "rubia", env={**os.environ, "PKG_CONFIG_PATH": str(self.prefix / "share/pkgconfig")}).split()
        run(COMPILER, work / "count.c", "-o", work / "count", *flags)
        run(self.rubia, "-q", "run", "--device", "emulator", "--arch", "gfx1100,gfx942", work / "count")


if __name__ == "__main__":
    BUILD, CMAKE, SOURCE = sys.argv[1:4]
    COMPILER = shutil.which("cc") or shutil.which("clang-22")
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
