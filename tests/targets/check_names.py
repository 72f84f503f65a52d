#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that nothing outside targets/ knows processors by name, and that no test keeps a list of them.

Usage: check_names.py SOURCE_ROOT

- No string in the product is the name of a processor.
- Nothing compares with one, tests included, nor asks how one begins.
- No list has the names of four or more.
- No switch over an enumeration of targets/Target.h has a default: a new generation must be an error where it is missing.
What names processors in EXCEPTIONS does so for the reason there.
"""
import pathlib
import re
import sys

PRODUCT = ("input/", "settings/", "fatbin/", "ptx-frontend/", "lowering/", "codegen/", "emulator/", "runtime/", "reference/", "tools/")
SUFFIXES = {".cpp", ".h", ".def", ".py", ".cmake", ".txt", ".sh", ""}
EXCEPTIONS = {
    "tests/targets/check_names.py": "the rules themselves",
    "tests/emulator/EncodingTest.cpp": "encodings as data: which of them a processor has",
    "tests/lit/lit.cfg.py": "the two processors that the distribution's device libraries know",
}

NAME = r"gfx\d[\w-]*"
LITERAL = re.compile(rf'"{NAME}[":]')
COMPARISONS = [re.compile(pattern) for pattern in (
    rf'[=!]=\s*(?:\w+::)*(?:\w+\()?["\']{NAME}',
    rf'["\']{NAME}["\']\)?\s*[=!]=(?!=)',
    rf'\b(?:starts_with|ends_with|startswith|endswith|consume_front|consume_back|contains|compare|strn?cmp|Case|Cases)\([^()]*["\']gfx\d',
    rf'\b(?:STREQUAL|MATCHES|VERSION_\w+)\s+"?\^?gfx\d',
    r'\bdefined\(__gfx\d',
    rf'\[\s+"?\$\w+"?\s+!?=\s+"?gfx\d',
)]
LIST = re.compile(rf'["\']?{NAME}["\']?(?:[\s,;{{}}()/]+(?:\d+[\s,{{}}]+)?["\']?{NAME}["\']?){{3,}}')
ENUMERATIONS = re.compile(r"case (?:rubia::)?(?:targets::)?(Generation|Accumulators|CachePolicy|HardwareId|Matrix|Float8)::")


def without_comments(text, suffix):
    if suffix in (".cpp", ".h", ".def"):
        return re.sub(r"(?m)(?<![:\"])//.*$", "", text)
    return re.sub(r"(?m)^\s*#.*$", "", text)


def switches(text):
    """The bodies of switches, with the line where each begins."""
    for match in re.finditer(r"\bswitch \(", text):
        at = text.index("{", match.end())
        depth = 0
        for end in range(at, len(text)):
            depth += (text[end] == "{") - (text[end] == "}")
            if not depth:
                yield text.count("\n", 0, match.start()) + 1, text[at:end]
                break


def check(path, text):
    suffix = pathlib.Path(path).suffix
    code = without_comments(text, suffix)
    lines = code.splitlines()
    for number, line in enumerate(lines, 1):
        if "gfx" not in line:  # as in each name, and quicker to see
            continue
        if path.startswith(PRODUCT) and LITERAL.search(line):
            yield f"{path}:{number}: a processor by name: {line.strip()}"
        elif any(c.search(line) for c in COMPARISONS):
            yield f"{path}:{number}: a comparison with a processor's name: {line.strip()}"
    for match in LIST.finditer(code) if "gfx" in code else ():
        if len(set(re.findall(NAME, match[0]))) >= 4:
            yield f"{path}:{code.count(chr(10), 0, match.start()) + 1}: a list of processors: take it from targets/Targets.def"
    if suffix in (".cpp", ".h") and ENUMERATIONS.search(code):
        for number, body in switches(code):
            if ENUMERATIONS.search(body) and re.search(r"\bdefault:", body):
                yield f"{path}:{number}: a default in a switch over targets"


def selfTest():
    """What the rules must find."""
    wrong = {
        "emulator/lib/A.cpp": ['use("gfx1100");', 'if (cpu == "gfx90a")', "switch (g) { case Generation::Rdna1: break; default: break; }"],
        "tests/A.cpp": ['if (cpu.starts_with("gfx9"))', 'if (cpu != std::string("gfx942"))', 'const char *all[] = {"gfx90a", "gfx942",\n "gfx950", "gfx1030"};'],
        "tests/CMakeLists.txt": ["foreach(arch gfx1030 gfx1100 gfx1201 gfx90a)", 'if(arch STREQUAL "gfx1100")'],
        "tests/a.py": ['if arch == "gfx1100":', 'arch.startswith("gfx9")'],
    }
    right = {"tests/A.cpp": ['EXPECT_EQ(name, "gfx1100");', '// as if (cpu == "gfx90a")', 'run("gfx90a"); run("gfx942");'],
             "emulator/lib/A.cpp": ['name.contains("_gfx11")', "// \"gfx1100\""]}
    for path, texts in wrong.items():
        for text in texts:
            if not list(check(path, text)):
                sys.exit(f"the rules miss: {path}: {text}")
    for path, texts in right.items():
        for text in texts:
            if found := list(check(path, text)):
                sys.exit(f"the rules find too much: {found}")


def main():
    selfTest()
    root = pathlib.Path(sys.argv[1])
    folders = ("targets/", "tests/", "benchmarks/", "examples/") + PRODUCT
    files = [f for folder in folders for f in sorted((root / folder).rglob("*"))
             if f.suffix in SUFFIXES and f.is_file() and "build" not in f.relative_to(root).parts]
    errors = []
    checked = 0
    for file in files:
        path = file.relative_to(root).as_posix()
        if path.startswith("targets/") or path in EXCEPTIONS:
            continue
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            continue
        checked += 1
        errors += check(path, text)
    for path in EXCEPTIONS:
        if not (root / path).exists():
            errors.append(f"{path}: an exception for a file that is gone")
    print("\n".join(errors))
    if not checked:
        sys.exit("no files found")
    print(f"{checked} files, {len(errors)} errors")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
