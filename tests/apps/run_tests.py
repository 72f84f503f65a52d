# SPDX-License-Identifier: Apache-2.0
"""Runs tests of an application by pytest and appends what becomes of each to a file, so that a crash loses none.

Usage: run_tests.py RESULTS SECONDS EVERY [ARGUMENTS OF PYTEST...]. Of the tests that pytest selects, each EVERYth is taken, in
pytest's order, the first one too: 50,test/b.py=3 is each 50th, but each third of those in test/b.py. Tests whose outcome stands in RESULTS are not run again. A test that takes more than SECONDS
ends the process.
"""
import collections
import faulthandler
import json
import pathlib
import sys

# This folder has one of each application's name, which would be taken for its package. What a test spawns imports this file, too.
FOLDER = str(pathlib.Path(__file__).resolve().parent)
sys.path[:] = [place for place in sys.path if place != FOLDER]
import pytest  # noqa: E402


class Recorder:
    """A plugin of pytest. Outcomes: passed, failed, skipped (a failure that the application expects is skipped, too)."""

    def __init__(self, path, seconds, every):
        lines = path.read_text().splitlines() if path.is_file() else []
        self.done = {entry["test"] for entry in map(json.loads, lines) if "outcome" in entry}
        self.file, self.seconds = open(path, "a"), seconds
        self.every, *of_files = every.split(",")
        self.every_of = dict(words.split("=") for words in of_files)

    def write(self, **entry):
        self.file.write(json.dumps(entry) + "\n")
        self.file.flush()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        seen, taken = collections.Counter(), []
        for item in items:
            file = item.nodeid.partition("::")[0]
            every = self.every_of.get(file)
            group = file if every else None  # the others are counted together
            if seen[group] % int(every or self.every) == 0 and item.nodeid not in self.done:
                taken.append(item)
            seen[group] += 1
        items[:] = taken
        self.write(collected=[item.nodeid for item in items])

    def pytest_configure(self, config):
        self.left_out = tuple(config.getoption("deselect") or ())

    def pytest_deselected(self, items):
        """Those of the rule (-k, -m) are none of the selection."""
        self.write(left_out=[item.nodeid for item in items if item.nodeid.startswith(self.left_out)])

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(test=report.nodeid, outcome="failed", why=str(report.longrepr).strip().splitlines()[-1])

    def pytest_runtest_logstart(self, nodeid):
        self.outcome, self.why = "passed", ""
        self.write(started=nodeid)
        faulthandler.dump_traceback_later(self.seconds, exit=True)

    def pytest_runtest_logreport(self, report):
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            self.outcome, self.why = "failed", (crash.message if crash else str(report.longrepr).strip()).replace("\0", "")
        elif report.skipped and self.outcome != "failed":
            self.outcome, self.why = "skipped", report.longrepr[-1] if isinstance(report.longrepr, tuple) else "expected to fail"

    def pytest_runtest_logfinish(self, nodeid):
        faulthandler.cancel_dump_traceback_later()
        self.write(test=nodeid, outcome=self.outcome, why=self.why)


if __name__ == "__main__":
    sys.path.insert(0, FOLDER)
    import programs

    sys.path.pop(0)
    recorder = Recorder(pathlib.Path(sys.argv[1]), float(sys.argv[2]), sys.argv[3])
    status = pytest.main(["-p", "no:cacheprovider", "--capture=sys", "--continue-on-collection-errors", *sys.argv[4:]], plugins=[recorder, programs])
    recorder.write(ended=int(status))
