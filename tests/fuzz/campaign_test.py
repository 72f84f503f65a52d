# SPDX-License-Identifier: Apache-2.0
"""The book of what fuzzers have tried, and how their ends are counted. Usage: campaign_test.py"""
import argparse
import contextlib
import io
import os
import random
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent))
import campaign
import kernels
import mutants


def row(family, seed, inputs, failures=0, date="2026-01-02", commit="abc"):
    return campaign.Row(date, commit, family, seed, seed, inputs, 5, failures)


class Folder(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.addCleanup(self.temporary.cleanup)
        self.folder = Path(self.temporary.name)

    def script(self, name, text):
        path = self.folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path


class Book(Folder):
    def test_slices_of_a_day_commit_and_family_are_one_row(self):
        rows = []
        for new in [row("ptx", 1, 10), row("ptx", 2, 20, 1), row("streams", 1, 5), row("ptx", 3, 1, commit="def")]:
            campaign.add(rows, new)
        self.assertEqual([(one.family, one.first, one.last, one.inputs, one.failures) for one in rows],
                         [("ptx", 1, 2, 30, 1), ("streams", 1, 1, 5, 0), ("ptx", 3, 3, 1, 0)])
        self.assertEqual((campaign.next_seed(rows, "ptx"), campaign.next_seed(rows, "streams"), campaign.next_seed(rows, "cache")), (4, 2, 1))

    def test_is_read_as_it_was_written(self):
        book = self.folder / "book.tsv"
        self.assertEqual(campaign.read_book(book), [])
        rows = [row("ptx", 1, 10), row("compile", 7, 20, 3)]
        campaign.write_book(book, rows)
        self.assertEqual(campaign.read_book(book), rows)

    def test_what_is_no_row_is_refused(self):
        book = self.folder / "book.tsv"
        head = "\t".join(campaign.COLUMNS) + "\n"
        for text in ["", "date\n", head + "2026-01-02\tabc\tptx\t1-2\t10\t5\n", head + "2026-01-02\tabc\tpxt\t1-2\t10\t5\t0\n",
                     head + "2026-01-02\tabc\tptx\t2-1\t10\t5\t0\n"]:
            book.write_text(text)
            with self.assertRaises(ValueError):
                campaign.read_book(book)

    def test_the_one_of_the_repository_is_sound(self):
        self.assertTrue((campaign.HERE / "book.tsv").exists())
        rows = campaign.read_book(campaign.HERE / "book.tsv")
        for family in campaign.GOALS:
            self.assertIn(family, campaign.summary(rows))


class Ends(Folder):
    def run_script(self, text):
        return campaign.run([self.script("fuzzer", text)], 1, io.StringIO())

    def test_counts(self):
        self.assertEqual(self.run_script("echo 'stat::number_of_executed_units: 1234'"), (1234, 0))
        self.assertEqual(self.run_script("echo 'gfx1: 100 streams, 20 of them to their end'; echo 'gfx2: 7 streams, 0'; echo '0 failures, seed 3'"), (107, 0))
        self.assertEqual(self.run_script("echo 'precompile: 80 mutants, seed 3'; echo '2 failures'; exit 1"), (80, 2))

    def test_what_earlier_runs_kept_does_not_count(self):
        self.assertEqual(self.run_script("printf '#900\\tINITED cov: 3\\n'; echo 'stat::number_of_executed_units: 1234'"), (334, 0))

    def test_a_crash_is_a_failure(self):
        self.assertEqual(self.run_script("printf '#2\\tINITED\\n#512\\tpulse\\n'; exit 77"), (510, 1))
        self.assertEqual(self.run_script("echo 'stat::number_of_executed_units: 3'; kill -SEGV $$"), (3, 1))

    def test_silence_is_a_failure(self):
        self.assertEqual(self.run_script("true"), (0, 1))

    def test_a_hang_is_a_failure_and_leaves_nobody(self):
        left = self.folder / "left"
        with mock.patch.object(campaign, "GRACE", 0):
            self.assertEqual(self.run_script(f"sleep 100 & echo $! > {left}; echo 'stat::number_of_executed_units: 9'; wait")[1], 1)
        campaign.reap_orphans()  # another test has adopted them
        with self.assertRaises(ProcessLookupError):
            for _ in range(100):
                os.kill(int(left.read_text()), 0)
                subprocess.run(["sleep", "0.05"])

    def test_the_priority_of_the_callers_session_holds(self):
        self.assertEqual(self.run_script("read -r _ _ _ _ _ session _ < /proc/$$/stat; echo \"gfx1: $session streams, 0\""), (os.getsid(0), 0))


class Slices(Folder):
    def seconds_of(self, text):
        script = self.script("fuzzer", text + "; echo 'stat::number_of_executed_units: 1'")
        with mock.patch.object(campaign.Fuzzers, "commands", lambda *_: [lambda *_: [script]]):
            return campaign.slice_of(campaign.Fuzzers(self.folder), "ptx", 1, 1, io.StringIO()).seconds

    def test_seconds_are_those_of_the_processor(self):
        self.assertEqual(self.seconds_of("sleep 1.5"), 0)
        self.assertGreaterEqual(self.seconds_of("python3 -c 'import time\nwhile time.process_time() < 1.1: pass'"), 1)

    def test_seconds_are_those_of_orphans_too(self):
        campaign.adopt_orphans()
        spin = "python3 -c 'import time\nwhile time.process_time() < 1.1: pass' >/dev/null 2>&1"
        self.assertGreaterEqual(self.seconds_of(f"setsid {spin} & sleep 0.1"), 1)


class Campaign(Folder):
    def test_goes_on_where_the_book_ends(self):
        good = self.script("good", "echo 'stat::number_of_executed_units: 10'")
        bad = self.script("bad", "echo 'stat::number_of_executed_units: 1'; exit 1")
        seeds = []

        def commands(_, family):
            def make(seed, _):
                seeds.append((family, seed))
                return [good if family == "ptx" else bad]
            return [make]
        options = argparse.Namespace(build=self.folder, families=["ptx", "cache"], minutes=1, slice=1, book=self.folder / "book.tsv")
        ticks = iter(range(0, 10**6, 8))
        with mock.patch.object(campaign.Fuzzers, "commands", commands), mock.patch.object(campaign.time, "monotonic", lambda: next(ticks)), \
                contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(campaign.campaign(options), 1)
        rows = campaign.read_book(options.book)
        turns = {family: [seed for name, seed in seeds if name == family] for family in options.families}
        self.assertEqual(turns["ptx"], list(range(1, len(turns["ptx"]) + 1)))
        self.assertTrue(turns["cache"])
        self.assertEqual([(one.family, one.inputs, one.failures) for one in rows],
                         [("ptx", 10 * len(turns["ptx"]), 0), ("cache", len(turns["cache"]), len(turns["cache"]))])
        self.assertIn("bad", (self.folder / "fuzz-failures/log").read_text())

    def test_ends_at_the_goals(self):
        options = argparse.Namespace(build=self.folder, families=["ptx", "cache"], minutes=9, slice=1, book=self.folder / "book.tsv")
        good = self.script("good", "echo 'stat::number_of_executed_units: 10'")
        with mock.patch.object(campaign.Fuzzers, "commands", lambda *_: [lambda seed, seconds: [good]]), \
                mock.patch.object(campaign, "GOALS", {**campaign.GOALS, "ptx": 10, "cache": 30}), contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(campaign.campaign(options), 0)
        self.assertEqual([(one.family, one.inputs) for one in campaign.read_book(options.book)], [("ptx", 10), ("cache", 30)])

    def test_all_families_have_commands(self):
        fuzzers = campaign.Fuzzers(self.folder)
        for family in campaign.GOALS:
            for make in fuzzers.commands(family):
                words = [str(word) for word in make(17, 60)]
                self.assertTrue(any("17" in word for word in words) and any("60" in word for word in words), words)


    def test_all_fuzzers_of_this_folder_have_families(self):
        fuzzers = campaign.Fuzzers(self.folder)
        programs = {Path(make(1, 1)[0]).name for family in campaign.GOALS for make in fuzzers.commands(family)}
        for source in campaign.HERE.glob("Fuzz*.cpp"):
            self.assertIn(f"fuzz_{source.stem[4:].lower()}", programs)


class Mutants(Folder):
    def batch(self, text):
        return mutants.batch(str(self.script("rubia", text)), 0, 5, mutants.seeds()[:3], self.folder / "failures")

    REPORT = 'while [ "$1" != --report ]; do shift; done; echo \'{"kernels": [{"image": "i", "kernel": "k", "reason": "%s"}]}\' > "$2"; exit 3'

    def test_are_the_same_for_a_seed(self):
        texts = mutants.seeds()
        self.assertGreater(len(texts), 10)
        self.assertEqual([mutants.mutant(random.Random("a"), texts) for _ in range(20)], [mutants.mutant(random.Random("a"), texts) for _ in range(20)])
        self.assertGreater(sum(mutants.mutant(random.Random(i), texts) not in texts for i in range(50)), 40)

    def test_an_error_of_a_kernel_is_none_of_ours(self):
        self.assertEqual(self.batch(self.REPORT % "<image>:1:1: error: what crashed: this"), [])
        self.assertEqual(self.batch("exit 1"), [])
        self.assertFalse((self.folder / "failures").exists())

    def test_what_is(self):
        for reason in ["the compiler crashed: Segmentation fault", "the compiler took longer than 60 s", "it ran out of memory (it may take 6 MiB)",
                       "it ended with status 7"]:
            self.assertEqual(len(self.batch(self.REPORT % reason)), 1, reason)
        self.assertEqual(len(self.batch("kill -ABRT $$")), 1)
        with mock.patch.object(mutants, "UNIT_LIMIT", 0.01):
            self.assertEqual(self.batch("exec sleep 10"), ["a hang"])
        self.assertEqual(len(list((self.folder / "failures/mutants-5-0").glob("*.ptx"))), mutants.BATCH)


class Kernels(Folder):
    def batch(self, text):
        return kernels.batch(str(self.script("rubia-random", text)), ["check"], 5)

    def test_every_target_and_form_has_its_turn(self):
        ways = [" ".join(way) for way in kernels.ways()]
        self.assertEqual(len(ways), len(set(ways)))
        for word in ["gfx1100 --form auto", "gfx942 --form packed", "gfx90a --form checked --narrow --repeat", "matrices", "divided"]:
            self.assertTrue(any(word in way for way in ways), word)
        self.assertFalse(any("gfx1100 --form packed" in way for way in ways))

    def test_what_differs_or_does_not_run_is_a_failure(self):
        self.assertEqual(self.batch("echo '38 equal, 0 differ, 0 not run, 2 skipped'"), (38, []))
        self.assertEqual(self.batch("echo '0 equal, 0 differ, 0 not run, 40 not legal in this form'; exit 1"), (0, []))
        for text in ["echo '5 fused: differs'; echo '38 equal, 1 differ, 0 not run, 1 skipped'; exit 1",
                     "echo '5 fused: not run: why'; echo '38 equal, 0 differ, 1 not run, 1 skipped'; exit 1"]:
            count, problems = self.batch(text)
            self.assertEqual((count, len(problems)), (39, 1))
            self.assertIn("check --first 5 --count 40: 5 fused:", problems[0])
        two = "echo '5 a: not run: why'; echo 'and why else'; echo '6 b: differs'; echo '3 equal, 1 differ, 1 not run, 1 skipped'; echo '  b: 1'; exit 1"
        self.assertEqual([problem.split(": ", 1)[1] for problem in self.batch(two)[1]], ["5 a: not run: why\nand why else", "6 b: differs"])
        self.assertEqual(len(self.batch("kill -SEGV $$")[1]), 1)
        with mock.patch.object(kernels, "LIMIT", 0.001):
            self.assertEqual(len(self.batch("exec sleep 10")[1]), 1)


if __name__ == "__main__":
    unittest.main()
