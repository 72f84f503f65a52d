# SPDX-License-Identifier: Apache-2.0
"""tools/install-dependencies with package managers that only say what they are told."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "tools/install-dependencies"


class Dependencies(unittest.TestCase):
    def run_with(self, programs):
        """The script's result where the machine has these programs alone, by the lines of their shell scripts."""
        with tempfile.TemporaryDirectory() as folder:
            for name, lines in programs.items():
                path = Path(folder) / name
                path.write_text("#!/bin/sh\n" + lines)
                path.chmod(0o755)
            for name in ("cat", "grep"):
                os.symlink(f"/bin/{name}", Path(folder) / name)
            return subprocess.run(["/bin/sh", SCRIPT], env={"PATH": folder}, capture_output=True, text=True)

    def test_apt_installs_what_is_missing(self):
        done = self.run_with({"id": "echo 0", "apt-get": 'echo "apt-get $*"', "dpkg-query": '[ "$4" = cmake ] || echo installed'})
        self.assertEqual(done.stdout, "installing: cmake\napt-get -q update\napt-get -q install -y --no-install-recommends cmake\n")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_dnf_installs_what_is_missing(self):
        done = self.run_with({"id": "echo 1000", "sudo": 'echo "sudo $*"', "dnf": "exit 9", "rpm": '[ "$3" != lld-devel ]'})
        self.assertEqual(done.stdout, "installing: lld-devel\nsudo dnf -y install --setopt=install_weak_deps=False lld-devel\n")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_nothing_is_done_where_everything_is_there(self):
        for programs in ({"id": "echo 0", "apt-get": "exit 9", "dpkg-query": "echo installed"}, {"id": "echo 0", "dnf": "exit 9", "rpm": "exit 0"}):
            done = self.run_with(programs)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_others_are_told_what_is_needed(self):
        done = self.run_with({"id": "echo 0"})
        self.assertEqual(done.returncode, 1)
        self.assertIn("LLVM 22 ", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
