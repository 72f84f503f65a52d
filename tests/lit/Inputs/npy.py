# SPDX-License-Identifier: Apache-2.0
"""npy.py FILE SHAPE VALUE...: a file of NumPy's with elements of type f32, written without NumPy."""
import struct
import sys

path, shape, values = sys.argv[1], tuple(map(int, sys.argv[2].split(","))), list(map(float, sys.argv[3:]))
header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
header += " " * (63 - (10 + len(header)) % 64) + "\n"
with open(path, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack(f"<{len(values)}f", *values))
