#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the parameters of every function of the driver API, in the order of Functions.def, as calls are logged with them: those of
runtime/cuda's definitions. A function that is not defined there has none.

    generate_calls.py SOURCE_ROOT OUTPUT

A parameter is a letter, a colon and a name: i and u numbers of 32 bits (signed, unsigned), b and h of 8 and 16, U of 64, f of single
precision, p a pointer or handle, s a text, o and O pointers to 32 and 64 bits that the function may write, M a structure of 64 bytes.
"""
import pathlib
import re
import sys

DEFINITION = re.compile(r"^Result (cu[A-Z]\w*)\(([^;{]*?)\)\s*\{", re.MULTILINE | re.DOTALL)
NUMBERS = {"int": "i", "Result": "i", "unsigned": "u", "uint32_t": "u", "unsigned char": "b", "unsigned short": "h", "size_t": "U", "uint64_t": "U",
           "unsigned long long": "U", "ObjectHandle": "U", "MemoryLocation": "U", "float": "f", "DynamicShared": "p", "LogCallback": "p",
           "HostFunction": "p", "HipIpcHandle": "M"}
WRITTEN = {"int": "o", "unsigned": "o", "uint32_t": "o", "float": "o", "size_t": "O", "uint64_t": "O", "unsigned long long": "O", "ObjectHandle": "O"}


def split(parameters):
    """At commas that are in no parentheses."""
    parts, depth = [""], 0
    for c in " ".join(parameters.split()):
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts if part.strip()]


def kind(of, stars):
    if not stars:
        return NUMBERS[of]
    if of.startswith("const "):
        return "s" if of == "const char" and stars == 1 else "p"
    return "O" if stars == 2 else WRITTEN.get(of, "p")


def parameter(position, text):
    function = re.search(r"\(\*(\w*)\)", text)
    if function:
        return f"p:{function[1] or f'argument{position}'}"
    match = re.fullmatch(r"(.*?)(\b[a-z]\w*)?", text)
    of, name = match[1].strip(), match[2]
    if not of:  # a type alone
        of, name = text, None
    stars = of.count("*")
    of = of.replace("*const ", "*").rstrip("* ").strip()
    if name in ("char", "short", "int", "long", "unsigned") or (not stars and f"{of} {name}" in NUMBERS):
        of, name = text, None
    return f"{kind(of, stars)}:{name or f'argument{position}'}"


def main():
    root, output = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    functions = {}
    for path in sorted((root / "runtime/cuda").rglob("*.cpp")):
        for name, parameters in DEFINITION.findall(path.read_text()):
            functions[name] = " ".join(parameter(*one) for one in enumerate(split(parameters)))
    lines = []
    for symbol in re.findall(r"^CUDA_FUNCTION\((\w+),", (root / "runtime/cuda/Functions.def").read_text(), re.MULTILINE):
        known = functions.get(symbol)
        lines.append(f'/* {symbol} */ ' + ("nullptr," if known is None else f'"{known}",'))
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
