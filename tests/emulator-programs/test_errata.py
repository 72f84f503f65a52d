#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether clang still gets wrong what docs/errata.md says, each reduced to a few lines of LLVM IR in errata/*.ll: if one is mended, its programs leave the list
in check_programs.py. And whether that list excuses what it names and nothing else.

Usage: test_errata.py CLANG
"""

import pathlib
import re
import subprocess
import sys
import unittest

from check_excuses import OTHERWISE
from check_programs import COMPILER_AT_FAULT, compilerIsAtFault

HERE = pathlib.Path(__file__).resolve().parent
TABLE = (HERE / "../../docs/errata.md").read_text()
CLANG = sys.argv.pop(1) if len(sys.argv) > 1 else "clang-22"


class Errata(unittest.TestCase):
    def testClangStillGetsThemWrong(self):
        files = sorted((HERE / "errata").glob("*.ll"))
        self.assertGreater(len(files), 5)
        for file in files:
            name, *options = file.read_text().splitlines()[0].lstrip("; ").split()
            kind, pattern = file.read_text().splitlines()[1].lstrip("; ").split(": ", 1)
            with self.subTest(file.name):
                self.assertIn(f"| {name} |", TABLE)
                result = subprocess.run([CLANG, "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-w", "-fno-crash-diagnostics", "-S", "-o", "-", "-Xclang", "-disable-llvm-passes", *options, str(file)],
                                        capture_output=True, text=True)
                if kind == "crash":
                    self.assertNotEqual(result.returncode, 0, "it compiles")
                    self.assertRegex(result.stderr, f"Running pass '{pattern}'")
                else:
                    self.assertEqual(result.returncode, 0, result.stderr)
                    code = "\n".join(l.strip() for l in result.stdout.splitlines() if not re.match(r"\s*(s_wait|s_delay|s_nop|;|\.)", l) or l.startswith(".LBB"))
                    self.assertRegex(code, pattern)


class Excuses(unittest.TestCase):
    def testTheListSaysWhatItIs(self):
        for fault in COMPILER_AT_FAULT:
            self.assertIn(f"| {fault.erratum} |", TABLE)
            if fault.kind == "wrong":
                self.assertIn(fault.erratum, OTHERWISE)

    def testWhatIsListedIsTheCompilers(self):
        self.assertTrue(compilerIsAtFault(1, 32, "gfx942", "gisel", "wrong"))
        self.assertTrue(compilerIsAtFault(1, 35, "gfx90a", "gisel", "RegBankSelect"))
        self.assertTrue(compilerIsAtFault(1, 133, "gfx1201/64", "gisel", "wrong"))

    def testWhatIsNotListedIsAFailure(self):
        self.assertFalse(compilerIsAtFault(1, 0, "gfx942", "gisel", "wrong"))    # another program
        self.assertFalse(compilerIsAtFault(1, 32, "gfx942", "O2", "wrong"))      # another setting
        self.assertFalse(compilerIsAtFault(1, 133, "gfx1100", "gisel", "wrong")) # another target
        self.assertFalse(compilerIsAtFault(1, 35, "gfx90a", "gisel", "wrong"))   # wrong words, not a crash
        self.assertFalse(compilerIsAtFault(1, 35, "gfx90a", "gisel", "Legalizer")) # a crash of another pass
        self.assertFalse(compilerIsAtFault(2, 32, "gfx942", "gisel", "wrong"))   # another seed


if __name__ == "__main__":
    unittest.main()
