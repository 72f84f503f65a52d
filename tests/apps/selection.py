# SPDX-License-Identifier: Apache-2.0
"""A selection of an application's own tests, which tools/test-apps runs under `rubia run`.

tests/apps/NAME/tests.json says where the tests are: in the installed packages, in the application's public repository at a
commit, or in the source of a package of Debian; "root" says that they are in the packages though files of the repository are
needed, too. It names whole files, chosen by its "rule", and the tests that are left out, each with a reason, some of them "on"
these targets only. A rule that was changed after a run says so. "every" says for targets on which all would take too long on the
emulator: each nth test of those is taken, of some files more or fewer than of the others ("*"). With "after_job" the tests find
what the job compiled, as one whose tests wait for no compiler needs.
tests.in and tests.txt are the packages that they need beside the application's. No test is copied into this repository.
"""
import json
import pathlib
import re
import subprocess
import sys
import tarfile

NEEDED = 0.95  # of the tests that ran, for the verdict

# Nothing leaves the folder. Python 3.11.2, which Debian 12 has, knows no filters.
DATA_FILTER = getattr(tarfile, "data_filter", None)


class Selection:
    def __init__(self, app):
        self.app = app
        self.about = json.loads((app.folder / "tests.json").read_text())
        self.folder, self.packages = app.place.tests / "files", app.place.tests / "packages"

    @staticmethod
    def of(app):
        return Selection(app) if (app.folder / "tests.json").is_file() else None

    def every(self, arch):
        """As run_tests.py is told."""
        number = self.about.get("every", {}).get(arch, 1)
        of_files = number if isinstance(number, dict) else {"*": number}
        return ",".join([str(of_files["*"]), *(f"{name}={every}" for name, every in of_files.items() if name != "*")])

    def wanted(self):
        """What is installed: it is installed again when this changes."""
        return json.dumps([self.about[key] for key in ("repository", "commit", "debian_source", "paths") if key in self.about]) + self.locked().read_text()

    def locked(self):
        return self.app.folder / "tests.txt"

    def install(self, command, log, local):
        """The packages and files into the folder 'local', where the application sees them as self.app.place.tests."""
        command([sys.executable, "-m", "pip", "install", "--no-deps", "--require-hashes", "--only-binary", ":all:", *self.app.place.index(), "--target",
                 local / "packages", "-r", self.locked()], log)
        if "debian_source" in self.about:
            self.extract(self.app.place.download_source(self.about["debian_source"], self.app.place.tests, command, log), local)
        if "repository" not in self.about:
            return
        bare, commit = local / "repository", self.about["commit"]
        command(["git", "init", "--quiet", "--bare", bare], log)
        address = self.app.options.repositories.format(*self.about["repository"].split("/"))
        command(["git", "--git-dir", bare, "fetch", "--quiet", "--depth", "1", address, commit], log)
        command(["git", "--git-dir", bare, "archive", "--output", local / "files.tar", commit, "--", *self.about["paths"]], log)
        with tarfile.open(local / "files.tar") as archive:
            archive.extraction_filter = DATA_FILTER
            archive.extractall(local / "files")
        (local / "files.tar").unlink()
        command(["rm", "-rf", bare], log)

    def extract(self, path, local):
        """What lies below the paths, without the archive's own folder."""
        with tarfile.open(path) as archive:
            archive.extraction_filter = DATA_FILTER
            for member in archive:
                member.name = member.name.partition("/")[2]
                if any(member.name == path or member.name.startswith(path + "/") for path in self.about["paths"]):
                    archive.extract(member, local / "files")
        path.unlink()

    def arguments(self, root, arch):
        """Of pytest. Paths and names of tests are those below the root."""
        left_out = [f"--deselect={test}" for entry in self.about.get("left_out", []) if arch in entry.get("on", [arch]) for test in entry["tests"]]
        return ["-q", "--rootdir", root, "-c", self.about.get("configuration", "/dev/null"), *self.about.get("arguments", []), *left_out, *self.about["files"]]

    def run(self, start, results):
        """start() runs run_tests.py once and gives its status, or None when the time is over."""
        results.unlink(missing_ok=True)
        seen = -1
        while True:
            status = start()
            entries = self.entries(results)
            if status is None or not entries or "ended" in entries[-1] or len(entries) == seen:
                return self.counts(entries)
            if "started" in entries[-1]:
                # It ended the process: it failed, and the others are run without it.
                why = f"over {self.about.get('test_seconds', 120)} s" if status == 1 else f"ended the process with status {status}"
                with open(results, "a") as file:
                    file.write(json.dumps({"test": entries[-1]["started"], "outcome": "failed", "why": why}) + "\n")
            seen = len(entries)

    @staticmethod
    def entries(results):
        return [json.loads(line) for line in results.read_text().splitlines()] if results.is_file() else []

    @staticmethod
    def reason(why):
        return re.sub(r"/\S*/site-packages/", "", " ".join(why.partition("Traceback")[0].split()))[:200]

    @staticmethod
    def counts(entries):
        """Numbers of outcomes, and the failures with what stands before a traceback. Names of this machine's folders are left
        out. What was collected and did not run failed."""
        collected = next((entry["collected"] for entry in entries if "collected" in entry), [])
        left_out = {test for entry in entries for test in entry.get("left_out", [])}
        outcomes = {entry["test"]: (entry["outcome"], entry["why"]) for entry in entries if "outcome" in entry}
        for test in collected:
            outcomes.setdefault(test, ("failed", "not run"))
        numbers = {outcome: sum(o == outcome for o, _ in outcomes.values()) for outcome in ("passed", "failed", "skipped")}
        return {**numbers, "left_out": len(left_out)}, {test: Selection.reason(why) for test, (outcome, why) in outcomes.items() if outcome == "failed"}


def passes(tests):
    ran = tests["passed"] + tests["failed"]
    return ran > 0 and tests["passed"] >= NEEDED * ran
