# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest for applications whose own tests are programs in C++: with --compile, each .cpp or .cc file that is
named is a test, which passes if it compiles and the program ends with 0. A program that prints --skips is skipped.

With --cases, what the program prints for these arguments are names, one in each line that begins with a space, and each is a
test of its own. As Google Test prints them: a line that ends with a dot begins the names that follow, and a remark stands
behind #.

{site} is the folder of the packages, {root} that of the tests, {driver} that of libcuda.so.1, {file} the source, {program} the
program, {case} the name.
"""
import os
import pathlib
import shlex
import subprocess
import sysconfig

import pytest


def pytest_addoption(parser):
    parser.addoption("--compile", help="the command that makes {program} of {file}")
    parser.addoption("--cases", help="arguments with which a program prints its cases")
    parser.addoption("--program-arguments", default="", help="what each program is given, for each of its cases")
    parser.addoption("--program-seconds", type=float, default=100, help="the longest that a program may run")
    parser.addoption("--skips", help="a program that prints this is skipped")


def pytest_collect_file(file_path, parent):
    if file_path.suffix in (".cpp", ".cc") and parent.config.getoption("compile"):
        return File.from_parent(parent, path=file_path)


class Failed(Exception):
    pass


def run(words, seconds):
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failed(f"{pathlib.Path(words[0]).name}: over {seconds:.0f} s") from None
    if done.returncode:
        raise Failed(f"status {done.returncode}: {done.stdout.strip()[-1500:]}")
    return done.stdout


def words(text, **values):
    return [word.format_map(values) for word in shlex.split(text)]


def folder_of_the_driver():
    """Linkers do not look where LD_LIBRARY_PATH says."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(":")
    return next((folder for folder in folders if (pathlib.Path(folder) / "libcuda.so.1").is_file()), ".")


def cases(printed):
    suite = ""
    for line in printed.splitlines():
        name = line.partition("#")[0].strip()
        if line.startswith(" "):
            yield suite + name
        elif name.endswith("."):
            suite = name


class File(pytest.File):
    def collect(self):
        options = self.config.option
        if not options.cases:
            yield Program.from_parent(self, name=self.path.stem)
            return
        for name in cases(run([self.program(), *words(options.cases, root=self.config.rootpath)], 600)):
            # In brackets, as --deselect takes all tests whose names begin with what it says.
            yield Program.from_parent(self, name=f"[{name}]")

    def program(self):
        """Compiled once, for all targets."""
        program = self.path.with_suffix(".program")
        if not program.is_file():
            run(words(self.config.option.compile, site=sysconfig.get_path("purelib"), root=self.config.rootpath, driver=folder_of_the_driver(),
                      file=self.path, program=program), 600)
        return program


class Program(pytest.Item):
    def runtest(self):
        options = self.config.option
        printed = run([self.parent.program(), *words(options.program_arguments, case=self.name.strip("[]"), root=self.config.rootpath)], options.program_seconds)
        if options.skips and options.skips in printed:
            pytest.skip(next(line for line in printed.splitlines() if options.skips in line))

    def repr_failure(self, excinfo):
        return str(excinfo.value) if isinstance(excinfo.value, Failed) else super().repr_failure(excinfo)
