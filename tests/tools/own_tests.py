#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/test-apps counts of an application's own tests, of which some end the process. Usage: own_tests.py SOURCES"""
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import types
import unittest

sys.dont_write_bytecode = True
APPS = pathlib.Path(sys.argv[1]) / "tests" / "apps"
sys.path.insert(0, str(APPS))
import selection  # noqa: E402

# It stands for pytest, of which it has what run_tests.py uses, so that this test needs no package.
PYTEST = '''
import types

def hookimpl(**options):
    return lambda function: function

class File:
    pass

class Item:
    pass

def item(name):
    return types.SimpleNamespace(nodeid=name)

def report(name, outcome, longrepr=""):
    return types.SimpleNamespace(nodeid=name, failed=outcome == "failed", skipped=outcome == "skipped", longrepr=longrepr)

def main(arguments, plugins):
    recorder, _ = plugins
    import cases
    left_out = [word.split("=")[1] for word in arguments if word.startswith("--deselect=")]
    recorder.pytest_configure(types.SimpleNamespace(getoption=lambda name: left_out))
    recorder.pytest_deselected([item(name) for name in cases.CASES if name in left_out])
    items = [item(name) for name in cases.CASES if name not in left_out]
    recorder.pytest_collection_modifyitems(items)
    for name in (item.nodeid for item in items):
        recorder.pytest_runtest_logstart(name)
        outcome, why = cases.CASES[name]()
        recorder.pytest_runtest_logreport(report(name, outcome, why))
        recorder.pytest_runtest_logfinish(name)
    return 0
'''
CASES = '''
import os, time
CASES = {
    "good": lambda: ("passed", ""),
    "aborts": os.abort,
    "bad": lambda: ("failed", "AssertionError: 1 != 2"),
    "not-here": lambda: ("skipped", ("file", 1, "Skipped: no such device")),
    "unwanted": lambda: ("failed", ""),
    "endless": lambda: time.sleep(600),
    "last": lambda: ("passed", ""),
}
'''


class OwnTests(unittest.TestCase):
    def run_selection(self, runs=99, **about):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        folder = pathlib.Path(folder.name)
        (folder / "pytest.py").write_text(PYTEST)
        (folder / "cases.py").write_text(CASES)
        about = {"files": ["cases"], "test_seconds": 2, **about}
        chosen = selection.Selection.__new__(selection.Selection)
        chosen.about = about
        left = [runs]

        def start():
            left[0] -= 1
            if left[0] < 0:
                return None
            return subprocess.run([sys.executable, APPS / "run_tests.py", folder / "results", str(about["test_seconds"]), str(chosen.every("gfx942")), *chosen.arguments("/", "gfx942")],
                                  env={"PYTHONPATH": str(folder)}, capture_output=True).returncode

        return chosen.run(start, folder / "results")

    def test_each_test_counts_once_and_crashes_lose_none(self):
        counts, failures = self.run_selection(left_out=[{"why": "nobody wants it", "tests": ["unwanted"]}])
        self.assertEqual(counts, {"passed": 2, "failed": 3, "skipped": 1, "left_out": 1})
        self.assertEqual(failures, {"aborts": "ended the process with status -6", "bad": "AssertionError: 1 != 2", "endless": "over 2 s"})

    def test_on_one_target_more_can_be_left_out(self):
        unwanted = {"why": "nobody wants it", "tests": ["unwanted"]}
        counts, _ = self.run_selection(left_out=[{**unwanted, "on": ["gfx942"]}])
        self.assertEqual((counts["failed"], counts["left_out"]), (3, 1))
        counts, _ = self.run_selection(left_out=[{**unwanted, "on": ["gfx1100"]}])
        self.assertEqual((counts["failed"], counts["left_out"]), (4, 0))

    def collected(self, every, names):
        """Of these names of tests, those that run_tests.py takes."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "pytest.py").write_text(PYTEST)
            (folder / "cases.py").write_text(f"CASES = dict.fromkeys({names}, lambda: ('passed', ''))\n")
            subprocess.run([sys.executable, APPS / "run_tests.py", folder / "results", "9", every], env={"PYTHONPATH": str(folder)}, check=True)
            return next(entry["collected"] for entry in selection.Selection.entries(folder / "results") if "collected" in entry)

    def test_what_was_not_run_failed(self):
        counts, failures = self.run_selection(runs=1)
        self.assertEqual((counts["passed"], counts["failed"]), (1, 6))
        self.assertEqual(failures["last"], "not run")

    def test_of_many_each_nth_is_taken_from_those_that_are_not_left_out(self):
        counts, failures = self.run_selection(every={"gfx942": 3}, left_out=[{"why": "nobody wants it", "tests": ["aborts"]}])
        self.assertEqual(counts, {"passed": 1, "failed": 1, "skipped": 0, "left_out": 1})  # good, unwanted
        self.assertEqual(list(failures), ["unwanted"])

    def test_of_a_file_more_can_be_taken(self):
        recorded = self.collected("4,b=2", [f"{file}::{number}" for file in "abc" for number in range(5)])
        self.assertEqual(recorded, ["a::0", "a::4", "b::0", "b::2", "b::4", "c::3"])  # a and c are counted together

    def test_of_a_source_only_the_paths_are_extracted(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name in ("test/a.py", "test/deep/b.py", "testing/c.py", "d.py"):
                (folder / "program-1.0" / name).parent.mkdir(parents=True, exist_ok=True)
                (folder / "program-1.0" / name).write_text(name)
            with tarfile.open(folder / "source.tar.xz", "w:xz") as archive:
                archive.add(folder / "program-1.0", "program-1.0")
            chosen = selection.Selection.__new__(selection.Selection)
            chosen.about = {"paths": ["test"]}
            chosen.extract(folder / "source.tar.xz", folder)
            files = sorted(path.relative_to(folder / "files") for path in (folder / "files").rglob("*.py"))
            self.assertEqual(list(map(str, files)), ["test/a.py", "test/deep/b.py"])

    def test_names_of_cases_are_read_from_lists_and_from_google_test(self):
        sys.modules["pytest"] = types.SimpleNamespace(File=object, Item=object)
        import programs

        self.assertEqual(list(programs.cases("Operations:\n  ADD\n  MUL\nsum: 2\n")), ["ADD", "MUL"])
        self.assertEqual(list(programs.cases("CPU/Op.\n  Add/0  # GetParam() = 4 bytes\nCUDA/Op.\n  Add/0\n")), ["CPU/Op.Add/0", "CUDA/Op.Add/0"])

    def test_folders_of_this_machine_do_not_stand_in_reasons(self):
        self.assertEqual(selection.Selection.reason("file /home/a/site-packages/warp/x.py:\n  no\nTraceback /home"), "file warp/x.py: no")

    def test_works_takes_95_of_100(self):
        for passed, failed, expected in ((95, 5, True), (94, 6, False), (0, 0, False)):
            self.assertEqual(selection.passes({"passed": passed, "failed": failed}), expected)

    def test_reasons_stand_beside_all_that_is_left_out(self):
        owner = types.SimpleNamespace
        for path in sorted(APPS.glob("*/tests.json")):
            chosen = selection.Selection(owner(folder=path.parent, place=owner(tests=pathlib.Path("/"))))
            self.assertTrue(chosen.about["rule"] and chosen.about["files"], path)
            self.assertTrue(all(entry["why"] and entry["tests"] for entry in chosen.about.get("left_out", [])), path)
            self.assertTrue(all(entry.get("on", ["all"]) for entry in chosen.about.get("left_out", [])), path)
            self.assertIn("--hash=sha256:", chosen.locked().read_text(), path)
            self.assertFalse("repository" in chosen.about and "debian_source" in chosen.about, path)
            self.assertEqual("repository" in chosen.about, len(chosen.about.get("commit", "")) == 40, path)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
