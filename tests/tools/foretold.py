#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/test-apps compares what `rubia inspect` says of kernels with what became of them. Usage: foretold.py RUBIA SOURCES"""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
RUBIA, SOURCES = sys.argv[1:3]
sys.path.insert(0, str(pathlib.Path(SOURCES) / "tests" / "apps"))
import foretold  # noqa: E402

KERNEL = """.visible .entry {name}(.param .u64 p)
{{
.reg .b64 %d1; .reg .b32 %r1;{shared}
ld.param.u64 %d1, [p];
mov.u32 %r1, {value};
st.global.u32 [%d1], %r1;
ret;
}}
"""
HEAD = ".version 7.0\n.target sm_70\n.address_size 64\n"
# No target has as much shared memory.
TWO = HEAD + KERNEL.format(name="good", shared="", value=1) + KERNEL.format(name="bad", shared=" .shared .b8 wide[500000];", value="wide")
OTHER = HEAD + KERNEL.format(name="other", shared="", value=1)


class Foretold(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        (cls.folder / "files").mkdir()
        (cls.folder / "files" / "two.ptx").write_text(TWO)
        (cls.folder / "other.ptx").write_text(OTHER)
        for file, kernel in (("files/two.ptx", "good"), ("files/two.ptx", "bad"), ("other.ptx", "other")):
            cls.rubia("launch", cls.folder / file, "--entry", kernel, "zero:4")
        cls.inspection = json.loads(cls.rubia("inspect", "--recursive", "--json", cls.folder / "files"))
        cls.entries = json.loads(cls.rubia("cache", "list", "--json"))["entries"]

    @classmethod
    def rubia(cls, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("RUBIA_", "CUDA_"))}
        return subprocess.run([RUBIA, *map(str, words)], capture_output=True, text=True, timeout=300,
                              env=environment | {"RUBIA_DEVICE": "emulator", "RUBIA_CACHE_DIR": str(cls.folder / "cache")}).stdout

    def compare(self, change):
        inspection, entries = copy.deepcopy(self.inspection), copy.deepcopy(self.entries)
        change(inspection["files"][0], entries)
        return foretold.compare(inspection, entries)

    def test_what_compiles_and_what_is_refused_is_as_inspected(self):
        self.assertEqual(self.compare(lambda file, entries: None), {"as_inspected": 2, "at_run_time": 1, "differ": {}})

    def test_a_kernel_that_compiles_though_inspect_says_no(self):
        def change(file, entries):
            file["modules"][0]["kernels"][0]["works"] = False
        self.assertEqual(self.compare(change), {"as_inspected": 1, "at_run_time": 1, "differ": {"good": "compiled; inspect: fails"}})

    def test_a_kernel_that_is_refused_though_inspect_says_yes(self):
        def change(file, entries):
            file["modules"][0]["kernels"][1]["works"] = True
        result = self.compare(change)
        self.assertEqual((result["as_inspected"], list(result["differ"])), (1, ["bad"]))
        self.assertIn("shared", result["differ"]["bad"])

    def test_code_for_another_capability_is_compared_by_its_kernels(self):
        def change(file, entries):
            file["compute_capability"] = 130
        result = self.compare(change)
        self.assertEqual(result["as_inspected"], 1)  # what is refused has no names
        self.assertIn("inspect: inspected for capability 130, loaded for 89", *result["differ"].values())

    def test_an_image_that_cannot_be_loaded(self):
        def change(file, entries):
            key = {"kind": "manifest", "image": file["modules"][0]["image"], "capability": "89"}
            entries[:] = [{"key": key, "outcome": "refused", "error": "no end"}]
        self.assertEqual(list(self.compare(change)["differ"].values()), ["no end; inspect: works"])

    def test_words_of_the_table(self):
        self.assertEqual(foretold.words({"as_inspected": 5, "at_run_time": 9, "differ": {"k": "why"}}), "5 of 6")
        self.assertEqual(foretold.words({"as_inspected": 0, "at_run_time": 9, "differ": {}}), "none of files")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
