# SPDX-License-Identifier: Apache-2.0
"""A profile as JSON is of one piece: its parts add up.

Usage: check_profile.py FILE
"""
import json
import sys

document = json.load(open(sys.argv[1]))
assert document["version"] == 1
(launch,) = document["launches"]
assert launch["version"] == 1
everything = sum(launch["classes"].values())
assert sum(row["cost"]["waves"] for row in launch["code"]) == everything
assert everything - launch["classes"]["wait"] == launch["instructions"]
assert [row["pc"] for row in launch["code"]] == sorted(row["pc"] for row in launch["code"])
own = sum(line["cost"]["waves"] for line in launch["source_lines"])
assert own == sum(row["cost"]["waves"] for row in launch["code"] if "file" in row)
for line in launch["source_lines"]:
    assert line["cost_with_inlined"]["waves"] >= line["cost"]["waves"]
    assert line["file"].endswith("kernels.c") and line["text"]
lanes = launch["divergence"]["vector_instructions_by_active_lanes"]
assert sum(lanes.values()) == launch["divergence"]["vector_instructions"]
assert sum(int(active) * count for active, count in lanes.items()) == launch["divergence"]["active_lanes"]
for kind in ("loads", "stores"):
    assert launch["memory"][kind]["bytes"] > 0 and launch["memory"][kind]["efficiency"] == 1
