# SPDX-License-Identifier: Apache-2.0
"""Runs a HIP program as one that was linked with HIP 5, with HIP 6 and with HIP 7: copies that differ in the name of the library. All
must succeed and say the same, which is said once. Usage: each_version.py PROGRAM ARGS..."""
import os
import subprocess
import sys

program = sys.argv[1]
with open(program, "rb") as file:
    linked = file.read()
said = {}
for major in (5, 6, 7):
    copy = f"{program}.{major}"
    with open(copy, "wb") as file:
        file.write(linked.replace(b"libamdhip64.so.5", b"libamdhip64.so.%d" % major))
    os.chmod(copy, 0o755)
    run = subprocess.run([copy] + sys.argv[2:], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"as HIP {major}: exit {run.returncode}\n{run.stdout}{run.stderr}")
    said[major] = run.stdout
    os.remove(copy)
if len(set(said.values())) != 1:
    sys.exit(f"the versions differ: {said}")
print(said[5], end="")
