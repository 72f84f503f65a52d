#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A set-user-ID program takes nothing from its caller's environment: no worker, library, folder or file.

Usage: secure.py PROBE LIBCUDA. Skipped (77) where set-user-ID programs cannot be made.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

OTHER = 12345


def run(probe, libcuda, folder, user):
    """What the probe does and the names of the files that the environment made it write."""
    harm = folder / "harm"
    shutil.rmtree(harm, ignore_errors=True)
    harm.mkdir()
    environment = {
        "RUBIA_CACHE_DIR": str(harm / "cache"),
        "RUBIA_EMULATOR_LAUNCHES": str(harm / "launches"),
        "RUBIA_DEVICE": "emulator",
        "HOME": str(harm),
    }
    done = subprocess.run([probe, libcuda], env=environment, user=user, capture_output=True, text=True, timeout=120)
    return done, sorted(p.name for p in harm.iterdir())


def fails(probe, libcuda, user, variable):
    """Whether the variable counts: it names a file that does not exist, so that nothing works then."""
    environment = {variable: "/nonexistent/file", "RUBIA_CACHE_DISABLE": "1", "HOME": "/nonexistent"}
    done = subprocess.run([probe, libcuda], env=environment, user=user, capture_output=True, text=True, timeout=120)
    return done.returncode != 0


def main():
    if os.geteuid() != 0:
        print("only the superuser can make a set-user-ID program of another user")
        sys.exit(77)
    libcuda = sys.argv[2]
    for folder in pathlib.Path(libcuda).resolve().parents:
        if not folder.stat().st_mode & 0o001:
            print("other users cannot come to the libraries: only their owner may enter", folder)
            sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        probe = folder / "probe"
        shutil.copy(sys.argv[1], probe)

        # The same as the superuser itself: there the environment counts, so the test can fail.
        files = ("RUBIA_HIP_LIBRARY", "RUBIA_WORKER")
        probe.chmod(0o755)
        done, harm = run(probe, libcuda, folder, 0)
        assert "AT_SECURE 0" in done.stdout and done.returncode == 0, done.stdout + done.stderr
        assert harm == ["cache", "launches"], harm
        for variable in files:
            assert fails(probe, libcuda, 0, variable), variable

        probe.chmod(0o4755)
        done, harm = run(probe, libcuda, folder, OTHER)
        if "AT_SECURE 1" not in done.stdout:
            print("set-user-ID has no effect in", folder)
            sys.exit(77)
        assert done.returncode == 0, done.stdout + done.stderr
        assert not harm, harm
        for variable in files:
            assert not fails(probe, libcuda, OTHER, variable), variable
        print("the environment had no effect:", done.stdout)


main()
