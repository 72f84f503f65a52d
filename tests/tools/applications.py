#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Applications of tools/test-apps that share a folder write their results into files of their own. Usage: applications.py SOURCES"""
import importlib.machinery
import importlib.util
import pathlib
import sys
import types

sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("test_apps", sys.argv[1] + "/tools/test-apps")
apps = importlib.util.module_from_spec(importlib.util.spec_from_loader("test_apps", loader))
loader.exec_module(apps)
owners = {}
for name in apps.names():
    place = apps.App(name, types.SimpleNamespace(into=pathlib.Path("/apps"), rubia="")).place
    inner = place.inner(place.out) if isinstance(place, apps.DebianRoot) else place.out
    owners.setdefault(inner, []).append(name)
shared = [names for names in owners.values() if len(names) > 1]
assert len(owners) > 10 and not shared, shared
