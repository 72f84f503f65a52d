# SPDX-License-Identifier: Apache-2.0
"""What `rubia check` finds in programs, in which form it tells it, and how it exits.
Usage: check.py RUBIA CHECKED-PROGRAM FOLDER-OF-PTX PREBUILT-PROGRAM"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

RUBIA, PROGRAM, FOLDER, CLEAN = sys.argv[1:5]


def check(options, words):
    return subprocess.run([RUBIA, "check", *options, "--", *words], capture_output=True, text=True, timeout=250)


def planted(name, *kernels, first=(), options=()):
    """The exit status, what was reported, and the result as a whole."""
    words = [PROGRAM, f"{FOLDER}/{name}.ptx", *first]
    for kernel in kernels:
        words += [str(word) for word in kernel]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        result = check(["--format", "json", "-o", str(file), *options], words)
        report = json.loads(file.read_text()) if file.exists() else None
    return result, report


def brief(report):
    return [(one["severity"], one["kind"], one.get("thread"), one.get("source", "").split("/")[-1].split(":")[0]) for one in report["reports"]]


class Kinds(unittest.TestCase):
    def one(self, name, kernel, kind, thread, severity="error", launch=(32, 1, 64, 64), options=()):
        result, report = planted(name, (kernel, *launch), options=options)
        self.assertIsNotNone(report, result.stderr)
        self.assertEqual(brief(report), [(severity, kind, thread, name.split(".")[0] + ".cu")], result.stderr)
        self.assertEqual(report["status"], 0, result.stderr)
        self.assertEqual(result.returncode, 1 if severity == "error" else 0)

    def test_race(self):
        _, report = planted("races.planted", ("shared_write_read", 64, 1, 64, 64), options=["--checks", "races"])
        self.assertEqual([one["kind"] for one in report["reports"]], ["data-race"])
        self.assertIn(report["reports"][0]["thread"], ([5, 0, 0], [40, 0, 0]))

    def test_out_of_bounds(self):
        self.one("memory.planted", "store_one_past", "out-of-bounds", [63, 0, 0], launch=(64, 1, 64, 64))

    def test_uninitialised_device_memory(self):
        self.one("global.planted", "global_sum", "uninitialised", [0, 0, 0], launch=(32, 1, 64, 32))

    def test_device_heap(self):
        self.one("heap.planted", "heap_store_past_end", "out-of-bounds", [3, 0, 0])
        self.one("heap.planted", "heap_freed_by_another", "use-after-free", [40, 0, 0], launch=(64, 1, 64, 64))

    def test_hazard_within_a_warp(self):
        self.one("warps.planted", "warp_read_after_write", "warp-hazard", [0, 0, 0])

    def test_invalid_mask(self):
        self.one("warps.planted", "mask_of_shuffle", "invalid-mask", [16, 0, 0])

    def test_assertion(self):
        """The emulator sees waves end, and the program may not look."""
        text = """.version 7.0
.target sm_80
.address_size 64
.extern .func __assertfail(.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 s);
.global .align 1 .b8 text[4] = {111, 104, 33, 0};
.visible .entry fails(.param .u64 p, .param .u32 n, .param .u64 q)
{
  .reg .pred %p;
  .reg .b32 %r;
  .reg .b64 %d;
  mov.u32 %r, %tid.x;
  setp.ne.u32 %p, %r, 9;
  @%p bra done;
  mov.u64 %d, text;
  cvta.global.u64 %d, %d;
  {
    .param .b64 m;
    .param .b64 f;
    .param .b32 l;
    .param .b64 n;
    .param .b64 s;
    st.param.b64 [m], %d;
    st.param.b64 [f], %d;
    st.param.b32 [l], 7;
    st.param.b64 [n], %d;
    st.param.b64 [s], 1;
    call.uni __assertfail, (m, f, l, n, s);
  }
done:
  ret;
}
"""
        with tempfile.TemporaryDirectory() as folder:
            ptx, file = Path(folder) / "fails.ptx", Path(folder) / "report.json"
            ptx.write_text(text)
            result = check(["--format", "json", "-o", str(file)], [PROGRAM, str(ptx), "fails", "32", "2", "64", "0"])
            report = json.loads(file.read_text())
        self.assertEqual([(one["severity"], one["kind"], one["thread"]) for one in report["reports"]], [("error", "assertion", [9, 0, 0])], result.stderr)
        self.assertIn("failed an assertion", report["reports"][0]["message"])
        self.assertEqual((report["errors"], result.returncode), (1, 1))

    def test_warning(self):
        self.one("warps.planted", "warp_store_to_one", "warp-hazard", [1, 0, 0], severity="warning")

    def test_mended_programs_have_no_report(self):
        for name, kernel, block in [("races", "shared_write_read", 64), ("heap", "heap_store_past_end", 32), ("heap", "heap_freed_by_another", 64),
                                    ("warps", "warp_read_after_write", 32), ("warps", "mask_of_shuffle", 32), ("warps", "warp_store_to_one", 32)]:
            result, report = planted(name + ".mended", (kernel, block, 1, 64, 64), options=["--leaks"])
            self.assertEqual(report["reports"], [], result.stderr)
            self.assertEqual(result.returncode, 0)


class GoingOn(unittest.TestCase):
    SEVERAL = ("several_errors", 64, 1, 64, 32)

    ALL = {"uninitialised", "out-of-bounds", "shared-out-of-bounds", "data-race", "warp-hazard"}

    @staticmethod
    def kinds(report):
        return {one["kind"] for one in report["reports"]}

    def test_behind_errors(self):
        result, report = planted("launches.planted", self.SEVERAL)
        self.assertEqual(self.kinds(report), self.ALL, result.stderr)
        self.assertEqual((report["status"], report["errors"], result.returncode), (0, len(report["reports"]), 1))
        self.assertIn("done", result.stdout)
        places = [(one["kind"], one["pc"]) for one in report["reports"]]
        self.assertEqual(len(places), len(set(places)))

    def test_up_to_a_number(self):
        result, report = planted("launches.planted", self.SEVERAL, options=["--max-reports", "2"])
        self.assertEqual(len(report["reports"]), 2, result.stderr)
        self.assertEqual((report["status"], result.returncode), (1, 1))

    def test_only_what_is_asked_for(self):
        _, report = planted("launches.planted", self.SEVERAL, options=["--checks", "races"])
        self.assertEqual(self.kinds(report), self.ALL - {"uninitialised", "warp-hazard"})

    def test_to_other_launches(self):
        _, report = planted("races.planted", ("shared_write_read", 64, 1, 64, 64), ("shared_write_write", 64, 1, 64, 64),
                            options=["--checks", "races"])
        self.assertEqual([one["kernel"] for one in report["reports"]], ["shared_write_read", "shared_write_write"])


class Leaks(unittest.TestCase):
    KERNEL = ("heap_store_past_end", 32, 1, 64, 64)

    def test_are_reported_where_asked_for(self):
        _, report = planted("heap.mended", self.KERNEL, first=["leak"], options=["--leaks"])
        self.assertEqual([(one["kind"], one["bytes"]) for one in report["reports"]], [("leak", 1000)])
        _, report = planted("heap.mended", self.KERNEL, first=["leak"])
        self.assertEqual(report["reports"], [])

    def test_a_forked_copy_owns_nothing(self):
        _, report = planted("heap.mended", self.KERNEL, first=["fork"], options=["--leaks"])
        self.assertEqual(report["reports"], [])


class StandardError(unittest.TestCase):
    """What becomes of a message is none of the program's business."""

    def status(self, error):
        environment = dict(os.environ, RUBIA_EMULATOR_CHECK="memory", RUBIA_EMULATOR_MAX_REPORTS="10")
        words = [PROGRAM, f"{FOLDER}/memory.planted.ptx", "store_one_past", "64", "1", "64", "64"]
        return subprocess.run([RUBIA, "run", "--device", "emulator", "--", *words], stdout=subprocess.PIPE, stderr=error, env=environment, timeout=250)

    def one(self, error):
        result = self.status(error)
        self.assertEqual((result.returncode, result.stdout), (0, b"done\n"))

    def test_is_told(self):
        result = self.status(subprocess.PIPE)
        self.assertIn(b"access outside of any allocation", result.stderr)
        self.assertEqual(result.returncode, 0)

    def test_on_a_full_disk(self):
        with open("/dev/full", "w") as full:
            self.one(full)

    def test_that_nobody_reads(self):
        reader, writer = os.pipe()
        os.close(reader)
        self.one(writer)
        os.close(writer)


class Forms(unittest.TestCase):
    RACE = [PROGRAM, f"{FOLDER}/races.planted.ptx", "shared_write_read", "64", "1", "64", "64"]

    def test_text_is_told_at_once(self):
        result = check(["--checks", "races"], self.RACE)
        self.assertIn("data race", result.stderr)
        self.assertIn("races.cu:", result.stderr)
        self.assertIn("rubia check: 1 error, 0 warnings", result.stderr)
        self.assertEqual(result.returncode, 1)

    def test_xml_is_junit(self):
        result = check(["--format", "xml", "--checks", "races"], self.RACE)
        root = ElementTree.fromstring(result.stdout.split("done\n", 1)[1])
        suite = root.find("testsuite")
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("2", "1"))
        failures = suite.findall("testcase/failure")
        self.assertEqual([failure.get("type") for failure in failures], ["data-race"])
        self.assertIn("shared_write_read", failures[0].get("message"))

    def test_a_clean_program(self):
        result = check([], [CLEAN])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("rubia check: 0 errors, 0 warnings", result.stderr)

    def test_exit_status(self):
        store = [PROGRAM, f"{FOLDER}/warps.planted.ptx", "warp_store_to_one", "32", "1", "64", "64"]
        self.assertEqual(check([], store).returncode, 0)
        self.assertEqual(check(["--fail-on", "warning", "--error-status", "9"], store).returncode, 9)
        self.assertEqual(check([], ["/bin/sh", "-c", "exit 7"]).returncode, 7)
        self.assertEqual(check([], ["/bin/sh", "-c", "kill -TERM $$"]).returncode, 128 + 15)
        self.assertEqual(check(["--checks", "rices"], ["/bin/true"]).returncode, 2)
        self.assertEqual(check([], ["/no/such/program"]).returncode, 1)

    def test_a_file_that_cannot_be_written(self):
        result = check(["--format", "json", "-o", "/no/such/folder/report"], ["/bin/true"])
        self.assertIn("/no/such/folder/report", result.stderr)
        self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
