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
# Objects whose keys are data: verdicts, names of counters, fields of a cache key.
MAPS = {"verdicts", "classes", "workgroups_by", "vector_instructions_by_active_lanes", "events", "key"}


def wrong_keys(value, place=""):
    """Keys that are no snake_case."""
    if isinstance(value, list):
        return [key for i, element in enumerate(value) for key in wrong_keys(element, f"{place}[{i}]")]
    if not isinstance(value, dict):
        return []
    own = [f"{place}.{key}" for key in value if not KEY.match(key) and place.rsplit(".", 1)[-1] not in MAPS]
    return own + [key for name, element in value.items() for key in wrong_keys(element, f"{place}.{name}")]


class Documents:
    """What each command writes: its name, as that of its schema, and a document."""

    def __init__(self, rubia, source, folder):
        self.rubia, self.source, self.folder = rubia, source, folder
        self.all = []

    def run(self, *words):
        return subprocess.run([self.rubia, *map(str, words)], capture_output=True, text=True, cwd=self.folder)

    def add(self, name, *words, file=None):
        done = self.run(*words)
        text = (self.folder / file).read_text() if file else done.stdout
        try:
            self.all.append((name, json.loads(text)))
        except json.JSONDecodeError:
            sys.exit(f"{words}: no JSON\n{text}\n{done.stderr}")
        return self.all[-1][1]

    def collect(self):
        kernels = self.source / "tests/lit/Inputs/mangled_kernels.py"
        text = subprocess.run([sys.executable, kernels, "--unsupported"], capture_output=True, check=True).stdout
        (self.folder / "bad.ptx").write_bytes(text)
        (self.folder / "damaged.ptx").write_bytes(text.replace(b"ld.param", b"ld.parm"))
        (self.folder / "good.ptx").write_bytes(subprocess.run([sys.executable, kernels], capture_output=True, check=True).stdout)
        self.run("compile", "good.ptx", "--arch", "gfx942", "-o", "objects")
        self.add("inspect", "inspect", "--json", "-r", ".", self.source / "examples/prebuilt")
        self.add("doctor", "doctor", "--json")
        self.add("config", "config", "--json")
        self.precompile_and_cache()
        self.launches()
        for name in "graph_nodes", "textures", "convolution_constant":
            capsule = self.source / f"tests/diff/capsules/{name}.capsule"
            self.add("capsule", "capsule", "show", "--json", capsule)
            self.add("diff", "diff", capsule, "--arch", "gfx1100", "--json", "diff.json", file="diff.json")

    def precompile_and_cache(self):
        for shard in [], ["--shard", "1/1"]:
            self.add("precompile", "precompile", "good.ptx", "bad.ptx", "missing.ptx", "--arch", "gfx942,gfx1100", "-o", "cache", *shard,
                     "--progress", "off", "--report", "report.json", file="report.json")
        stored = self.add("cache-list", "cache", "--dir", "cache", "list", "--json")["entries"]
        for entry in stored:
            self.add("cache-show", "cache", "--dir", "cache", "show", entry["digest"], "--json")
        for arch in "gfx942", "gfx90a":
            self.add("cache-explain", "cache", "--dir", "cache", "explain", "good.ptx", "--arch", arch, "--json")
        self.add("cache-explain", "cache", "--dir", "none", "explain", "good.ptx", "--json")
        path = self.folder / stored[0]["place"]
        path.write_bytes(path.read_bytes()[:-1])
        for command in "list", "verify", "stats":
            self.add(f"cache-{command}", "cache", "--dir", "cache", command, "--json")

    def launches(self):
        words = ["launch", "good.ptx", "--device", "emulator", "--entry", "scale", "--block", "64", "zero:256", "f32:2"]
        self.add("launch", *words, "--stats=counts", "--json")
        self.add("launch", *words, "--stats", "--json")
        self.add("launch", *words, "--profile", "--trace", "--json")
        (self.folder / "wrong.ptx").write_text(
            ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry wrong(.param .u64 p)\n{\n.reg .b64 %d1;\n"
            "ld.param.u64 %d1, [p];\nst.global.u32 [%d1+4096], 1;\nret;\n}\n")
        self.add("check", "check", "--format", "json", "-o", "check.json", "--", self.rubia, "launch", "wrong.ptx", "--device", "emulator",
                 "zero:4", file="check.json")


def main():
    rubia, source = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        documents = Documents(rubia, source, pathlib.Path(folder))
        documents.collect()
        for name, document in documents.all:
            if len(sys.argv) > 3:
                (pathlib.Path(sys.argv[3]) / f"{name}.{len(errors)}{id(document)}.json").write_text(json.dumps(document, indent=1))
            file = source / f"docs/schemas/{name}.schema.json"
            if not file.exists():
                errors.append(f"{name}: no schema")
                continue
            schema = json.loads(file.read_text())
            jsonschema.Draft202012Validator.check_schema(schema)
            errors += [f"{name}: {error.json_path}: {error.message}" for error in jsonschema.Draft202012Validator(schema).iter_errors(document)]
            errors += [f"{name}: {key}: no snake_case" for key in wrong_keys(document)]
            if "version" not in document:
                errors.append(f"{name}: no version")
    print("\n".join(dict.fromkeys(errors)))
    schemas = {path.name.removesuffix(".schema.json") for path in (source / "docs/schemas").iterdir()}
    named = {name for name, _ in documents.all}
    if schemas != named:
        sys.exit(f"schemas without a document {schemas - named}, documents without a schema {named - schemas}")
    sys.exit(bool(errors))


if __name__ == "__main__":
    main()
