#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds switches with a `default:` over operations or targets: what a new one means there is for a person to say.

Usage: check_switches.py SOURCE_ROOT

-Wswitch reports a missing case only where there is no default. What an operation does is asked of the table
(ptx-frontend/Effects.h); a switch that picks a few operations is an `if`.
"""
import pathlib
import re
import sys

FOLDERS = ["input", "fatbin", "ptx-frontend", "lowering", "codegen", "emulator", "runtime", "reference", "standins", "diff", "targets", "settings", "tools"]

# The last name before the enumerator in `case ptx::Result::Pure:`. Operations, modifiers and words of settings are no constant
# expressions (Operation.h). Members of targets are added below.
GUARDED = {
    "Result", "SharedBy", "Group",  # what operations and special registers are
    "Generation", "Float8", "Differs", "Tests",  # what targets are
    "WarpForm", "BarrierForm", "Backend",  # what settings lead to
}

# The type of a member.
MEMBER = re.compile(r"^MEMBER\((\w+), \w+,", re.MULTILINE)

USING = re.compile(r"\busing enum (?:\w+::)*(\w+);")
SKIPPED = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'""", re.DOTALL)
TOKEN = re.compile(r"[{}]|\bcase\s+([\w:]+)\s*:(?!:)|\bdefault\s*:(?!:)")


def switches(text):
    """The line, the enumerations of the labels, and whether there is a default, of each switch. A label without its enumeration
    may be one of each that the file is `using`."""
    text = SKIPPED.sub(lambda match: "\n" * match.group().count("\n"), text)
    used = set(USING.findall(text))
    for start in re.finditer(r"\bswitch\s*\(", text):
        depth, enumerations, has_default = 0, set(), False
        for token in TOKEN.finditer(text, text.index("{", start.end())):
            if token.group() == "{":
                depth += 1
            elif token.group() == "}":
                depth -= 1
                if depth == 0:
                    break
            elif depth > 1:  # of a switch within this one
                continue
            elif token.group(1) is None:
                has_default = True
            elif "::" in token.group(1):
                enumerations.add(token.group(1).split("::")[-2])
            else:
                enumerations |= used
        yield text.count("\n", 0, start.start()) + 1, enumerations, has_default


def main():
    root = pathlib.Path(sys.argv[1])
    members = set(MEMBER.findall((root / "targets/Facts.def").read_text())) - {"bool", "unsigned"}
    if not members:
        sys.exit("no members of targets found")
    guarded = GUARDED | members
    found = errors = 0
    for folder in FOLDERS:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".h", ".cpp", ".def"):
                continue
            for line, enumerations, has_default in switches(file.read_text()):
                found += 1
                for name in sorted(enumerations & guarded) if has_default else []:
                    print(f"{file.relative_to(root)}:{line}: a switch over {name} has a default")
                    errors += 1
    if not found:
        sys.exit("no switches found")
    print(f"{found} switches, {errors} errors")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
