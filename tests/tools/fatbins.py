# SPDX-License-Identifier: Apache-2.0
"""Fatbin containers and cubins without code, written for tests."""
import struct


def entry(kind, sm, payload):
    """kind: 1 PTX, 2 cubin; stored as it is."""
    payload = payload.encode() if isinstance(payload, str) else payload
    payload += b"\0" * (-len(payload) % 8)
    version = (0, 8) if kind == 1 else (8, 1)
    return struct.pack("<HHIQIIHHIIIQQQ", kind, 0x101, 64, len(payload), 0, 0, *version, sm, 0, 0, 1, 0, 0) + payload


def container(*entries):
    body = b"".join(entries)
    return struct.pack("<IHHQ", 0xBA55ED50, 1, 16, len(body)) + body


def cubin(*kernels):
    """An ELF file as ptxas makes it, with a symbol for each kernel and no code."""
    strings, symbols = b"\0", bytes(24)
    for name in kernels:
        symbols += struct.pack("<IBBHQQ", len(strings), 0x12, 0x10, 1, 0, 0)
        strings += name.encode() + b"\0"
    strings += b"\0" * (-len(strings) % 8)
    offset = 64
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1\x33\7", 2, 190, 1, 0, 0, offset + len(strings) + len(symbols),
                         80, 64, 56, 0, 64, 3, 1)
    sections = bytes(64)
    sections += struct.pack("<IIQQQQIIQQ", 0, 3, 0, 0, offset, len(strings), 0, 0, 1, 0)
    sections += struct.pack("<IIQQQQIIQQ", 0, 2, 0, 0, offset + len(strings), len(symbols), 1, 1, 8, 24)
    return header + strings + symbols + sections
