# SPDX-License-Identifier: Apache-2.0
"""Prints PTX of a kernel in which sixty values live at once. many_values.py [DIRECTIVES]"""
import sys

COUNT = 60
print(".version 8.0\n.target sm_80\n.address_size 64")
print(f".visible .entry many(.param .u64 p) {' '.join(sys.argv[1:])}\n{{")
print(f"  .reg .b32 %r<{COUNT}>;\n  .reg .b64 %p;\n  ld.param.u64 %p, [p];")
for i in range(COUNT):
    print(f"  ld.volatile.global.u32 %r{i}, [%p+{4 * i}];")
for i in reversed(range(COUNT)):
    print(f"  st.volatile.global.u32 [%p+{4 * (COUNT - 1 - i)}], %r{i};")
print("  ret;\n}")
