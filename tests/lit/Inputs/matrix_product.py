# SPDX-License-Identifier: Apache-2.0
"""Operands and results of examples/matrix/gemm.py, in whole numbers: sums are exact in any order.

    matrix_product.py write A B M N K      M x K and N x K of f16
    matrix_product.py check A B C M N K    whether C, of f32, is A * B^T
"""
import random
import struct
import sys


def read(path, code):
    data = open(path, "rb").read()
    return struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)


def write(a, b, m, n, k):
    values = random.Random(1)
    for path, rows in ((a, m), (b, n)):
        numbers = [values.randint(-4, 4) for _ in range(rows * k)]
        open(path, "wb").write(struct.pack(f"<{len(numbers)}e", *numbers))


def check(a, b, c, m, n, k):
    a, b, c = read(a, "e"), read(b, "e"), read(c, "f")
    rows = [a[i * k:(i + 1) * k] for i in range(m)]
    columns = [b[j * k:(j + 1) * k] for j in range(n)]
    wrong = 0
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            expected = sum(map(float.__mul__, row, column))
            if c[i * n + j] != expected:
                wrong += 1
                if wrong < 5:
                    print(f"row {i}, column {j}: {c[i * n + j]}, expected {expected}")
    print(f"{m * n - wrong} of {m * n} right")


def main():
    paths = 2 if sys.argv[1] == "write" else 3
    arguments = sys.argv[2:2 + paths] + [int(number) for number in sys.argv[2 + paths:]]
    (write if sys.argv[1] == "write" else check)(*arguments)


main()
