#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two builds of one commit, in folders of other names and lengths and at other times, make packages of the same bytes.

Nothing is taken from ccache, which would give the second build what the first one made. An hour of two cores. The programs are laid
out as those of releases are, where there is llvm-bolt.

Usage: two_builds.py SOURCE CMAKE CPACK
"""
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

from packages import pack
from tree import run


def build(source, commit, folder, cmake, cpack):
    """Packages of a clone at a commit: others may come while the first one is built."""
    clone, out = folder / "source", folder / "out"
    run("git", "clone", "--quiet", "--no-hardlinks", source, clone)
    run("git", "-C", clone, "checkout", "--quiet", "--detach", commit)
    environment = {**os.environ, "CCACHE_DISABLE": "1"}
    layout = "ON" if shutil.which("llvm-bolt-22") else "OFF"
    for words in (("--preset", "release", "-DRUBIA_BUILD_TESTS=OFF", "-DRUBIA_BUILD_BENCHMARKS=OFF", f"-DRUBIA_BOLT={layout}"),
                  ("--build", "--preset", "release")):
        subprocess.run([cmake, *words], cwd=clone, env=environment, check=True)
    return pack(clone / "build/release", cpack, out)


def differences(one, other):
    """What two tarballs do not have in common, a line each: a build takes half an hour, and goes with its folder."""
    def members(path):
        with tarfile.open(path) as archive:
            return {m.name: (m.mode, m.size, m.mtime, m.type, m.linkname, m.isreg() and hashlib.sha256(archive.extractfile(m).read()).hexdigest())
                    for m in archive}, archive.getnames()
    (a, order), (b, other_order) = members(one), members(other)
    for name in sorted(a.keys() | b.keys()):
        if a.get(name) != b.get(name):
            yield f"{name}: {a.get(name)}, {b.get(name)}"
    if order != other_order:
        yield "the files are in another order"


def main():
    source, cmake, cpack = sys.argv[1:4]
    head = subprocess.run(["git", "-C", source, "rev-parse", "--verify", "--quiet", "HEAD"], capture_output=True, text=True)
    if head.returncode:
        print("not a clone: not tested")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        made = []
        for name in ("first", "another/place/with-a-longer-name"):
            (pathlib.Path(folder) / name).mkdir(parents=True)
            made.append(build(source, head.stdout.strip(), pathlib.Path(folder) / name, cmake, cpack))
            time.sleep(1.1)  # another second, that no time of today is in them
        different = [a.name for a, b in zip(*made) if a.read_bytes() != b.read_bytes()]
        if different:
            sys.exit("\n".join([f"differ: {', '.join(different)}", *differences(*(tarball for _, tarball in made))]))
        print("the same bytes:", *(file.name for file in made[0]))


if __name__ == "__main__":
    main()
