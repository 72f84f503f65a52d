# SPDX-License-Identifier: Apache-2.0
"""Operands and results of examples/matrix/attention.py.

    attention.py write Q K V ROWS
    attention.py check Q K V O ROWS CAUSAL     against f64, within 2^-9 of the sum of magnitudes of what is added up
"""
import math
import random
import struct
import sys

HEAD = 64


def read(path, code):
    data = open(path, "rb").read()
    numbers = struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)
    return [numbers[i:i + HEAD] for i in range(0, len(numbers), HEAD)]


def write(q, k, v, rows):
    values = random.Random(2)
    for path in (q, k, v):
        numbers = [values.gauss(0, 1.5) for _ in range(rows * HEAD)]
        open(path, "wb").write(struct.pack(f"<{len(numbers)}e", *numbers))


def check(q, k, v, o, rows, causal):
    q, k, v, o = read(q, "e"), read(k, "e"), read(v, "e"), read(o, "f")
    columns = list(zip(*v))
    sizes = [[abs(x) for x in column] for column in columns]
    worst = 0.0
    for i in range(rows):
        seen = i + 1 if causal else rows
        scores = [sum(map(float.__mul__, q[i], k[j])) / 8 for j in range(seen)]
        most = max(scores)
        weights = [math.exp(score - most) for score in scores]
        total = sum(weights)
        for column, size, found in zip(columns, sizes, o[i]):
            expected = sum(map(float.__mul__, weights, column[:seen])) / total
            magnitude = sum(map(float.__mul__, weights, size[:seen])) / total
            error = abs(found - expected) / magnitude
            worst = max(worst, error if error == error else math.inf)
    print(f"worst 2^{math.log2(worst) if worst else -99:.1f}: {'within' if worst <= 2 ** -9 else 'beyond'} the bound")


def main():
    paths = 3 if sys.argv[1] == "write" else 4
    arguments = sys.argv[2:2 + paths] + [int(number) for number in sys.argv[2 + paths:]]
    (write if sys.argv[1] == "write" else check)(*arguments)


main()
