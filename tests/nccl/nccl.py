#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's NCCL, unmodified, in a communicator of one rank on the emulator: all collectives with all data types, and a send to itself.

The library is that of RUBIA_NCCL_LIBRARY, else one that is installed, else one of the Python package index. 77: there is none.

Usage: nccl.py RUBIA FOLDER
       nccl.py LIBRARY        under `rubia run`
"""
import array
import ctypes
import os
import pathlib
import subprocess
import sys
import zipfile

COUNT = 10007
# NCCL's numbers of types whose sums are exact here, with those of Python's arrays.
TYPES = {0: "b", 1: "B", 2: "i", 3: "I", 4: "q", 5: "Q", 7: "f", 8: "d"}
SUM, PRODUCT, MAXIMUM, MINIMUM, AVERAGE = range(5)


def find(folder):
    for path in (os.environ.get("RUBIA_NCCL_LIBRARY"), "/usr/local/cuda/lib64/libnccl.so.2", "/usr/lib/x86_64-linux-gnu/libnccl.so.2"):
        if path and os.path.exists(path):
            return path
    folder = pathlib.Path(folder)
    wheels = list(folder.glob("nvidia_nccl*.whl"))
    if not wheels:
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, "nvidia-nccl-cu12"])
        wheels = list(folder.glob("nvidia_nccl*.whl"))
    if not wheels:
        print("no libnccl.so.2, and none can be downloaded")
        sys.exit(77)
    with zipfile.ZipFile(wheels[0]) as wheel:
        return wheel.extract("nvidia/nccl/lib/libnccl.so.2", folder)


class Id(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_char * 128)]


class OneRank:
    def __init__(self, path):
        self.cuda, self.nccl = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(path)
        self.context, self.stream, self.communicator = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.driver("cuInit", 0)
        self.driver("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), 0)
        self.driver("cuCtxSetCurrent", self.context)
        self.driver("cuStreamCreate", ctypes.byref(self.stream), 0)
        number, version = Id(), ctypes.c_int()
        self.call("ncclGetVersion", ctypes.byref(version))
        self.call("ncclGetUniqueId", ctypes.byref(number))
        self.call("ncclCommInitRank", ctypes.byref(self.communicator), 1, number, 0)
        print("NCCL", version.value, flush=True)
        self.source, self.target = self.memory(), self.memory()

    def driver(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        assert code == 0, (name, code)

    def call(self, name, *arguments):
        code = getattr(self.nccl, name)(*arguments)
        assert code == 0, (name, code, self.error())

    def error(self):
        self.nccl.ncclGetLastError.restype = ctypes.c_char_p
        return self.nccl.ncclGetLastError(self.communicator)

    def memory(self):
        pointer = ctypes.c_void_p()
        self.driver("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(8 * COUNT))
        return pointer

    def check(self, what, code, start, factor=1):
        """What `start` leaves in the target is the source, times a factor."""
        values = array.array(code, (i % 50 for i in range(COUNT)))
        size = ctypes.c_size_t(len(values) * values.itemsize)
        self.driver("cuMemcpyHtoD_v2", self.source, values.tobytes(), size)
        self.driver("cuMemsetD8_v2", self.target, 0x5a, size)
        start()
        self.driver("cuStreamSynchronize", self.stream)
        got = (ctypes.c_char * size.value)()
        self.driver("cuMemcpyDtoH_v2", got, self.target, size)
        assert bytes(got) == array.array(code, (v * factor for v in values)).tobytes(), what
        print("right:", what, flush=True)

    def collectives(self):
        count, here = ctypes.c_size_t(COUNT), (self.communicator, self.stream)
        for kind, code in TYPES.items():
            for operation in (SUM, PRODUCT, MAXIMUM, MINIMUM, AVERAGE):
                self.check(f"all-reduce, type {kind}, operation {operation}", code,
                           lambda: self.call("ncclAllReduce", self.source, self.target, count, kind, operation, *here))
            self.check(f"broadcast, type {kind}", code, lambda: self.call("ncclBroadcast", self.source, self.target, count, kind, 0, *here))
            self.check(f"reduce, type {kind}", code, lambda: self.call("ncclReduce", self.source, self.target, count, kind, SUM, 0, *here))
            self.check(f"all-gather, type {kind}", code, lambda: self.call("ncclAllGather", self.source, self.target, count, kind, *here))
            self.check(f"reduce-scatter, type {kind}", code, lambda: self.call("ncclReduceScatter", self.source, self.target, count, kind, SUM, *here))

    def scaled(self):
        """A sum of products, which is a kernel also with one rank."""
        operation, two, kind = ctypes.c_int(), ctypes.c_float(2), 7
        self.call("ncclRedOpCreatePreMulSum", ctypes.byref(operation), ctypes.byref(two), kind, 1, self.communicator)
        self.check("all-reduce with a factor", "f", lambda: self.call("ncclAllReduce", self.source, self.target, ctypes.c_size_t(COUNT), kind, operation,
                                                                      self.communicator, self.stream), factor=2)
        self.call("ncclRedOpDestroy", operation, self.communicator)

    def toItself(self):
        """The kernel that sends and receives can reach all of NCCL's functions by a table: all of them are compiled."""
        for kind, code in TYPES.items():
            def start():
                self.call("ncclGroupStart")
                self.call("ncclSend", self.source, ctypes.c_size_t(COUNT), kind, 0, self.communicator, self.stream)
                self.call("ncclRecv", self.target, ctypes.c_size_t(COUNT), kind, 0, self.communicator, self.stream)
                self.call("ncclGroupEnd")

            self.check(f"send and receive, type {kind}", code, start)


def main():
    if len(sys.argv) == 3:
        rubia, folder = sys.argv[1:]
        ran = subprocess.run([rubia, "run", "--device", "emulator", "--arch", "gfx1100", "--", sys.executable, "-B", __file__, find(folder)])
        sys.exit(ran.returncode)
    rank = OneRank(sys.argv[1])
    rank.collectives()
    rank.scaled()
    rank.toItself()


if __name__ == "__main__":
    main()
