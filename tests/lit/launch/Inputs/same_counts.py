# SPDX-License-Identifier: Apache-2.0
"""Two files of `rubia launch --json` agree in what they count.

Usage: same_counts.py FILE FILE
"""
import json
import sys

first, second = (json.load(open(name))["launches"] for name in sys.argv[1:3])
assert len(first) == len(second) > 0
for one, other in zip(first, second):
    for key in ("version", "kernel", "workgroups", "waves", "instructions", "operations", "occupancy", "grid", "block"):
        assert one[key] == other[key], (key, one[key], other[key])
    one["classes"].pop("wait", None)  # only there where each instruction is looked at
    assert one["classes"] == other["classes"]
    assert sum(other["classes"].values()) == other["instructions"]
    assert sum(operation["waves"] for operation in other["operations"]) == other["instructions"]
