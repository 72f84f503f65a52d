# SPDX-License-Identifier: Apache-2.0
"""docs/frameworks.md, of what app.json and tests.json say of each application."""
import json

HEAD = """# Frameworks

This page says how each application of [compatibility.md](compatibility.md) is started, which settings it needs, and
what is known not to work. `tools/test-apps --record` makes it. Programs are started by `rubia run -- PROGRAM`.
Nothing is installed into their environments. The package is that of the Python package index, or of Debian where
that is said.

"""


def counted(number, noun):
    return f"{number} {noun}{'' if number == 1 else 's'}"


def points(about, tests):
    """What there is to say of an application, a sentence or two each."""
    for name, value in about.get("environment", {}).items():
        yield f"It needs `{name}={value}`."
    if "devices" in about:
        yield f"The job has {about['devices']} devices: `rubia run --arch {','.join(['ARCH'] * about['devices'])}`."
    if about.get("cuda_libraries"):
        yield "It finds CUDA's libraries in `LD_LIBRARY_PATH`, as with NVIDIA's driver."
    if "debian" in about:
        owner = "Debian has PyTorch with PTX" if "beside" in about["debian"] else "It is Debian's package, which has PTX"
        yield f"{owner}. The wheels of PyTorch for CUDA 12.6 and 12.8 have none."
    yield from about.get("notes", [])
    if not tests:
        why = f", since {about['tests_not_run']}" if "tests_not_run" in about else ""
        yield "No tests of its own are published." if about.get("no_tests") else f"Its own tests were not run{why}."
        return
    yield f"Own tests: {tests['rule']}."
    for arch, every in tests.get("every", {}).items():
        of_files = every if isinstance(every, dict) else {"*": every}
        yield f"On {arch} 1 in {of_files['*']} of these tests is run, in pytest's order: all would take too long on the emulator."
        others = [f"{'all' if number == 1 else f'1 in {number}'} of `{name}`" for name, number in of_files.items() if name != "*"]
        if others:
            yield f"There it is {', '.join(others)}."
    if tests.get("after_job"):
        yield "The tests begin with what the job compiled, which takes longer than they wait."
    for name, value in tests.get("environment", {}).items():
        yield f"The tests run with `{name}={value}`."
    for entry in tests.get("left_out", []):
        where = f" on {' and '.join(entry['on'])}" if "on" in entry else ""
        yield f"Left out{where}, {counted(len(entry['tests']), 'name')} of tests: {entry['why']}."


def page(folders):
    text = HEAD
    for folder in folders:
        about = json.loads((folder / "app.json").read_text())
        tests = json.loads((folder / "tests.json").read_text()) if (folder / "tests.json").is_file() else None
        text += f"## {about['application']}\n\n"
        for point in points(about, tests):
            text += wrapped(point)
        failed = sorted({name.rpartition("/")[2] for result in about.get("results", []) for name in result.get("tests", {}).get("failures", {})})
        for name in failed:
            text += wrapped(f"Fails: `{name}`.")
        text += "\n"
    return text


def wrapped(sentence, width=116):
    """An item of a list, in lines that are not too long."""
    lines, line = [], "-"
    for word in sentence.split():
        if len(line) + 1 + len(word) > width and line.strip("- "):
            lines.append(line)
            line = " "
        line += " " + word
    return "\n".join([*lines, line]) + "\n"
