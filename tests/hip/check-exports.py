# SPDX-License-Identifier: Apache-2.0
"""Compares the functions that the emulator exports with those of AMD's library, where that is installed: each must be there, under the
same version. Usage: check-exports.py NM EMULATOR AMDS-LIBRARY"""
import os
import subprocess
import sys

# AMD's own: tracing, a compiler at run time and the debugger's marks, which the emulator is not.
OTHERS = ("amd_dbgapi", "hipRegisterA", "hipRemoveA", "hipInitActivity", "hipEnableActivity", "hipGetCmdName", "__hipGetPCH")


def exports(nm, library):
    text = subprocess.run([nm, "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    symbols = {}
    for line in text.splitlines():
        kind, _, name = line.split(maxsplit=1)[1].partition(" ")
        name, _, version = name.replace("@@", "@").partition("@")
        if kind in "TW" and ("hip" in name or name.startswith("__gnu")):
            symbols[name] = version
    return symbols


nm, ours_path, amds_path = sys.argv[1:]
if not os.path.exists(amds_path):
    print("skipped: no", amds_path)
    sys.exit(77)
ours, amds = exports(nm, ours_path), exports(nm, amds_path)
# Of C++ names, those without a namespace.
amds = {name: version for name, version in amds.items() if not name.startswith(OTHERS) and not name.startswith(("_ZN", "_ZS", "_ZT"))}
wrong = [f"{name}: missing" for name in amds if name not in ours]
wrong += [f"{name}: {ours[name]}, expected {version}" for name, version in amds.items() if name in ours and ours[name] != version]
print("\n".join(sorted(wrong)) or f"{len(amds)} functions")
sys.exit(1 if wrong or not amds else 0)
