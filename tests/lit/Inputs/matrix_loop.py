# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of the loop that multiplies matrices, in a code object.

    matrix_loop.py OBJECT LDS VECTOR

LDS and VECTOR: how many LDS and vector ALU instructions there may be for each matrix instruction. Fails if there are more, if
there is no such loop, or if the code spills.
"""
import re
import subprocess
import sys


def instructions(path):
    """(address, mnemonic, target of a branch or None) in order."""
    text = subprocess.run(["llvm-objdump", "-d", path], check=True, capture_output=True, text=True).stdout
    start, result = None, []
    for line in text.splitlines():
        if symbol := re.match(r"([0-9a-f]+) <[^>]+>:", line):
            start = int(symbol[1], 16)
        found = re.match(r"\s+(\w+).*// ([0-9A-F]+):", line)
        if not found:
            continue
        target = re.search(r"<[^>+]+(?:\+0x([0-9a-f]+))?>$", line)
        to = start + int(target[1] or "0", 16) if target and found[1].startswith("s_cbranch") else None
        result.append((int(found[2], 16), found[1], to))
    return result


def is_matrix(name):
    return name.startswith(("v_wmma", "v_mfma"))


def matrix_loop(code):
    """The smallest loop with all matrix instructions of the largest number in any loop."""
    best = []
    for address, _, target in code:
        if target is None or target >= address:
            continue
        body = [name for at, name, _ in code if target <= at <= address]
        products = sum(map(is_matrix, body))
        if products and (not best or (products, -len(body)) > (sum(map(is_matrix, best)), -len(best))):
            best = body
    return best


def spills(path):
    notes = subprocess.run(["llvm-readelf", "--notes", path], check=True, capture_output=True, text=True).stdout
    return [int(number) for number in re.findall(r"(?:vgpr_spill_count|private_segment_fixed_size): *(\d+)", notes)]


def main():
    path, most_lds, most_vector = sys.argv[1], float(sys.argv[2]), float(sys.argv[3])
    body = matrix_loop(instructions(path))
    products = sum(map(is_matrix, body))
    if not products:
        sys.exit("no loop with matrix instructions")
    lds = sum(name.startswith("ds_") for name in body)
    vector = sum(name.startswith("v_") and not is_matrix(name) and name != "v_nop" for name in body)
    print(f"{products} products, {lds} LDS ({lds / products:.2f}), {vector} vector ({vector / products:.2f})")
    if lds > most_lds * products or vector > most_vector * products:
        sys.exit(f"more than {most_lds} LDS or {most_vector} vector instructions for each product")
    if any(spills(path)):
        sys.exit(f"spills: {spills(path)}")


main()
