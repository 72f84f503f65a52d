# SPDX-License-Identifier: Apache-2.0
"""Binary files of numbers: `floats.py write FILE FORMAT VALUE...`, `floats.py read FILE FORMAT` (struct's letters)."""
import struct
import sys

mode, path, letter = sys.argv[1:4]
if mode == "write":
    values = [float(v) if letter in "efd" else int(v, 0) for v in sys.argv[4:]]
    with open(path, "wb") as file:
        file.write(struct.pack(f"<{len(values)}{letter}", *values))
else:
    with open(path, "rb") as file:
        data = file.read()
    count = len(data) // struct.calcsize(letter)
    print(*struct.unpack(f"<{count}{letter}", data))
