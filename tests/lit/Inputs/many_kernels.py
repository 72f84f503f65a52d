#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PTX of many kernels of different sizes, of which every second one cannot be compiled. Usage: many_kernels.py COUNT"""
import sys

print(".version 8.6\n.target sm_100a\n.address_size 64")
for number in range(int(sys.argv[1])):
    work = "tcgen05.fence::before_thread_sync;\n" if number % 2 else "add.f32 %f1, %f1, %f1;\n" * (number % 50)
    print(f".visible .entry k{number}(.param .u64 p)\n{{\n.reg .b64 %d1; .reg .f32 %f1;\nld.param.u64 %d1, [p];\nld.global.f32 %f1, [%d1];\n"
          f"{work}st.global.f32 [%d1], %f1;\nret;\n}}")
