#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The application with the fewest packages is installed and does its job, where a package index can be reached. Usage: smallest_application.py RUBIA
SOURCES FOLDER"""
import json
import pathlib
import subprocess
import sys
import tempfile

NAME, PROBE = "drjit", "iniconfig"  # a package of 10 KB
PYTHON = (3, 11)  # tests/apps/NAME/requirements.txt has the hashes of files for it


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def pip_works():
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "pip", "--retries", "0", "--timeout", "10", "download", "--quiet", "--no-deps", "--dest", folder, PROBE]
        return subprocess.run(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300).returncode == 0


def main(rubia, sources, folder):
    if sys.version_info[:2] != PYTHON:
        skip(f"the packages are locked for Python {PYTHON[0]}.{PYTHON[1]}")
    if subprocess.run([sys.executable, "-c", "import ensurepip, venv"], stderr=subprocess.DEVNULL).returncode:
        skip("this Python makes no environments (python3-venv is not installed)")
    if not pip_works():
        skip("no package index can be reached")
    done = subprocess.run([sys.executable, "-B", f"{sources}/tools/test-apps", NAME, "--arch", "gfx1100", "--part", "job", "--into", folder, "--rubia", rubia],
                          stdout=subprocess.PIPE, text=True)
    print(done.stdout)
    assert done.returncode == 0, "the job does not work"
    result = json.loads(done.stdout.partition(": ")[2])
    assert result["job"] == "works" and result["kernels"] > 10 and not result["foretold"]["differ"], result


if __name__ == "__main__":
    main(*sys.argv[1:])
