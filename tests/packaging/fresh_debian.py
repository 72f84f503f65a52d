#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""In a fresh root of Debian 12: from the package, and from the tarball, to PASS in less than a minute each, without a compiler.

The package is installed by apt, upgraded, downgraded and purged. Compiled kernels stay of use all the while.
The tarball is unpacked by nobody in particular, and runs on a root that nobody can write.
Needs root, debootstrap and a mirror of Debian; where one of them is missing, nothing is tested (status 77).

Usage: fresh_debian.py BUILD CMAKE CPACK
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from packages import pack

SUFFICIENT_S = 60


def call(*command, **options):
    print("+", *command, flush=True)
    return subprocess.run([str(word) for word in command], check=True, **options)


def inside(root, *command, **options):
    """In the root, with /proc, as root."""
    script = 'mount --make-rprivate / && mount -t proc none "$1/proc" && exec chroot "$@"'
    return call("unshare", "--mount", "sh", "-c", script, "sh", root, *command, **options)


def expect_pass(name, seconds, text):
    print(f"{name}: {seconds:.1f} s\n{text}", flush=True)
    if "PASS vector_add_driver" not in text:
        sys.exit(f"{name}: no PASS")
    if seconds >= SUFFICIENT_S:
        sys.exit(f"{name}: {seconds:.0f} s, expected less than {SUFFICIENT_S}")


def newer(root, deb):
    """The same with a higher version, beside the package."""
    tree, name = root / "tmp/newer", "newer.deb"
    call("dpkg-deb", "--raw-extract", deb, tree)
    control = tree / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*$", "Version: 99.0-1", control.read_text()))
    call("dpkg-deb", "--build", "-Zgzip", "-z1", tree, root / "tmp" / name)
    shutil.rmtree(tree)
    return name


def installed_by_apt(root, deb):
    shutil.copy(deb, root / "tmp" / deb.name)
    begin = time.monotonic()
    inside(root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "install", "-y", f"/tmp/{deb.name}")
    done = inside(root, "/usr/bin/rubia", "run", "/usr/lib/rubia/examples/vector_add_driver", capture_output=True, text=True)
    expect_pass("apt install to PASS", time.monotonic() - begin, done.stdout + done.stderr)
    assert not (root / "usr/bin/cc").exists() and not (root / "usr/bin/gcc").exists()
    for package in (newer(root, deb), deb.name):
        inside(root, "dpkg", "--install", f"/tmp/{package}")
        # Of the cache alone: what the other version has compiled.
        done = inside(root, "env", "RUBIA_COMPILE=never", "/usr/bin/rubia", "run", "/usr/lib/rubia/examples/vector_add_driver",
                      capture_output=True, text=True)
        expect_pass(f"kernels of the cache after {package}", 0, done.stdout + done.stderr)
    inside(root, "dpkg", "--purge", "rubia")
    left = [path for path in root.rglob("*rubia*") if not str(path.relative_to(root)).startswith(("tmp/", "root/.cache/", "var/log/", "proc/"))]
    if left:
        sys.exit(f"left behind: {left}")


INSIDE = """
set -eu
mount --make-rprivate /
mount --bind "$1" "$1"
mount -o remount,bind,ro "$1"
mount -t proc none "$1/proc"
if touch "$1/file" 2> /dev/null; then echo "the root can be written"; exit 1; fi
exec chroot --userspec 65534:65534 --groups= "$1" "$2/bin/rubia" run "$2/lib/rubia/examples/vector_add_driver"
"""


def from_tarball(root, tarball):
    begin = time.monotonic()
    (root / "srv/place").mkdir()
    call("tar", "-xzf", tarball, "-C", root / "srv/place")
    folder = f"/srv/place/{tarball.name.removesuffix('.tar.gz')}"
    done = subprocess.run(["unshare", "--mount", "sh", "-c", INSIDE, "sh", str(root), folder], capture_output=True, text=True,
                          env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"})
    expect_pass("tarball to PASS as nobody on a read-only root", time.monotonic() - begin, done.stdout + done.stderr)
    shutil.rmtree(root / "srv/place")


def main():
    build, _, cpack = sys.argv[1:4]
    if os.geteuid() or not shutil.which("debootstrap"):
        print("needs root and debootstrap: not tested")
        sys.exit(77)
    with tempfile.TemporaryDirectory(dir=build) as folder:
        folder = pathlib.Path(folder)
        root = folder / "root"
        made = subprocess.run(["debootstrap", "--variant=minbase", "bookworm", str(root)], capture_output=True, text=True)
        if made.returncode:
            print(made.stdout[-2000:], made.stderr[-2000:], "no root could be made: not tested")
            sys.exit(77)
        deb, tarball = pack(build, cpack, folder / "packages")
        from_tarball(root, tarball)
        installed_by_apt(root, deb)


if __name__ == "__main__":
    main()
