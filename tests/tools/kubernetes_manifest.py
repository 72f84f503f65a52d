#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a manifest against the OpenAPI description that every Kubernetes API server publishes.

Usage: kubernetes_manifest.py OPENAPI_JSON MANIFEST_YAML

OPENAPI_JSON is what `kubectl get --raw /openapi/v2` says. It is not a part of this repository. Every field must be known, of the right
type, and no required one missing; then each field in turn is misspelt, given another type, or left out, which must be found.
"""
import copy
import json
import re
import sys

import yaml

QUANTITY = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?")
TYPES = {"string": str, "boolean": bool, "integer": int, "number": (int, float), "object": dict, "array": list}


def problems(definitions, schema, value, place):
    if "$ref" in schema:
        name = schema["$ref"].removeprefix("#/definitions/")
        if name.endswith(".Quantity"):
            return [] if isinstance(value, (int, float, str)) and QUANTITY.fullmatch(str(value)) else [f"{place}: no quantity"]
        return problems(definitions, definitions[name], value, place)
    kind = schema.get("type", "object")
    if not isinstance(value, TYPES[kind]) or isinstance(value, bool) != (kind == "boolean"):
        return [f"{place}: is {value!r}, expected {kind}"]
    if kind == "array":
        return [p for i, v in enumerate(value) for p in problems(definitions, schema["items"], v, f"{place}[{i}]")]
    if kind != "object":
        return []
    found = [f"{place}: lacks {name}" for name in schema.get("required", []) if name not in value]
    for name, v in value.items():
        field = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
        found += problems(definitions, field, v, f"{place}.{name}") if field else [f"{place}.{name}: unknown"]
    return found


def check(definitions, manifest):
    group, _, version = manifest["apiVersion"].rpartition("/")
    for name, schema in definitions.items():
        for kind in schema.get("x-kubernetes-group-version-kind", []):
            if (kind["group"], kind["version"], kind["kind"]) == (group, version, manifest["kind"]):
                return problems(definitions, schema, manifest, name.rpartition(".")[2])
    return [f"no such kind: {manifest['apiVersion']} {manifest['kind']}"]


def mutants(manifest):
    """The manifest with one field misspelt, or with a value of another type. Free-form maps and the two fields that choose the schema
    are left alone."""
    def places(value, path):
        if isinstance(value, dict):
            for name, v in value.items():
                if path or name not in ("apiVersion", "kind"):
                    if path[-1:] not in (["requests"], ["limits"]):
                        yield path + [name], "misspelt"
                    yield path + [name], "another type"
                    yield from places(v, path + [name])
        elif isinstance(value, list):
            for i, v in enumerate(value):
                yield from places(v, path + [i])
    for path, what in places(manifest, []):
        mutant = copy.deepcopy(manifest)
        parent = mutant
        for step in path[:-1]:
            parent = parent[step]
        if what == "misspelt":
            parent[path[-1] + "x"] = parent.pop(path[-1])
        else:
            parent[path[-1]] = {"neither": "of", "these": [1]} if not isinstance(parent[path[-1]], dict) else ["a list"]
        yield path, what, mutant


def main(schema_path, manifest_path):
    definitions = json.load(open(schema_path))["definitions"]
    manifest = yaml.safe_load(open(manifest_path))
    found = check(definitions, manifest)
    missed, tried = [], 0
    for path, what, mutant in mutants(manifest):
        tried += 1
        if not check(definitions, mutant):
            missed.append(f"not found: {path} {what}")
    print("\n".join(found + missed + [f"{manifest_path}: {len(found)} problems; {tried - len(missed)} of {tried} faults found"]))
    return bool(found or missed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
