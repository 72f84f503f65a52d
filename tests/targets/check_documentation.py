#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the tables of docs/targets.md are those of targets/Targets.def. Usage: check_documentation.py SOURCE_ROOT"""
import pathlib
import sys

root = pathlib.Path(sys.argv[1])
sys.path.insert(0, str(root / "targets"))
import targets

text = (root / "docs/targets.md").read_text()
if targets.tables() not in text:
    sys.exit("docs/targets.md: the tables differ from `python3 targets/targets.py table`; put its output there")
if f"Default: `{targets.DEFAULT}`" not in (root / "settings/Settings.def").read_text():
    sys.exit(f"settings/Settings.def: the default of RUBIA_ARCH is not {targets.DEFAULT}")
