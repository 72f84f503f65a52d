#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rubia run --record-kernels and rubia precompile --kernels: what a program used, and no more, is enough to start it without a
compiler.

Usage: record_kernels.py RUBIA PROGRAM [unittest arguments]
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest


class RecordKernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.record = cls.folder / "used.kernels"
        for _ in range(2):  # a second process adds nothing new
            cls.rubia("run", "--record-kernels", cls.record.name, PROGRAM, cwd=cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    @classmethod
    def rubia(cls, *words, status=0, cwd=None, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("RUBIA_", "CUDA_"))}
        done = subprocess.run([RUBIA, *map(str, words)], text=True, capture_output=True, timeout=300, cwd=cwd,
                              env=clean | {"RUBIA_DEVICE": "emulator", "RUBIA_CACHE_DIR": str(cls.folder / "cache")} | environment)
        if status is not None and done.returncode != status:
            raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def test_a_pack_of_it_is_enough(self):
        lines = [json.loads(line) for line in self.record.read_text().splitlines()]
        self.assertEqual([line.get("kernels") for line in lines], [None, ["vectorAdd"]] * 2)
        pack = self.folder / "used.pack"
        done = self.rubia("precompile", "--kernels", self.record, "--arch", "gfx1100,gfx942", "-o", pack, "--progress", "off")
        self.assertIn("2 kernels", done.stdout + done.stderr)
        for arch in ("gfx1100", "gfx942"):
            empty = {"RUBIA_CACHE_DIR": str(self.folder / f"empty.{arch}"), "RUBIA_COMPILE": "never", "RUBIA_ARCH": arch}
            self.assertNotIn("PASS", self.rubia("run", PROGRAM, status=None, **empty).stdout)
            self.assertIn("PASS", self.rubia("run", PROGRAM, RUBIA_CACHE_PACKS=str(pack), **empty).stdout)

    def test_only_the_recorded_units_are_compiled(self):
        # A record of the second of two kernels.
        two = self.folder / "two.ptx"
        text = ".version 7.0\n.target sm_70\n.address_size 64\n"
        for name in ("first", "second"):
            text += f".visible .entry {name}(.param .u64 p)\n{{\n.reg .b64 %d1;\nld.param.u64 %d1, [p];\nst.global.u32 [%d1], 1;\nret;\n}}\n"
        two.write_text(text)
        record = self.folder / "second.kernels"
        self.rubia("launch", two, "--entry", "second", "zero:4", RUBIA_RECORD_KERNELS=str(record))
        report = self.folder / "report.json"
        self.rubia("precompile", "--kernels", record, "--arch", "gfx1100", "-o", self.folder / "entries", "--progress", "off", "--report", report)
        self.assertEqual([kernel["kernel"] for kernel in json.loads(report.read_text())["kernels"]], ["second"])
        # With the file itself, all of it.
        self.rubia("precompile", two, "--kernels", record, "--arch", "gfx1100", "-o", self.folder / "all", "--progress", "off", "--report", report)
        self.assertEqual([kernel["kernel"] for kernel in json.loads(report.read_text())["kernels"]], ["first", "second"])

    def test_what_the_program_had_chosen_is_recorded(self):
        record, both, pack = (self.folder / name for name in ("nan.kernels", "both.kernels", "nan.pack"))
        self.rubia("run", "--record-kernels", record, "--nan", "canonical", PROGRAM)
        self.rubia("precompile", "--kernels", record, "-o", pack, "--progress", "off")
        never = {"RUBIA_CACHE_DIR": str(self.folder / "empty.nan"), "RUBIA_COMPILE": "never", "RUBIA_CACHE_PACKS": str(pack)}
        self.assertIn("PASS", self.rubia("run", "--nan", "canonical", PROGRAM, **never).stdout)
        self.assertNotIn("PASS", self.rubia("run", PROGRAM, status=None, **never).stdout)
        # One file of two runs that chose differently serves both.
        both.write_text(record.read_text() + self.record.read_text())
        self.rubia("precompile", "--kernels", both, "-o", pack, "--progress", "off")
        self.assertIn("PASS", self.rubia("run", "--nan", "canonical", PROGRAM, **never).stdout)
        self.assertIn("PASS", self.rubia("run", PROGRAM, **never).stdout)

    def test_kernels_that_are_not_in_their_image_are_told(self):
        wrong = self.folder / "absent.kernels"
        wrong.write_text(self.record.read_text().replace('"vectorAdd"', '"vectorSub"'))
        done = self.rubia("precompile", "--kernels", wrong, "-o", self.folder / "none", "--progress", "off", status=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no kernel 'vectorSub' is in it", done.stdout + done.stderr)

    def test_damaged_records_are_refused_with_their_line(self):
        lines = self.record.read_text().splitlines()
        image = json.loads(lines[0])
        other = image | {"zstd_base64": image["zstd_base64"][:-8]}
        wrong = {"json": lines[0] + "\n{", "version": json.dumps(image | {"version": 2}), "bytes": json.dumps(other), "order": lines[1],
                 "digest": json.dumps(image | {"image": "0" * 64}), "nothing": ""}
        for name, text in wrong.items():
            with self.subTest(name=name):
                path = self.folder / f"{name}.kernels"
                path.write_text(text)
                done = self.rubia("precompile", "--kernels", path, "-o", self.folder / "none", "--progress", "off", status=None)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(f"{name}.kernels", done.stdout + done.stderr)

    def test_a_record_that_cannot_be_written_costs_no_program(self):
        done = self.rubia("run", "--record-kernels", "/nonexistent/file", PROGRAM)
        self.assertIn("PASS", done.stdout)
        self.assertIn("/nonexistent/file: No such file or directory; no kernels are recorded", done.stderr)

    def test_a_path_is_needed(self):
        self.assertIn("a path is needed, or --kernels", self.rubia("precompile", status=2).stderr)


if __name__ == "__main__":
    RUBIA, PROGRAM = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
