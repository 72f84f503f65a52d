# SPDX-License-Identifier: Apache-2.0
"""The names in the first table of docs/hardware-assumptions.md: the rows that `rubia doctor --selftest` checks."""
import re
import sys

table = open(sys.argv[1]).read().partition("| row |")[2].partition("\n\n")[0]
print(*re.findall(r"^\| `([a-z0-9-]+)` \|", table, re.M), sep="\n")
