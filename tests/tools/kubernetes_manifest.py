#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a manifest against the JSON schemas of Kubernetes that the package kubernetes-validate (PyPI) has.

Usage: kubernetes_manifest.py MANIFEST_YAML

Every field must be known, of the right type, and no required one missing. Then each field in turn is misspelt, or given another type,
which must be found. Exit status 77 (ctest: skipped) where the package is not installed.
"""
import copy
import sys

try:
    import kubernetes_validate
    import yaml
except ImportError as error:
    print(f"skipped: {error}; pip install kubernetes-validate")
    sys.exit(77)


def problem(manifest):
    """What is wrong with a manifest, or nothing."""
    try:
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)
    except kubernetes_validate.ValidationError as error:
        return f"{error.path}: {error.message}"
    return None


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


def main(manifest_path):
    with open(manifest_path) as file:
        manifest = yaml.safe_load(file)
    found = problem(manifest)
    tried = list(mutants(manifest))
    missed = [f"not found: {path} {what}" for path, what, mutant in tried if not problem(mutant)]
    print("\n".join([found] * bool(found) + missed +
                    [f"{manifest_path}: {'no' if not found else 'a'} problem; {len(tried) - len(missed)} of {len(tried)} faults found"]))
    return bool(found or missed)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
