#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the driver API functions that runtime/cuda defines with NVIDIA's declarations.

Every name must be in Functions.def: a misspelt one would be exported and never called. Where cuda.h is installed, the compiler
compares result and parameters: their number, whether they travel as integers or floating point, their size, and the size of
what pointers point to where both sides know it.

Usage: check_signatures.py SOURCE_ROOT COMPILER LLVM_INCLUDE_FOLDER [CUDA_INCLUDE_FOLDER]
"""
import pathlib
import re
import subprocess
import sys
import tempfile

DEFINITION = re.compile(r"^(?:\w+ )?(Result) (cu[A-Z]\w*)\(([^;{]*?)\)\s*\{", re.MULTILINE | re.DOTALL)
SKIPPED = 77

COMPARISON = """
#define __CUDA_API_VERSION_INTERNAL 1
#include <cuda.h>
#include <cudaProfiler.h>
#include "runtime/cuda/Stream.h"
#include "runtime/cuda/Module.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/JitOptions.h"
#include "runtime/cuda/texture/Descriptors.h"
#include <type_traits>

template <class T> constexpr bool isComplete = requires { sizeof(T); };
template <class T> using Pointee = std::remove_pointer_t<T>;
template <class T> constexpr bool isObject =
    std::is_pointer_v<T> && !std::is_function_v<Pointee<T>> && !std::is_void_v<Pointee<T>> && !std::is_same_v<std::remove_cv_t<Pointee<T>>, char>;

template <class Ours, class Theirs> consteval bool agree() {
  if (sizeof(Ours) != sizeof(Theirs) || std::is_floating_point_v<Ours> != std::is_floating_point_v<Theirs> ||
      std::is_class_v<Ours> != std::is_class_v<Theirs>)
    return false;
  if constexpr (isObject<Ours> && isObject<Theirs>)
    if constexpr (isComplete<Pointee<Ours>> && isComplete<Pointee<Theirs>>)
      // What a handle points to is ours alone.
      return std::is_class_v<Pointee<Ours>> != std::is_class_v<Pointee<Theirs>> || sizeof(Pointee<Ours>) == sizeof(Pointee<Theirs>);
  return true;
}
template <class Ours, class Theirs> struct Agree;
template <class R, class... P, class S, class... Q> struct Agree<R(P...), S(Q...)> {
  static consteval bool value() {
    if constexpr (sizeof...(P) != sizeof...(Q))
      return false;
    else
      return agree<R, S>() && (agree<P, Q>() && ...);
  }
};
"""


def definitions(root):
    """Symbol -> (place, parameters as written)."""
    found = {}
    for path in sorted((root / "runtime" / "cuda").rglob("*.cpp")):
        text = path.read_text()
        for match in DEFINITION.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            found[match[2]] = (f"{path.relative_to(root)}:{line}", match[3])
    return found


def known_symbols(root):
    text = (root / "runtime" / "cuda" / "Functions.def").read_text()
    return set(re.findall(r"^CUDA_FUNCTION\((\w+),", text, re.MULTILINE))


def compare(root, compiler, llvm, include, functions):
    """The compiler's messages about functions that differ."""
    lines = [COMPARISON, "using namespace rubia::runtime;", "using namespace rubia::runtime::cuda;"]
    for symbol, (place, parameters) in functions.items():
        file, line = place.split(":")
        # The variants for threads' own streams have the parameters of the plain ones, and are not all declared.
        theirs = re.sub(r"_pt[ds][sz]$", "", symbol)
        lines += [f'#line {line} "{file}"', f"namespace rubia::runtime::cuda {{ Result ours_{symbol}({parameters}); }}",
                  f'#line {line} "{file}"',
                  f'static_assert(Agree<decltype(rubia::runtime::cuda::ours_{symbol}), decltype(::{theirs})>::value(), "{symbol} differs");']
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "compare.cpp"
        source.write_text("\n".join(lines) + "\n")
        run = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-Wno-everything", "-ferror-limit=0", f"-I{root}",
                              f"-isystem{include}", f"-isystem{llvm}", str(source)], capture_output=True, text=True, check=False)
    return run.stderr if run.returncode else ""


def main():
    root, compiler, llvm = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    functions = definitions(root)
    known = known_symbols(root)
    unknown = [f"{place}: {symbol} is no function of the driver API" for symbol, (place, _) in functions.items() if symbol not in known]
    print("\n".join(unknown))
    print(f"{len(functions)} functions, {len(unknown)} unknown names")
    if unknown or not functions:
        sys.exit(1)
    include = pathlib.Path(sys.argv[4]) if len(sys.argv) > 4 else None
    if not include or not (include / "cuda.h").exists():
        print("no cuda.h here: signatures are not compared")
        sys.exit(SKIPPED)
    messages = compare(root, compiler, llvm, include, functions)
    print(messages)
    sys.exit(1 if messages else 0)


if __name__ == "__main__":
    main()
