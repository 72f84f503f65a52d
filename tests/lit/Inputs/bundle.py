# SPDX-License-Identifier: Apache-2.0
"""An offload bundle as clang writes it (ClangOffloadBundler documentation): bundle.py [--compress] OUT ID=FILE..."""
import hashlib
import struct
import sys
import zlib

arguments = sys.argv[1:]
compress = arguments[0] == "--compress"
out, *entries = arguments[compress:]
table, data = b"", b""
parts = [(i.encode(), open(f, "rb").read()) for i, _, f in (e.partition("=") for e in entries)]
start = (32 + sum(24 + len(i) for i, _ in parts) + 4095) // 4096 * 4096
for i, content in parts:
    data += b"\0" * (-len(data) % 4096)
    table += struct.pack("<QQQ", start + len(data), len(content), len(i)) + i
    data += content
bundle = (b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(parts)) + table).ljust(start, b"\0") + data
if compress:
    packed = zlib.compress(bundle)
    digest = int.from_bytes(hashlib.md5(bundle).digest()[:8], "little")
    bundle = b"CCOB" + struct.pack("<HHIIQ", 2, 0, 24 + len(packed), len(bundle), digest) + packed
with open(out, "wb") as file:
    file.write(bundle)
