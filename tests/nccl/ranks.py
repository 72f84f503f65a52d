#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's NCCL, unmodified, with two ranks on two emulated devices: all collectives are right.

one   one process with both devices
two   two processes with one device each
dead  two processes; one is killed, and the other ends with NCCL's error

Usage: ranks.py RUBIA FOLDER one|two|dead
       ranks.py --inside LIBRARY one
       ranks.py --inside LIBRARY two|dead RANK       the id of rank 0 goes through the pipe of its standard output
"""
import array
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import nccl  # noqa: E402

COUNT, RANKS, SUM = 10007, 2, 0
KIND, CODE = 2, "i"  # ncclInt32
IN_PROGRESS, NOT_READY, SECONDS = 7, 600, 600


class Rank:
    def __init__(self, cuda, number, device):
        self.cuda, self.number = cuda, number
        self.context, self.stream, self.communicator = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.driver("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.enter()
        self.driver("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.source, self.target = self.memory(), self.memory()

    def driver(self, name, *arguments):
        code = getattr(self.cuda, name)(*arguments)
        assert code == 0, (name, code)

    def enter(self):
        self.driver("cuCtxSetCurrent", self.context)

    def memory(self):
        pointer = ctypes.c_void_p()
        self.driver("cuMemAlloc_v2", ctypes.byref(pointer), ctypes.c_size_t(4 * RANKS * COUNT))
        return pointer

    def fill(self, values):
        self.enter()
        data = array.array(CODE, values).tobytes()
        self.driver("cuMemcpyHtoD_v2", self.source, data, ctypes.c_size_t(len(data)))
        self.driver("cuMemsetD8_v2", self.target, 0x5a, ctypes.c_size_t(4 * RANKS * COUNT))
        self.driver("cuCtxSynchronize")

    def result(self, count):
        self.enter()
        self.driver("cuStreamSynchronize", self.stream)
        got = array.array(CODE, bytes(4 * count))
        self.driver("cuMemcpyDtoH_v2", (ctypes.c_char * (4 * count)).from_buffer(got), self.target, ctypes.c_size_t(4 * count))
        return got


def value(rank, i):
    return (rank + 1) * 1000003 + 7 * i


class Group:
    """The ranks of this process."""

    def __init__(self, library, ranks):
        self.nccl, self.ranks = ctypes.CDLL(library), ranks
        self.nccl.ncclGetLastError.restype = ctypes.c_char_p

    def call(self, name, *arguments):
        code = getattr(self.nccl, name)(*arguments)
        assert code == 0, (name, code, self.nccl.ncclGetLastError(None))

    def join(self, number):
        self.call("ncclGroupStart")
        for rank in self.ranks:
            rank.enter()
            self.call("ncclCommInitRank", ctypes.byref(rank.communicator), RANKS, number, rank.number)
        self.call("ncclGroupEnd")

    def each(self, name, *arguments):
        """A collective; `arguments` follow the two buffers."""
        self.call("ncclGroupStart")
        for rank in self.ranks:
            rank.enter()
            self.call(name, rank.source, rank.target, *arguments, rank.communicator, rank.stream)
        self.call("ncclGroupEnd")

    def check(self, what, expected, start):
        """`expected(rank)`: what stands in its target then, or None."""
        for rank in self.ranks:
            rank.fill(value(rank.number, i) for i in range(RANKS * COUNT))
        begin = time.time()
        start()
        for rank in self.ranks:
            wanted = expected(rank.number)
            if wanted is None:
                rank.result(0)
                continue
            wanted = array.array(CODE, wanted)
            assert rank.result(len(wanted)) == wanted, (what, rank.number)
        print(f"right: {what} ({time.time() - begin:.1f} s)", flush=True)

    def collectives(self):
        count, everyone = ctypes.c_size_t(COUNT), range(RANKS)
        total = lambda i: sum(value(rank, i) for rank in everyone)
        self.check("all-reduce", lambda _: (total(i) for i in range(COUNT)), lambda: self.each("ncclAllReduce", count, KIND, SUM))
        self.check("all-gather", lambda _: (value(rank, i) for rank in everyone for i in range(COUNT)), lambda: self.each("ncclAllGather", count, KIND))
        self.check("reduce-scatter", lambda mine: (total(mine * COUNT + i) for i in range(COUNT)),
                   lambda: self.each("ncclReduceScatter", count, KIND, SUM))
        for root in everyone:
            self.check(f"broadcast from {root}", lambda _: (value(root, i) for i in range(COUNT)), lambda: self.each("ncclBroadcast", count, KIND, root))
            self.check(f"reduce to {root}", lambda mine: (total(i) for i in range(COUNT)) if mine == root else None,
                       lambda: self.each("ncclReduce", count, KIND, SUM, root))

    def survive(self):
        """All-reduces until NCCL says that the other process has died. The communicator can then be given up."""
        rank, count, state = self.ranks[0], ctypes.c_size_t(COUNT), ctypes.c_int(0)
        end = time.time() + SECONDS
        while state.value in (0, IN_PROGRESS):
            self.each("ncclAllReduce", count, KIND, SUM)
            # The kernel waits for the peer for ever: its end may not be waited for.
            while rank.cuda.cuStreamQuery(rank.stream) == NOT_READY and state.value in (0, IN_PROGRESS):
                self.call("ncclCommGetAsyncError", rank.communicator, ctypes.byref(state))
                assert time.time() < end, "NCCL has not noticed it"
                time.sleep(0.01)
            print("together", flush=True)
        self.nccl.ncclGetErrorString.restype = ctypes.c_char_p
        print("error:", state.value, self.nccl.ncclGetErrorString(state).decode(), flush=True)
        self.call("ncclCommAbort", rank.communicator)
        rank.driver("cuStreamSynchronize", rank.stream)
        print("given up", flush=True)


def inside(library, kind, number=0):
    cuda = ctypes.CDLL("libcuda.so.1")
    assert cuda.cuInit(0) == 0
    ranks = [Rank(cuda, i, i) for i in range(RANKS)] if kind == "one" else [Rank(cuda, number, 0)]
    group, identity = Group(library, ranks), nccl.Id()
    if number == 0:
        group.call("ncclGetUniqueId", ctypes.byref(identity))
        if kind != "one":
            print("id", bytes(identity).hex(), flush=True)
    else:
        identity = nccl.Id.from_buffer_copy(bytes.fromhex(sys.stdin.readline().strip()))
    group.join(identity)
    print("joined", flush=True)
    group.survive() if kind == "dead" else group.collectives()


def start(rubia, library, kind, number, **environment):
    command = [rubia, "run", "--device", "emulator", "--", sys.executable, "-B", __file__, "--inside", library, kind, str(number)]
    return subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True,
                            env=dict(os.environ, RUBIA_ARCH="gfx1100,gfx1100", **environment))


def outside(rubia, folder, kind):
    library = nccl.find(folder)
    if kind == "one":
        process = start(rubia, library, kind, 0)
        print(process.communicate()[0])
        return process.returncode
    # A peer is noticed by its connection: memory that both have does not tell.
    network = {"NCCL_P2P_DISABLE": "1", "NCCL_SHM_DISABLE": "1", "NCCL_NET": "Socket", "NCCL_SOCKET_IFNAME": "lo"} if kind == "dead" else {}
    first = start(rubia, library, kind, 0, CUDA_VISIBLE_DEVICES="0", **network)
    second = start(rubia, library, kind, 1, CUDA_VISIBLE_DEVICES="1", **network)
    identity = next(line.split()[1] for line in first.stdout if line.startswith("id "))
    second.stdin.write(identity + "\n")
    second.stdin.flush()
    if kind == "dead":
        for process in (first, second):
            next(line for line in process.stdout if line == "together\n")
        os.killpg(second.pid, signal.SIGKILL)
        text = first.communicate()[0]
        print(text)
        return first.returncode or "given up" not in text
    texts = [process.communicate()[0] for process in (first, second)]
    print(*texts)
    return first.returncode or second.returncode


if sys.argv[1] == "--inside":
    inside(sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 0)
else:
    sys.exit(outside(*sys.argv[1:]))
