#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the functions that the forwarding library looks at with NVIDIA's declarations, as tests/cuda/check_signatures.py does with
those of libcuda, and with the list of what cuGetProcAddress answers with.

Usage: check_hooks.py SOURCE_ROOT COMPILER LLVM_INCLUDE_FOLDER [CUDA_INCLUDE_FOLDER]
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cuda"))
import check_signatures  # noqa: E402


def definitions(root, compiler, llvm):
    """Symbol -> (place, parameters), macros expanded."""
    found = {}
    for path in sorted((root / "diff/forward").glob("*Hooks.cpp")):
        text = subprocess.run([compiler, "-std=c++20", "-E", "-P", f"-I{root}", f"-isystem{llvm}", str(path)],
                              check=True, capture_output=True, text=True).stdout
        found |= {name: (f"diff/forward/{path.name}:1", parameters)
                  for name, parameters in re.findall(r"\bint hook_(cu[A-Z]\w*)\(([^;{]*?)\)\s*\{", text)}
    return found


def main():
    root, compiler, llvm = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    functions = definitions(root, compiler, llvm)
    listed = set(re.findall(r"^HOOK\((\w+)\)", (root / "diff/forward/Hooks.def").read_text(), re.MULTILINE))
    problems = [f"{name}: only in one of the hooks' sources and Hooks.def" for name in sorted(set(functions) ^ listed)]
    problems += [f"{name} is no function of the driver API" for name in sorted(set(functions) - check_signatures.known_symbols(root))]
    print("\n".join(problems))
    print(f"{len(functions)} functions, {len(problems)} problems")
    if problems or not functions:
        sys.exit(1)
    include = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
    if not include or not (include / "cuda.h").exists():
        print("no cuda.h here: signatures are not compared")
        sys.exit(check_signatures.SKIPPED)
    # Without their bodies' library: the types are enough.
    check_signatures.COMPARISON += '#include "diff/forward/Textures.h"\nnamespace rubia::runtime::cuda { using rubia::forward::Handle; ' \
        "using rubia::forward::DevicePointer; using rubia::forward::LaunchConfig; using rubia::forward::ArrayDescriptor; }\n"
    check_signatures.COMPARISON = re.sub(r'#include "runtime/cuda/(Stream|Module|Memory|JitOptions|texture/Descriptors).h"\n', "", check_signatures.COMPARISON)
    check_signatures.COMPARISON += "namespace rubia::runtime { } namespace rubia::runtime::cuda { using Result = int; }\n"
    messages = check_signatures.compare(root, compiler, llvm, include, functions)
    print(messages)
    sys.exit(1 if messages else 0)


if __name__ == "__main__":
    main()
