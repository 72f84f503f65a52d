#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""census.py RUBIA FOLDER LIBRARY...: how many kernels in libraries' PTX become code without an error, and what stops the others.

    census.py build/dev/bin/rubia /tmp/census --arch gfx942 /usr/local/cuda/lib64/lib{cublas,cusparse}.so.1?

Asks `rubia inspect`, which takes all steps up to LLVM's code generator. Kernels that call functions which their text only declares are linked
with such functions first, as a program links them with its own: each gets a body of its signature that gives its first argument or zero, and
the stand-in for nvlink joins the two. FOLDER keeps a report for each library, so that a census that ended goes on, and what is taken out of
the libraries, which is theirs: it must lie outside of the repository. Prints a table in Markdown, and one of what is refused.
"""
import argparse
import collections
import hashlib
import json
import pathlib
import re
import subprocess
import sys

UNLINKED = "which has no body here"
TEXTURE = re.compile(r"\b(?:tex|tld4|txq|suld|sust|sured|suq)\.")
DRIVER = {"vprintf", "malloc", "free", "__assertfail"}  # what CUDA's driver defines
EXTERN = re.compile(r"^\.extern \.func\s+(?:\(([^)]*)\)\s*)?([\w$]+)\s*(?:\(([^)]*)\))?[^;{]*;", re.MULTILINE)
PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(\w+)\s+([\w$]+)(\[\d+\])?")


def inspected(options, file, report):
    """The kernels of a file, as `rubia inspect --json` has them."""
    if not report.exists():
        ran = subprocess.run([options.rubia, "inspect", "--arch", options.arch, "--json", "--mangled", file], capture_output=True, text=True)
        if not ran.stdout.startswith("{"):
            sys.exit(f"census.py: {file}: {ran.stderr.strip()}")
        report.write_text(ran.stdout)
    kernels = []
    for entry in json.loads(report.read_text())["files"]:
        for module in entry.get("modules", []):
            kernels += module.get("kernels", [])
    return kernels


def body_of(results, name, parameters):
    """A function with the signature of a declaration. Its result is its first argument where that has the type, else zero."""
    result, arguments = PARAMETER.findall(results or ""), PARAMETER.findall(parameters or "")
    lines = []
    for kind, into, size in result:
        if size:  # a structure, whose bytes are zeros
            lines += [f"st.param.b8 [{into}+{i}], 0;" for i in range(int(size[1:-1]))]
            continue
        given = next((argument for other, argument, array in arguments if other == kind and not array), None)
        lines.append(f".reg .{kind} %r;" + (f" ld.param.{kind} %r, [{given}];" if given else f" mov.{kind} %r, 0;") + f" st.param.{kind} [{into}], %r;")
    head = f"({results.strip()}) " if result else ""
    return f".visible .func {head}{name}({(parameters or '').strip()})\n{{\n" + "\n".join(lines) + "\nret;\n}\n"


def linked(options, library, folder):
    """The kernels of those of a library's images that declare functions without a body, once such functions are linked."""
    images, kernels = folder / "images", []
    if not (images / "done").exists():
        subprocess.run([options.rubia, "extract", library, "-o", images], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (images / "done").touch()
    nvlink = options.rubia.parent.parent / "lib/rubia/standins/bin/nvlink"
    for path in sorted(images.rglob("*.ptx")):
        text = path.read_text(errors="replace").rstrip("\0")
        declared = [function for function in EXTERN.findall(text) if function[1] not in DRIVER]
        if not declared or not re.search(r"^(?:\.visible |\.weak )*\.entry", text, re.MULTILINE):
            continue
        head = "\n".join(re.findall(r"^\.(?:version|target|address_size)\b.*$", text, re.MULTILINE))
        mine, joined = folder / f"{path.name}.functions.ptx", folder / f"{path.name}.cubin"
        mine.write_text(head + "\n" + "".join(body_of(*function) for function in declared))
        target = re.search(r"^\.target\s+(\w+)", text, re.MULTILINE).group(1)
        ran = subprocess.run([nvlink, f"-arch={target}", path, mine, "-o", joined], capture_output=True, text=True)
        if ran.returncode:
            print(f"census.py: {path}: {ran.stderr.strip()}", file=sys.stderr)
        else:
            kernels += inspected(options, joined, folder / f"{path.name}.json")
    return kernels


def replaced(kernels, joined):
    """The kernels, those that must be linked as they are in linked images; these have others too. What is in none of them stays as it is."""
    found = collections.defaultdict(list)
    for kernel in joined:
        found[kernel["name"]].append(kernel)
    return [found[kernel["name"]].pop() if UNLINKED in kernel.get("reason", "") and found[kernel["name"]] else kernel for kernel in kernels]


def form_of(reason):
    """Reasons of several kernels that differ in names and places only are one."""
    text = re.sub(r"^.*?(?:error: )", "", reason.splitlines()[0])
    text = re.sub(r"'[\w$]{12,}'", "'...'", text)
    return re.sub(r"\b\d{4,}\b", "N", text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rubia", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("libraries", type=pathlib.Path, nargs="+")
    parser.add_argument("--arch", default="gfx942")
    options = parser.parse_args()
    options.rubia = options.rubia.absolute()

    rows, refused = [], collections.Counter()
    for library in options.libraries:
        folder = options.folder.absolute() / f"{library.name}-{hashlib.sha256(bytes(library.resolve())).hexdigest()[:8]}"
        folder.mkdir(parents=True, exist_ok=True)
        kernels = inspected(options, library, folder / "library.json")
        if not kernels:
            continue
        unlinked = sum(UNLINKED in kernel.get("reason", "") for kernel in kernels)
        if unlinked:
            kernels = replaced(kernels, linked(options, library, folder))
        works = sum(kernel["works"] for kernel in kernels)
        reasons = [form_of(kernel["reason"]) for kernel in kernels if not kernel["works"]]
        where = [re.sub(r"^.*?: ", "", place) for kernel in kernels if kernel["works"] for place in kernel.get("refused", [])]
        refused.update((library.name, reason) for reason in reasons)
        ending = sum(bool(kernel.get("refused")) for kernel in kernels)
        rows.append((library.name, len(kernels), works, unlinked, ending))
        print(f"{library.name}: {works} of {len(kernels)}, {unlinked} of them linked first; {ending} have instructions that are refused: "
              f"{dict(collections.Counter(form_of(place) for place in where))}", file=sys.stderr, flush=True)

    print("| library | kernels with PTX | work | of these linked first |")
    print("| --- | ---: | ---: | ---: |")
    for name, count, works, unlinked, _ in rows:
        print(f"| {name} | {count:,} | {works:,} | {unlinked:,} |")
    count, works = sum(row[1] for row in rows), sum(row[2] for row in rows)
    print(f"| all | {count:,} | {works:,} | {sum(row[3] for row in rows):,} |")
    print(f"\n{100 * works / max(count, 1):.3f} % work.\n")
    for (name, reason), times in refused.most_common():
        print(f"- {name}, {times}: {reason}")
    return works < count


sys.exit(main())
