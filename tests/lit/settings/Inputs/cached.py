# SPDX-License-Identifier: Apache-2.0
"""The dumped code object is the payload of the cache entry whose digest its name has. Usage: cached.py RUBIA CACHE DUMPS"""
import pathlib
import subprocess
import sys

rubia, cache, dumps = sys.argv[1:]
dumped = next(pathlib.Path(dumps).glob("*.co"))
payload = dumped.with_suffix(".payload")
subprocess.run([rubia, "cache", "--dir", cache, "show", dumped.name.split(".")[-2], "-o", payload], check=True, stdout=subprocess.DEVNULL)
assert payload.read_bytes() == dumped.read_bytes()
payload.unlink()
