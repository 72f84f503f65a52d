#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages that cpack makes: the same bytes each time, clean for lintian, nothing in others' places.

Usage: packages.py BUILD CMAKE CPACK [unittest arguments]
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from tree import FOREIGN, run


def pack(build, cpack, folder):
    """The .deb and the tarball, made in `folder`."""
    run(cpack, "--config", pathlib.Path(build) / "CPackConfig.cmake", "-B", folder)
    return next(folder.glob("*.deb")), next(folder.glob("*.tar.gz"))


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.deb, cls.tarball = pack(BUILD, CPACK, cls.folder / "first")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_two_have_the_same_bytes(self):
        time.sleep(1.1)  # another second, that no time of today is in them
        deb, tarball = pack(BUILD, CPACK, self.folder / "second")
        self.assertEqual(self.deb.read_bytes(), deb.read_bytes())
        self.assertEqual(self.tarball.read_bytes(), tarball.read_bytes())

    def test_debian_finds_no_fault(self):
        if not shutil.which("lintian"):
            self.skipTest("lintian is not installed")
        # Programs of dev builds are no position-independent ones (CMakePresets.json).
        is_dev = re.search(r"^CMAKE_BUILD_TYPE:\w+=Dev$", (pathlib.Path(BUILD) / "CMakeCache.txt").read_text(), re.M)
        excused = ["--suppress-tags", "hardening-no-pie"] if is_dev else []
        done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", "--display-level", ">=warning", *excused, str(self.deb)],
                              capture_output=True, text=True)
        self.assertEqual((done.stdout, done.returncode), ("", 0))

    def test_nothing_lies_where_others_look(self):
        if not shutil.which("dpkg-deb"):
            self.skipTest("dpkg-deb is not installed")
        listed = run("dpkg-deb", "--contents", self.deb).splitlines()
        names = [re.split(r"\s+", line, maxsplit=5)[5].split(" -> ")[0] for line in listed]
        self.assertIn("./usr/lib/rubia/libcuda.so.1", names)
        for name in names:
            if FOREIGN.search(pathlib.PurePath(name).name):
                self.assertTrue(name.startswith("./usr/lib/rubia/"), name)
            self.assertTrue(name.startswith("./usr/") or name == "./", name)

    def test_the_tarball_is_one_folder(self):
        names = run("tar", "-tzf", self.tarball).splitlines()
        self.assertEqual({name.split("/")[0] for name in names}, {self.tarball.name.removesuffix(".tar.gz")})


if __name__ == "__main__":
    BUILD, CMAKE, CPACK = sys.argv[1:4]
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]])
