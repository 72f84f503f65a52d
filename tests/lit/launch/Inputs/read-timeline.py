#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is in files of RUBIA_TIMELINE, in an order that does not hang on the clock."""
import json
import sys

for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        events = json.load(file)
    spans = [event for event in events if event["ph"] == "X"]
    assert all(event["dur"] >= 0 for event in spans)
    for event in events:
        if event["name"] == "process_name":
            print("process", event["args"]["name"])
    seen = set()
    for event in spans:
        if event["cat"] == "api" and event["name"] not in seen:
            seen.add(event["name"])
            print("api", event["name"])
    launches = [event for event in spans if event["name"].startswith("cuLaunchKernel")]
    for event in spans:
        if event["cat"] == "compile":
            within = [one for one in launches if one["tid"] == event["tid"] and one["ts"] <= event["ts"]
                      and event["ts"] + event["dur"] <= one["ts"] + one["dur"]]
            print("compile", "in cuLaunchKernel" if within else "elsewhere")
        if event["cat"] == "kernel":
            assert event["ts"] >= min(one["ts"] for one in launches), (event, launches)
            print("kernel behind the launch's begin")
    for event in events:
        if event["name"] == "thread_name":
            print("track", event["args"]["name"])
