#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/environment.md is what the table of settings makes of it.

Usage: environment.py RUBIA SOURCE_ROOT
"""
import difflib
import pathlib
import subprocess
import sys

page = pathlib.Path(sys.argv[2]) / "docs/environment.md"
made = subprocess.run([sys.argv[1], "help", "environment", "--markdown"], capture_output=True, text=True, check=True).stdout
difference = list(difflib.unified_diff(page.read_text().splitlines(), made.splitlines(), str(page), "settings/Settings.def", lineterm=""))
if difference:
    print("\n".join(difference))
    print("make it anew: rubia help environment --markdown > docs/environment.md")
sys.exit(bool(difference))
