#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The JSON of commands: what docs/schemas has, with a version and keys in snake_case. Status 77 where there is no jsonschema.

Usage: json_schemas.py RUBIA SOURCE
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("the package jsonschema is not installed: not tested")
    sys.exit(77)

KEY = re.compile(r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")


def wrong_keys(value, place=""):
    """Keys that are no snake_case; those of `verdicts` are verdicts."""
    if isinstance(value, list):
        return [key for i, element in enumerate(value) for key in wrong_keys(element, f"{place}[{i}]")]
    if not isinstance(value, dict):
        return []
    own = [f"{place}.{key}" for key in value if not KEY.match(key) and not place.endswith(".verdicts")]
    return own + [key for name, element in value.items() for key in wrong_keys(element, f"{place}.{name}")]


def main():
    rubia, source = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        kernels = source / "tests/lit/Inputs/mangled_kernels.py"
        text = subprocess.run([sys.executable, kernels, "--unsupported"], capture_output=True, check=True).stdout
        (folder / "bad.ptx").write_bytes(text)
        (folder / "damaged.ptx").write_bytes(text.replace(b"ld.param", b"ld.parm"))
        good = folder / "good.ptx"
        good.write_bytes(subprocess.run([sys.executable, kernels], capture_output=True, check=True).stdout)
        subprocess.run([rubia, "compile", good, "--arch", "gfx942", "-o", folder / "objects"], check=True)
        commands = {"inspect": ["inspect", "--json", "-r", folder, source / "examples/prebuilt"], "doctor": ["doctor", "--json"]}
        errors = []
        for name, words in commands.items():
            schema = json.loads((source / f"docs/schemas/{name}.schema.json").read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            done = subprocess.run([rubia, *map(str, words)], capture_output=True, text=True)
            document = json.loads(done.stdout)
            errors += [f"{name}: {error.json_path}: {error.message}" for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]
            errors += [f"{name}: {key}: no snake_case" for key in wrong_keys(document)]
            if "version" not in document:
                errors.append(f"{name}: no version")
        print("\n".join(errors))
        schemas = {path.name.removesuffix(".schema.json") for path in (source / "docs/schemas").iterdir()}
        if schemas != set(commands):
            sys.exit(f"schemas {schemas}, commands {set(commands)}")
        sys.exit(bool(errors))


if __name__ == "__main__":
    main()
