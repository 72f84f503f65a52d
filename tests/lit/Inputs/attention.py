# SPDX-License-Identifier: Apache-2.0
"""Operands of examples/matrix/attention.py, whose results attention_check.c checks.

    attention.py Q K V ROWS
"""
import random
import struct
import sys

HEAD = 64

values = random.Random(2)
rows = int(sys.argv[4])
for path in sys.argv[1:4]:
    numbers = [values.gauss(0, 1.5) for _ in range(rows * HEAD)]
    open(path, "wb").write(struct.pack(f"<{len(numbers)}e", *numbers))
